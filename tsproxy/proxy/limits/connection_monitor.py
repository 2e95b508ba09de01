"""Checks every connection once a second: whether it stalls, whether it is idle, and how much memory it holds.

Code that reads bytes only sets a flag (`was_heard`), and the monitor measures times. So a limit is exact to a
second, and costs nothing per byte.

* *Stalled frame*: the beginning of a request has arrived and its end has not, for longer than
  `stalled_frame` plus a second for each MiB of its announced size, however slowly bytes arrive. Time in
  which the proxy itself does not read, because the broker accepts no more, does not count.
* *Idle*: for `idle`, no byte came from either end and none that is held was sent, and no answer is missing.
  The proxy does not limit how long a broker may take for an answer. But while it reads only one end, it
  cannot see that the other is gone, so the limit also holds then.
* *Age*: the connection was accepted `connection_age` ago, 10% more or less, so that connections that began
  together end apart. The proxy takes nothing more from it, and closes it when no answer is missing. So a
  client whose certificate was revoked must log in anew.
* *Silent broker*: it has a request and has not sent a byte for SILENT_MS since it was connected. This closes
  nothing; it is counted among the results of new connections.
* *Buffered*: all connections together hold more than `buffered`, counted while bytes arrive, when a thread
  has made an answer, and once a second (`Memory`). The proxy closes the connection that holds most, and
  stalled ones first, so that good clients continue.
"""

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from tsproxy.clock import Clock
from tsproxy.config.settings import ConnectionLimits
from tsproxy.log_events.catalogue import CONNECTION_MONITOR_CRASHED
from tsproxy.proxy.limits.admission import Limit
from tsproxy.proxy.notes import frames_of
from tsproxy.proxy.wait import next_tick
from tsproxy.wire.frames import Unfinished

CHECK_S: Final = 1.0
SILENT_MS: Final = 5_000
"""A broker that takes longer for its first answer is silent. Clients give up after 10 s or more. Later
answers may take longer: a client may wait for records, or for the other members of its group."""
STALLED_BYTES: Final = 16 << 10
"""Only a connection that holds so much may count as stalled. Smaller ones cannot fill `buffered`."""
SLOWEST_BYTES_PER_MS: Final = (1 << 20) / 1000
"""A frame may take a second per MiB in addition to `stalled_frame`."""


@dataclass(slots=True)
class ConnectionStats:
    """The state of a connection between two checks. Times are monotonic ms."""

    age_factor: float = field(default_factory=lambda: 0.9 + 0.2 * random.random())  # noqa: S311  # no secret
    asked_ms: int | None = None
    """Since when the first answer of the broker is missing."""
    checked_bytes: int = 0
    """`held_bytes` at the last check."""
    heard_ms: int | None = None
    frame: int | None = None
    frame_since_ms: int = 0
    held_bytes: int = 0
    opened_ms: int | None = None
    was_moving: bool = True


class MonitoredConnection(Protocol):
    """A connection, as far as the monitor needs it."""

    stats: ConnectionStats
    was_heard: bool
    """The code that reads a byte from either end sets it."""

    @property
    def held_bytes(self) -> int:
        """The memory for the connection's bytes and requests."""

    @property
    def is_paused(self) -> bool:
        """True while one of its ends is not read. The TLS layer may read on."""

    @property
    def weight_bytes(self) -> int:
        """`held_bytes`, and a price for each request in flight, whatever is counted for it."""

    def pause(self, is_paused: bool) -> None:
        """Read nothing from the client, or read again."""

    @property
    def unfinished(self) -> Unfinished | None:
        """The request that is being received; None if the proxy itself does not read."""

    @property
    def is_owed_answers(self) -> bool: ...

    @property
    def is_owed_first_answer(self) -> bool: ...

    def broker_is_silent(self) -> None:
        """The broker has not sent its first answer for SILENT_MS. Called again each second."""

    def answers_are_late(self) -> None:
        """The broker owes answers, and nothing came from either end for SILENT_MS. Called again each
        second."""

    def is_too_old(self) -> None:
        """The connection is older than `connection_age`. Called again each second."""

    def exceeded(self, limit: Limit, text: str) -> None:
        """Close the connection, which has exceeded `limit`. `text` is for the log."""


