"""`Lines`: lines of the decision log, some of which are made only when they are read.

An interval may end with thousands of counters lines, and each takes tens of microseconds to make. The
writer thread makes them while it reads them, so the event loop does not stop.
"""

from collections.abc import Callable, Iterable, Iterator

from tsproxy.decisions.events import Event

Made = Event | Callable[[], Event]
"""A line, or a pure function that makes it. The function may run in another thread."""


class Lines:
    """Lines in their order. Each line is complete when it is read."""

    __slots__ = ("_made",)

    def __init__(self, made: Iterable[Made] = ()) -> None:
        self._made = tuple(made)

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[Event]:
        return (line if isinstance(line, dict) else line() for line in self._made)

    def __add__(self, other: "Lines") -> "Lines":
        return Lines(self._made + other._made)
