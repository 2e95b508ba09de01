"""What all connections of the proxy together may take; `SessionLimits` bounds what a single one asks for."""

from dataclasses import dataclass, replace
from typing import Final, Self

MOST_CONNECTIONS: Final = 10_000


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """`connections` and `buffered` (bytes) hold for the whole proxy; times are in ms.

    `follows_system`: nobody asked for that number of connections, fewer will do where open files are few.
    """

    connections: int = MOST_CONNECTIONS
    connections_per_address: int = 1_000
    buffered: int = 1 << 30
    stalled_frame_ms: int = 30_000
    idle_ms: int = 12 * 60_000
    handshake_ms: int = 10_000
    follows_system: bool = True

    def share(self, workers: int) -> Self:
        """What one of so many workers may take, rounded up: they share nothing, so each keeps its own."""
        return replace(
            self,
            connections=-(-self.connections // workers),
            connections_per_address=-(-self.connections_per_address // workers),
            buffered=-(-self.buffered // workers),
        )
