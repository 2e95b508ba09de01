"""Admission of clients: a maximum for all clients, and a maximum for each address (for IPv6, each /64).

A connection over a limit is closed before anything is read or sent, as brokers do over
`max.connections.per.ip`. A client treats it as a busy broker and retries.
"""

from tsproxy.config.settings import ConnectionLimits
from tsproxy.model.addresses import counted_as
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
    MEMORY = "memory"
    STALLED_FRAME = "stalled_frame"


class Admission:
    """Counts the connections of one process. `limits` may be replaced while it runs."""

    __slots__ = ("_count", "by_address", "is_full", "limits")

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.by_address: dict[str, int] = {}
        """The number of connections from each address, or IPv6 network (`counted_as`)."""
        self._count = 0
        self.is_full = False
        """True while no memory is left for more clients."""

    def admit(self, address: str) -> Limit | None:
        """Count one more client from `address`. If a limit forbids it, return that limit and count
        nothing."""
        if self.is_full:
            return Limit.MEMORY
        if self._count >= self.limits.connections:
            return Limit.CONNECTIONS
        name = counted_as(address)
        here = self.by_address.get(name, 0)
        if here >= self.limits.connections_per_address:
            return Limit.CONNECTIONS_PER_ADDRESS
        self.by_address[name] = here + 1
        self._count += 1
        return None

    def move(self, address: str, to: str) -> Limit | None:
        """Count an admitted client for another address. If a limit forbids it, return that limit and change
        no count."""
        name = counted_as(to)
        if counted_as(address) == name:
            return None
        here = self.by_address.get(name, 0)
        if here >= self.limits.connections_per_address:
            return Limit.CONNECTIONS_PER_ADDRESS
        self.leave(address)
        self.by_address[name] = here + 1
        self._count += 1
        return None

    def leave(self, address: str) -> None:
        self._count -= 1
        name = counted_as(address)
        here = self.by_address[name] - 1
        if here:
            self.by_address[name] = here
        else:
            del self.by_address[name]  # addresses without connections must not accumulate
