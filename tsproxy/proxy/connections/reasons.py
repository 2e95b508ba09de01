"""The reasons to close a connection that no session knows: `ProxyReason`."""

from tsproxy.session.effects import ReasonToClose


class ProxyReason(ReasonToClose):
    """Why the proxy closed a client's connection before a session could, or without one."""

    UPSTREAM_UNAVAILABLE = "upstream_unavailable"
    BROKER_CLOSED_EARLY = "broker_closed_early"
    TLS_HANDSHAKE_FAILED = "tls_handshake_failed"
    PROXY_HEADER_REJECTED = "proxy_header_rejected"
    PRINCIPAL_NOT_MAPPED = "principal_not_mapped"
