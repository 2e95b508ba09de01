"""Events of clients and their connections."""

from typing import Final

from tsproxy.log_events.event import crashed, debug, error, warning

TITLE: Final = "Clients"
INTRODUCTION: Final = (
    "A client address may cause ten such lines, and one more every ten seconds. Lines beyond that are "
    "counted in the next one, in `suppressed`."
)

CLIENT_CONNECTED: Final = debug(
    "client_connected", ("listener", "client", "client_port"), "A client has connected."
)
CLIENT_LEFT: Final = debug(
    "client_left", ("listener", "client", "client_port"), "A client's connection has ended."
)
CONNECTION_REJECTED: Final = warning(
    "connection_rejected",
    ("listener", "client", "client_port", "limit", "suppressed"),
    "A limit was reached: `connections`, `connections_per_address` or `buffered`.",
    "Look for a client that opens connections without end. Raise the limit in `limits` if they are "
    "legitimate.",
)
CLIENT_REJECTED: Final = warning(
    "client_rejected",
    ("listener", "client", "client_port", "reason", "detail", "suppressed"),
    "The first bytes of a client are no Kafka request, or it asked for something before its login.",
    "`detail` says what came: TLS on a plain port, HTTP, a port scan.",
)
TLS_HANDSHAKE_FAILED: Final = warning(
    "tls_handshake_failed",
    ("listener", "client", "client_port", "error", "suppressed"),
    "A TLS handshake failed or took longer than `limits.handshake`.",
    "`error` says why: no certificate, an unknown authority, an old version, a plain client.",
)
PROXY_HEADER_REJECTED: Final = warning(
    "proxy_header_rejected",
    ("listener", "client", "client_port", "error", "suppressed"),
    "A connection came without a PROXY header, or from an address outside `proxy_protocol.from`.",
    "Let clients use another listener; name the load balancer's addresses.",
)
PRINCIPAL_NOT_MAPPED: Final = warning(
    "principal_not_mapped",
    ("listener", "client", "client_port", "error", "suppressed"),
    "No rule of `tls.principal_mapping` takes the subject of a client's certificate, or the subject has more"
    " than 1024 characters.",
    "Add a rule, or `DEFAULT` as the last one.",
)
BROKER_NAME_NOT_RESOLVED: Final = warning(
    "broker_name_not_resolved",
    ("broker", "tried"),
    "No name server answers. The proxy connects clients to the address that the broker had last.",
    "Repair the name service.",
)
CLIENTS_FAIL: Final = warning(
    "clients_fail",
    ("listener", "broker", "result", "failed", "connections", "error", "advice"),
    "Many new connections of clients fail: at most one line a minute for each listener, broker and `result`."
    " `failed` of `connections` in the last two minutes.",
    "As `advice` says; see [TsproxyClientsFail](monitoring.md#tsproxyclientsfail).",
)
SASL_FAILED: Final = warning(
    "sasl_failed",
    ("listener", "client", "client_port", "mechanism", "error", "suppressed"),
    "The broker did not accept a login.",
    "Correct the client's password or mechanism. Many of them from one address are guesses.",
)
FRAME_CUT_SHORT: Final = warning(
    "frame_cut_short",
    ("listener", "client", "client_port", "received_bytes", "announced_bytes", "suppressed"),
    "A connection ended in the middle of a request.",
    "Nothing, unless it happens often: then look for a load balancer with a short idle time.",
)
SESSION_CLOSED: Final = warning(
    "session_closed",
    ("listener", "client", "client_port", "reason", "text", "suppressed"),
    "The proxy closed a connection. `reason` says why, and `text` explains it.",
    "`unsupported_request`: the client sent a version that was not offered. `frame_too_large`: raise "
    "`limits.produce_frame`. `bad_answer`: a broker's answer could not be read; report it. "
    "`upstream_unavailable`: the client's broker could not be reached; check that broker.",
)
SESSION_CRASHED: Final = error(
    "session_crashed",
    ("listener", "client", "client_port", "error", "frames", "suppressed"),
    "An error in our code ended one connection. The client connects again.",
    "Report it.",
)
CONNECTION_MONITOR_CRASHED: Final = crashed(
    "connection_monitor_crashed",
    "An error in our code while limits of connections were checked. The next check is a second later.",
)
