"""Times one request of a connection at a time, as an observer of both its ends.

The request is the first one of a read. It has a number in the queue of requests in flight, and is answered
when that many have left the queue. The work for a read is done when the read ends, except for a request that
is judged in a thread: then `judged` is called.
"""

from enum import Enum, auto
from typing import Final

from tsproxy.clock import Clock
from tsproxy.proxy.metrics.latency.timings import Timings
from tsproxy.proxy.pipe import Pipe
from tsproxy.session.session import Session
from tsproxy.wire.apis import APIS

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

    def ends(self, pipe: Pipe) -> None:
        if pipe is self._answers:
            self._look_for_answer()
        elif self._state is _State.TAKEN and not self._session.is_judging:
            self._look_for_request()

    def judged(self) -> None:
        """The session continues after a request that was judged in a thread."""
        if self._state is _State.TAKEN and not self._session.is_judging:
            self._look_for_request()

    def answer_was_read(self) -> None:
        """An answer that was read in a thread has been forwarded."""
        if self._state is _State.SENT:
            self._look_for_answer()

    def delayed(self) -> None:
        """The request is delayed on purpose, so its time is no measure of latency."""
        if self._state is _State.TAKEN:
            self._state = _State.WAITING

    def _look_for_request(self) -> None:
        """Check whether the request was forwarded or answered here. Neither happens before the end of the
        request has arrived."""
        session = self._session
        if session.requests_forwarded < self._number:
            self._state = _State.WAITING
            return
        self._requests.watch = None
        self._sent_us = self._clock.monotonic_us()
        self._inside_us = self._sent_us - self._began_us
        if session.requests_answered >= self._number:
            self._record(None)
        else:
            self._state = _State.SENT
            self._answers.watch = self

    def _look_for_answer(self) -> None:
        if self._session.requests_answered >= self._number:
            self._answers.watch = None
            self._inside_us += self._clock.monotonic_us() - self._came_us
            self._record(self._came_us - self._sent_us)

    def _record(self, upstream_us: int | None) -> None:
        self._state = _State.IDLE
        self._timings.took(self._api, self._broker, self._inside_us, upstream_us)
