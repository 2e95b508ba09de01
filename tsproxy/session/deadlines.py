"""The waits of a session that have a deadline: `Deadlines`.

`Session.next_deadline_ms` is the time at which the session must be called again, like aioquic's `get_timer`.
The shell needs one timer for each connection. A test sets the time itself and needs no timer.

Times are milliseconds of a clock that never steps. The wall clock, by which records are judged, may step.
"""

from enum import Enum
from typing import Final

NODE_WAIT_MS: Final = 5_000
"""How long an answer waits for a listener of the broker that it names. Then the answer leaves it out."""


class Wait(Enum):
    NAME = "a request names a topic whose name or limits are not known yet"
    NODE = "an answer names a broker that has no listener yet"
    MUTE = "the client is muted (KIP-219)"
    DELAY = "a rejected request of a muted client is not answered yet"
    ANSWERS = "a client that sends no more waits for its answers"


class Deadlines:
    """At most one deadline for each kind of wait. `now_ms` is the time of the event that is handled."""

    __slots__ = ("_ends_ms", "now_ms")

    def __init__(self) -> None:
        self.now_ms = 0
        self._ends_ms: dict[Wait, int] = {}

    @property
    def next_ms(self) -> int | None:
        """The earliest deadline; None if the session waits for nothing."""
        return min(self._ends_ms.values(), default=None)

    def start(self, wait: Wait, for_ms: int) -> None:
        self._ends_ms[wait] = self.now_ms + for_ms

    def cancel(self, wait: Wait) -> None:
        self._ends_ms.pop(wait, None)

    def cancel_all(self) -> None:
        self._ends_ms.clear()

    def take_passed(self) -> Wait | None:
        """Remove the wait whose deadline passed first, and return it; None if no deadline has passed. If two
        deadlines are equal, the order of `Wait` decides. Each call returns only one wait, because its end may
        replace another wait."""
        passed = [wait for wait in Wait if self._ends_ms.get(wait, self.now_ms + 1) <= self.now_ms]
        if not passed:
            return None
        earliest = min(passed, key=self._ends_ms.__getitem__)
        del self._ends_ms[earliest]
        return earliest
