"""`Lines`: lines of the decision log, some of which are made only when they are read.

An interval may end with thousands of counters lines, and each takes tens of microseconds to make. The
writer thread makes them while it reads them, so the event loop does not stop.
"""

from collections.abc import Callable, Iterable, Iterator
from sys import getsizeof
from typing import Final

from tsproxy.decisions.events import Event

Made = Event | Callable[[], Event]
"""A line, or a pure function that makes it. The function may run in another thread."""


A_LINE: Final = 1 << 10
"""The memory of a line without the texts of its fields, and without the tally that it is made of."""


class Lines:
    """Lines in their order. Each line is complete when it is read. `held_bytes` is their memory until then;
    the caller passes the part of those that are made later."""

    __slots__ = ("_made", "held_bytes")

    def __init__(self, made: Iterable[Made] = (), made_later_bytes: int = 0) -> None:
        self._made = tuple(made)
        self.held_bytes = made_later_bytes + sum(map(_bytes_of, self._made))

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[Event]:
        return (line if isinstance(line, dict) else line() for line in self._made)

    def __add__(self, other: "Lines") -> "Lines":
        both = Lines()
        both._made, both.held_bytes = self._made + other._made, self.held_bytes + other.held_bytes
        return both


def _bytes_of(made: Made) -> int:
    return A_LINE + (sum(map(getsizeof, made.values())) + getsizeof(made) if isinstance(made, dict) else 0)
