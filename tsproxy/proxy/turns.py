"""A queue of several lines that take turns: `Turns`."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from itertools import chain
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Turns(Generic[K, T]):
    """Things that wait in lines, by key. Nobody waits for long behind another line. It has no lock."""

    __slots__ = ("_lines", "_size")

    def __init__(self) -> None:
        self._lines: dict[K, deque[T]] = {}
        """The line whose turn is next comes first, and none is empty."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self._lines.values())

    def put(self, key: K, waiting: T, place: int | None = None) -> None:
        """Add to a line, at `place` of it or at its end."""
        line = self._lines.setdefault(key, deque())
        line.insert(len(line) if place is None else place, waiting)
        self._size += 1

    def take(self) -> T:
        """Remove the first one of the line whose turn it is. That line then comes last."""
        key = next(iter(self._lines))
        line = self._lines.pop(key)
        taken = line.popleft()
        if line:
            self._lines[key] = line
        self._size -= 1
        return taken

    def remove(self, key: K, is_wanted: Callable[[T], bool]) -> bool:
        """Remove the first wanted one from a line. False if there is none."""
        line = self._lines.get(key, ())
        for place, waiting in enumerate(line):
            if is_wanted(waiting):
                del self._lines[key][place]
                if not self._lines[key]:
                    del self._lines[key]
                self._size -= 1
                return True
        return False

    def clear(self) -> None:
        self._lines.clear()
        self._size = 0
