"""The reasons to close a connection that no session knows: `ProxyReason`."""

from typing import Final

from tsproxy.session.effects import ReasonToClose

_NONE: Final = "none"


class ProxyReason(ReasonToClose):
    """Why the proxy closed a client's connection before a session could, or without one."""

    UPSTREAM_UNAVAILABLE = (
        "upstream_unavailable",
        "No broker can be reached for this client, or none is known.",
        "as at a broker that is down: nothing was forwarded",
        "Only a broker knows the answer.",
    )
    BROKER_CLOSED_EARLY = (
        "broker_closed_early",
        "The broker closed the connection before its first answer, for example because of "
        "`max.connections.per.ip`.",
        "as without the proxy: those that wait for an answer",
        "There is nobody who could answer.",
    )
    TLS_HANDSHAKE_FAILED = (
        "tls_handshake_failed",
        "The TLS handshake with the client failed.",
        _NONE,
        "Nothing was asked yet. Brokers close, too.",
    )
    PROXY_HEADER_REJECTED = (
        "proxy_header_rejected",
        "The PROXY protocol's header is missing or wrong, or its sender is not trusted.",
        _NONE,
        "Nobody knows who asks.",
    )
    PRINCIPAL_NOT_MAPPED = (
        "principal_not_mapped",
        "No rule of `tls.principal_mapping` takes the subject of the client's certificate.",
        _NONE,
        "Nothing was asked yet. Brokers close, too.",
    )
