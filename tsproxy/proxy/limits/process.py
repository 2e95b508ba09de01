"""The limits of one process: its connections, their memory, and the monitor."""

from collections.abc import KeysView
from typing import Final

from tsproxy.clock import Clock
from tsproxy.config.settings import Config, ConnectionLimits
from tsproxy.proxy.limits.admission import Admission, Limit
from tsproxy.proxy.limits.connection_monitor import ConnectionMonitor, Memory, MonitoredConnection
from tsproxy.proxy.limits.descriptors import check, lowers, share_of

HEAVY_BYTES: Final = 1 << 20


class ProcessLimits:
    """Enforces limits. `limits` are the limits of this process, which are one worker's share of the total.
    With `is_lowered`, the system grants too few open files for more connections."""

    def __init__(self, limits: ConnectionLimits, clock: Clock, *, is_lowered: bool = False) -> None:
        self._connections: dict[MonitoredConnection, str] = {}
        self._is_lowered = is_lowered
        self._limits = limits
        self.admission = Admission(limits)
        self.memory = Memory(self._all, limits.buffered)
        self._connection_monitor = ConnectionMonitor(self._all, self.memory, limits, clock)

    @property
    def handshake_s(self) -> float:
        return self._limits.handshake_ms / 1000

    def admit(self, address: str) -> Limit | None:
        """None if one more client of `address` may connect; then call `join`. Otherwise the limit that
        forbids the connection."""
        return self.admission.admit(address)

    def text(self, limit: Limit) -> str:
        """The limit's key and value, and where the value comes from if it is not the configured one."""
        if limit is not Limit.CONNECTIONS:
            return f"limits.{limit}"
        why = ", lowered to what the limit of file descriptors allows: raise LimitNOFILE or ulimit -n"
        return f"limits.{limit}: {self._limits.connections:,}{why if self._is_lowered else ''}"

    def join(self, connection: MonitoredConnection, address: str) -> None:
        """Monitor an admitted connection until it leaves."""
        self._connections[connection] = address

    def move(self, connection: MonitoredConnection, address: str) -> Limit | None:
        """Count a connection for another address, because a load balancer named it. Returns None, or the
        limit that forbids one more connection from there."""
        limit = self.admission.move(self._connections[connection], address)
        if limit is None:
            self._connections[connection] = address
        return limit

    def leave(self, connection: MonitoredConnection) -> None:
        self.memory.forget(connection)
        self.admission.leave(self._connections.pop(connection))

    def read_from_clients(self, is_read: bool) -> None:
        for connection in tuple(self._connections):
            connection.pause(not is_read)

    def close_heaviest(self, text: str) -> None:
        """Close the connection that weighs most, unless all weigh alike and little: then none is to blame."""
        weights = sorted((client.weight_bytes, number) for number, client in enumerate(self._connections))
        if weights and weights[-1][0] > min(HEAVY_BYTES - 1, weights[(len(weights) - 1) // 2][0]):
            [*self._connections][weights[-1][1]].exceeded(Limit.MEMORY, text)

    async def run(self) -> None:
        await self._connection_monitor.run()

    def apply(self, config: Config) -> None:
        """A reload. The limits also apply to existing connections, but a lower maximum closes none of
        them."""
        limits = share_of(config)
        self._limits = self.admission.limits = self._connection_monitor.limits = limits
        self.memory.limit = limits.buffered
        self._is_lowered = lowers(config)
        check(config)

    def _all(self) -> KeysView[MonitoredConnection]:
        return self._connections.keys()