class Memory:
    """The bytes that all connections hold together. `beside` returns the bytes of closed connections that are
    still held elsewhere. Both `limit` and `beside` may be replaced while the proxy runs."""

    __slots__ = ("_connections", "beside", "held_bytes", "limit")

    def __init__(self, connections: Callable[[], Iterable[MonitoredConnection]], limit: int) -> None:
        self.beside: Callable[[], int] = lambda: 0
        self.held_bytes = 0
        self.limit = limit
        self._connections = connections

    def count(self, connection: MonitoredConnection) -> None:
        """Call it whenever the bytes of a connection may have grown."""
        held = connection.held_bytes
        self.held_bytes += held - connection.stats.held_bytes
        connection.stats.held_bytes = held
        if self.held_bytes + self.beside() > self.limit:
            self.enforce()

    def enforce(self) -> None:
        """Count all bytes again. As long as the sum is above the limit, close the connection that holds most.

        The sum may exceed the limit without received bytes, for example by answers of our own.
        """
        self._recount()
        while self.held_bytes + self.beside() > self.limit:
            largest = max(self._connections(), key=_burden, default=None)
            if largest is None or not largest.stats.held_bytes:
                return
            held, total = largest.stats.held_bytes, self.held_bytes + self.beside()
            self.forget(largest)
            largest.exceeded(
                Limit.BUFFERED,
                f"{total} bytes are held for all, at most {self.limit} may be; {held} of them for this one",
            )

    def _recount(self) -> None:
        """Count all bytes again, since nothing reports bytes that were sent meanwhile."""
        self.held_bytes = 0
        for connection in self._connections():
            stats = connection.stats
            # Skips idle ones, since there are many.
            if connection.was_heard or stats.held_bytes or connection.is_paused:
                stats.held_bytes = connection.held_bytes
                self.held_bytes += stats.held_bytes

    def forget(self, connection: MonitoredConnection) -> None:
        self.held_bytes -= connection.stats.held_bytes
        connection.stats.held_bytes = 0


def _burden(connection: MonitoredConnection) -> tuple[bool, int]:
    """The sort key for closing: stalled connections first, since their frame may never end, then by size. A
    consumer that waits for records holds little, and is not stalled."""
    stats = connection.stats
    stalls = stats.held_bytes >= STALLED_BYTES and not (connection.was_heard or stats.was_moving)
    return stalls, stats.held_bytes


class ConnectionMonitor:
    """Enforces limits. `limits` may be replaced while it runs."""

    def __init__(
        self,
        connections: Callable[[], Iterable[MonitoredConnection]],
        memory: Memory,
        limits: ConnectionLimits,
        clock: Clock,
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._connections = connections
        self._memory = memory

    async def run(self) -> None:
        while True:
            await next_tick(CHECK_S)
            try:
                self.check(self._clock.monotonic_ms())
            except Exception as error:
                # An error in the checks must not stop the data path.
                CONNECTION_MONITOR_CRASHED(error=type(error).__name__, frames=frames_of(error))

    def check(self, now_ms: int) -> None:
        self._memory.enforce()
        for connection in tuple(self._connections()):  # a closed connection is removed from the original
            stats = connection.stats
            if stats.opened_ms is None:
                stats.opened_ms = now_ms
            elif now_ms - stats.opened_ms >= (self.limits.connection_age_ms or math.inf) * stats.age_factor:
                connection.is_too_old()
            stats.was_moving = connection.was_heard
            # A slow client takes its answer without a byte from either end.
            if connection.was_heard or stats.heard_ms is None or stats.held_bytes != stats.checked_bytes:
                connection.was_heard = False
                stats.heard_ms = now_ms
            stats.checked_bytes = stats.held_bytes
            self._check_frame(connection, now_ms)
            self._check_broker(connection, now_ms)
            self._check_silence(connection, now_ms - stats.heard_ms)

    def _check_frame(self, connection: MonitoredConnection, now_ms: int) -> None:
        stats = connection.stats
        frame = connection.unfinished if stats.held_bytes else None
        if frame is None:
            stats.frame = None
        elif stats.frame != frame.number:
            stats.frame, stats.frame_since_ms = frame.number, now_ms
        elif now_ms - stats.frame_since_ms > self._patience_ms(frame):
            seconds = (now_ms - stats.frame_since_ms) // 1000
            of = "a request" if frame.announced is None else f"the {frame.announced} that it announced"
            connection.exceeded(Limit.STALLED_FRAME, f"in {seconds} s came {frame.received} bytes of {of}")

    def _check_broker(self, connection: MonitoredConnection, now_ms: int) -> None:
        stats = connection.stats
        if not connection.is_owed_first_answer:
            stats.asked_ms = None
        elif stats.asked_ms is None:
            stats.asked_ms = now_ms
        elif now_ms - stats.asked_ms >= SILENT_MS:
            connection.broker_is_silent()

    def _patience_ms(self, frame: Unfinished) -> float:
        return self.limits.stalled_frame_ms + (frame.announced or 0) / SLOWEST_BYTES_PER_MS

    def _check_silence(self, connection: MonitoredConnection, silent_ms: int) -> None:
        if connection.is_owed_answers and silent_ms >= SILENT_MS:
            connection.answers_are_late()
        if silent_ms > self.limits.idle_ms and (connection.is_paused or not connection.is_owed_answers):
            connection.exceeded(Limit.IDLE, f"nothing came from either end for {silent_ms // 1000} s")
