"""Who may connect: so many clients in all, and so many from one address (of IPv6: from one /64).

A connection over a limit is closed before anything is read from it or said to it, as brokers do over
`max.connections.per.ip`: a client takes it for a broker that is busy, and tries again.
"""

from collections.abc import Mapping

from tsproxy.config.settings import ConnectionLimits
from tsproxy.model.addresses import counted_as
from tsproxy.proxy.limits.limit import Limit


class Admission:
    """Counts the connections of one process; `limits` may be replaced while it runs."""

    __slots__ = ("_by_address", "_count", "limits")

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._by_address: dict[str, int] = {}
        self._count = 0

    def admit(self, address: str) -> Limit | None:
        """Count one more client from `address`. Where a limit forbids it: that limit, and nothing counts."""
        if self._count >= self.limits.connections:
            return Limit.CONNECTIONS
        name = counted_as(address)
        here = self._by_address.get(name, 0)
        if here >= self.limits.connections_per_address:
            return Limit.CONNECTIONS_PER_ADDRESS
        self._by_address[name] = here + 1
        self._count += 1
        return None

    def move(self, address: str, to: str) -> Limit | None:
        """One that was admitted counts for another address. Where a limit forbids it: that limit, and it
        counts as before."""
        name = counted_as(to)
        if counted_as(address) == name:
            return None
        here = self._by_address.get(name, 0)
        if here >= self.limits.connections_per_address:
            return Limit.CONNECTIONS_PER_ADDRESS
        self.leave(address)
        self._by_address[name] = here + 1
        self._count += 1
        return None

    @property
    def by_address(self) -> Mapping[str, int]:
        """How many are connected from each address, or IPv6 network (`counted_as`)."""
        return self._by_address

    def leave(self, address: str) -> None:
        """One that was admitted is gone."""
        self._count -= 1
        name = counted_as(address)
        here = self._by_address[name] - 1
        if here:
            self._by_address[name] = here
        else:
            del self._by_address[name]  # addresses that have come and gone must not pile up
