"""Metrics of client connections, of limits, and of the events that a session counts."""

from typing import Final

from tsproxy.proxy.metrics.described import FROM_START, Joined, counter_row, gauge_row
from tsproxy.session.effects import SessionCounter

TITLE: Final = "Connections and limits"

CONNECTIONS: Final = gauge_row(
    "tsproxy_connections",
    "connections",
    "Open client connections by state",
    "`connecting` stays above 0: brokers do not accept connections.",
    ("listener", "state"),
    joined=Joined.SUM,
)
SESSIONS_CLOSED: Final = counter_row(
    "tsproxy_sessions_closed_total",
    "connections",
    "Connections that ended, by reason",
    "Alert on `internal_error`, and report it. `peer_closed` is the normal end. `upstream_unavailable`: a "
    "broker is down. `broker_closed_early`: a broker closes new connections. `bad_frame`, `not_kafka`: "
    "something else speaks there, often TLS to a plain port. "
    "`sasl_failed`: [failed logins](../guide/operations.md#failed-logins).",
    ("listener", "reason"),
)
BROKER_CONNECTIONS: Final = gauge_row(
    "tsproxy_broker_connections",
    "connections",
    "Open connections of clients, by the broker's node id (or `bootstrap`) to which they lead",
    "One broker has none where others have many: clients cannot reach it, or it leads no partition.",
    ("listener", "broker"),
    joined=Joined.SUM,
)
CLIENT_CONNECTIONS: Final = counter_row(
    "tsproxy_client_connections_total",
    "connections",
    "New connections of clients, by the broker's node id (or `bootstrap`) and by how they fared",
    "Alert if a share is not `served`: `broker_unreachable`, `broker_closed_early` (the broker's "
    "max.connections.per.ip?), `login_failed`, `handshake_failed`, `limit_reached`. A connection that a "
    "client ends before a result, such as a health check, does not count.",
    ("listener", "broker", "result"),
)
TLS_HANDSHAKES_FAILED: Final = counter_row(
    "tsproxy_tls_handshakes_failed_total",
    "handshakes",
    "TLS handshakes with clients that failed",
    "The log says why: an unknown authority, an old version, plain text.",
    ("listener",),
)
SASL_FAILURES: Final = counter_row(
    "tsproxy_sasl_failures_total",
    "logins",
    "Logins of clients that brokers rejected, by mechanism",
    "`sasl_failed` in the log has the client's address. Brokers cannot know it: they see the proxy's. A "
    "mechanism that is not well known counts as `other`.",
    ("listener", "mechanism"),
)
LIMITS: Final = counter_row(
    "tsproxy_limits_total",
    "connections",
    "Connections rejected or closed because of a limit of the proxy",
    "The label is the key below `limits` in the configuration. The log names client and size. Raise the "
    "limit only if the client is right.",
    ("limit",),
    appear=FROM_START,
)
BUFFERED_BYTES: Final = gauge_row(
    "tsproxy_buffered_bytes",
    "bytes",
    "Bytes held for all connections together",
    "Near `limits.buffered`: slow brokers or stalled clients.",
    joined=Joined.SUM,
)
BYTES: Final = counter_row(
    "tsproxy_bytes_total",
    "bytes",
    "Bytes received, by sender",
    "The traffic: `from_client` or `from_broker`.",
    ("direction",),
    appear=FROM_START,
)
THROTTLE_SECONDS: Final = counter_row(
    "tsproxy_throttle_seconds_total",
    "seconds",
    "Time for which clients were throttled because of rejections",
    "Increases: see [throttling](../guide/operations.md#throttling-producers-that-do-not-stop); "
    "`/decisions/top` names the clients.",
)
SESSION_EVENTS: Final = {
    event: counter_row(f"tsproxy_{event}_total", event.unit, event.meaning, event.action)
    for event in SessionCounter
}
"""A row for each event that sessions count."""
