"""Times requests: inside the proxy, and from there to the broker's whole answer.

Only a sample is timed. A connection that times no request does no work for this and reads no clock. The
choice of a request depends neither on its contents nor on the fast path.

The request is the first one of a read. It has a number in the queue of requests in flight, and is answered
when that many have left the queue.

Non-goals: no trace of a single request, and no measurement of how long bytes wait in the system's buffers.
"""

import asyncio
from collections.abc import Callable, Iterable
from enum import Enum, auto
from itertools import islice
from typing import Final, Protocol

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.clock import Clock
from tsproxy.proxy.metrics.catalogue import EVENT_LOOP_LAG, TASKS
from tsproxy.proxy.metrics.timings import Timings
from tsproxy.proxy.pipe import Pipe
from tsproxy.proxy.wait import next_tick
from tsproxy.session.session import Session
from tsproxy.wire.apis import APIS

AT_ONCE: Final = 80
_NAMES: Final = {key: api.name for key, api in APIS.items()}


class _State(Enum):
    IDLE = auto()
    WAITING = auto()
    """Waits for a read that begins with a request."""
    TAKEN = auto()
    """The request has arrived."""
    SENT = auto()


class Stopwatch:
    """The stopwatch of a connection with these two ends. `broker` is the name of its broker in metrics."""

    __slots__ = (
        "_answers",
        "_api",
        "_began_us",
        "_broker",
        "_came_us",
        "_clock",
        "_inside_us",
        "_number",
        "_requests",
        "_sent_us",
        "_session",
        "_state",
        "_timings",
    )

    def __init__(
        self, requests: Pipe, answers: Pipe, session: Session, timings: Timings, clock: Clock, broker: str
    ) -> None:
        self._answers = answers
        self._api = ""
        self._broker = broker
        self._began_us = self._came_us = self._inside_us = self._sent_us = 0
        self._clock = clock
        self._number = 0
        self._requests = requests
        self._session = session
        self._state = _State.IDLE
        self._timings = timings

    def arm(self) -> None:
        """Time the next request, unless one is being timed."""
        if self._state is _State.IDLE:
            self._state = _State.WAITING
            self._requests.watch = self

    # Callbacks of a pipe

    def begins(self, pipe: Pipe, api_key: int) -> None:
        if pipe is self._answers:
            self._came_us = self._clock.monotonic_us()
            return
        name = _NAMES.get(api_key) if self._state is _State.WAITING else None
        if name is not None and self._session.is_between_requests:
            self._api, self._number = name, self._session.requests_forwarded + 1
            self._state = _State.TAKEN
            self._began_us = self._clock.monotonic_us()

    def ends(self, _: Pipe) -> None:
        self.look()

    # Callbacks of the session's driver

    def look(self) -> None:
        """The session has done something: see whether the request was forwarded or answered."""
        session = self._session
        if self._state is _State.TAKEN and session.requests_forwarded >= self._number:
            self._requests.watch = None
            self._sent_us = self._clock.monotonic_us()
            self._inside_us = self._sent_us - self._began_us
            if session.requests_answered >= self._number:
                self._record(None)
            else:
                self._state = _State.SENT
                self._came_us = self._sent_us  # a thread may be reading the answer already
                self._answers.watch = self
        elif self._state is _State.TAKEN and not session.is_judging:  # its end has not arrived
            self._state = _State.WAITING
        elif self._state is _State.SENT and session.requests_answered >= self._number:
            self._answers.watch = None
            self._inside_us += self._clock.monotonic_us() - self._came_us
            self._record(self._came_us - self._sent_us)

    def delayed(self) -> None:
        """The request is delayed on purpose, so its time is no measure of latency."""
        if self._state is _State.TAKEN:
            self._state = _State.WAITING

    def _record(self, upstream_us: int | None) -> None:
        self._state = _State.IDLE
        self._timings.took(self._api, self._broker, self._inside_us, upstream_us)


class Timed(Protocol):
    """A connection, as far as the sampler needs it."""

    def time_next(self) -> None: ...


class Sampler:
    """Chooses the connections that time their next request: all in turn, at most so many per second. So the
    cost does not grow with the number of connections or requests."""

    def __init__(self, connections: Callable[[], Iterable[Timed]]) -> None:
        self._connections = connections
        self._turn: list[Timed] = []

    async def run(self) -> None:
        while True:
            await next_tick(POLL_INTERVAL_S)
            self.arm()

    def arm(self) -> None:
        """Let the next connections time a request."""
        if not self._turn:
            self._turn = list(self._connections())
        for connection in islice(self._turn, AT_ONCE):
            connection.time_next()
        del self._turn[:AT_ONCE]


POLL_INTERVAL_S: Final = 0.25
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class LoopLag:
    """How late the event loop runs a task that is due four times a second. So long does every connection of
    this process wait, because the core is busy or one step took long."""

    def __init__(self) -> None:
        self.histogram = EVENT_LOOP_LAG.histogram(_BUCKETS)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due_s = await next_tick(POLL_INTERVAL_S)
            self.histogram.observe(max(0.0, loop.time() - due_s))


class Tasks(Collector):
    """Counts the tasks of the running event loop at each scrape, as `go_goroutines` does in Go."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def collect(self) -> Iterable[Metric]:
        yield TASKS.levels(len(asyncio.all_tasks(self._loop)))
