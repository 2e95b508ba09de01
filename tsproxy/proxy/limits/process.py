"""The limits of one process: who is connected, what they hold, and the monitor over them."""

from collections.abc import KeysView, Mapping

from tsproxy.clock import Clock
from tsproxy.config.settings import Config, ConnectionLimits
from tsproxy.proxy.limits.admission import Admission
from tsproxy.proxy.limits.connection_monitor import ConnectionMonitor, Memory, MonitoredConnection
from tsproxy.proxy.limits.descriptors import share_of
from tsproxy.proxy.limits.limit import Limit
from tsproxy.proxy.reloadable import Commit


class ProcessLimits:
    """`limits` are those of this process, one worker's share of what holds for all."""

    def __init__(self, limits: ConnectionLimits, clock: Clock) -> None:
        self._connections: dict[MonitoredConnection, str] = {}
        self._limits = limits
        self._admission = Admission(limits)
        self.memory = Memory(self._all, limits.buffered)
        self._connection_monitor = ConnectionMonitor(self._all, self.memory, limits, clock)

    @property
    def by_address(self) -> Mapping[str, int]:
        """How many are connected from each address."""
        return self._admission.by_address

    @property
    def handshake_s(self) -> float:
        return self._limits.handshake_ms / 1000

    def admit(self, address: str) -> Limit | None:
        """Whether one more client of `address` may connect: None, and it is to `join`; or what forbids it."""
        return self._admission.admit(address)

    def join(self, connection: MonitoredConnection, address: str) -> None:
        """One that was admitted: it is looked after until it leaves."""
        self._connections[connection] = address

    def move(self, connection: MonitoredConnection, address: str) -> Limit | None:
        """It comes from another address than it seemed to (a load balancer named it): None, or what
        forbids one more from there."""
        limit = self._admission.move(self._connections[connection], address)
        if limit is None:
            self._connections[connection] = address
        return limit

    def leave(self, connection: MonitoredConnection) -> None:
        self.memory.forget(connection)
        self._admission.leave(self._connections.pop(connection))

    async def run(self) -> None:
        """Look at all connections once a second, for ever."""
        await self._connection_monitor.run()

    def prepare(self, config: Config) -> Commit:
        """A reload: it holds for those who are connected as well; nobody is closed for being one too many."""
        limits = share_of(config)

        def commit() -> None:
            self._limits = self._admission.limits = self._connection_monitor.limits = limits
            self.memory.limit = limits.buffered

        return commit

    def _all(self) -> KeysView[MonitoredConnection]:
        return self._connections.keys()
