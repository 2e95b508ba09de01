"""The reasons of the proxy to close or reject a connection, by their names in metrics and log lines."""

from tsproxy.session.effects import ReasonToClose


class ProxyReason(ReasonToClose):
    """Why the proxy closed a client's connection before a session could, or without one."""

    UPSTREAM_UNAVAILABLE = "upstream_unavailable"
    BROKER_CLOSED_EARLY = "broker_closed_early"
    TLS_HANDSHAKE_FAILED = "tls_handshake_failed"
    PROXY_HEADER_REJECTED = "proxy_header_rejected"
    PRINCIPAL_NOT_MAPPED = "principal_not_mapped"


class Limit(ReasonToClose):
    """The limits. Each value is the configuration key after `limits.`."""

    BUFFERED = "buffered"
    CONNECTION_AGE = "connection_age"
    CONNECTIONS = "connections"
    CONNECTIONS_PER_ADDRESS = "connections_per_address"
    HANDSHAKE = "handshake"
    IDLE = "idle"
    STALLED_FRAME = "stalled_frame"
