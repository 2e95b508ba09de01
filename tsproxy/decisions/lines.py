"""`Lines`: what the decision log has to say, some of it made only when it is read.

An interval may end with thousands of counters, at tens of microseconds each. Whoever reads them pays for
making them: a writer beside the event loop does, line by line, and the loop does not stand still.
"""

from collections.abc import Callable, Iterable, Iterator

from tsproxy.decisions.events import Event

Made = Event | Callable[[], Event]
"""A line, or what makes it. Pure, and free to run in another thread."""


class Lines:
    """Lines in their order, each finished and ready to be encoded as it is read."""

    __slots__ = ("_made",)

    def __init__(self, made: Iterable[Made] = ()) -> None:
        self._made = tuple(made)

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[Event]:
        return (line if isinstance(line, dict) else line() for line in self._made)

    def __add__(self, other: "Lines") -> "Lines":
        return Lines(self._made + other._made)
