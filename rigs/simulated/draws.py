"""Numbers and events by seed: `Draws`.

Each part of a world draws from a stream of its own, so that one part less leaves the others as they were.
Each departure from the ordinary course is an event with a name. Events that are left out do not happen, and
everything else is drawn as before: a world shrinks by its events.
"""

from collections.abc import Collection
from random import Random


class Draws:
    """`events` are those that have happened so far, by name. Events in `left_out` never happen."""

    def __init__(self, seed: int, left_out: Collection[str] = ()) -> None:
        self.seed = seed
        self.events: list[str] = []
        self._left_out = frozenset(left_out)

    def stream(self, name: str) -> "Stream":
        return Stream(self, name)

    def admits(self, event: str) -> bool:
        """Notes the event, unless it is left out."""
        if event in self._left_out:
            return False
        self.events.append(event)
        return True


class Stream(Random):
    """A source of numbers with a name."""

    def __init__(self, draws: Draws, name: str) -> None:
        super().__init__(f"{draws.seed}/{name}")  # the same in every process: a text is hashed by SHA-512
        self._draws = draws
        self.name = name

    def has(self, probability: float, event: str) -> bool:
        """Whether this event happens; `event` is unique in its stream."""
        return self.random() < probability and self._draws.admits(f"{self.name}: {event}")

    def soon(self) -> float:
        """Seconds until something ordinary happens: mostly none or a few milliseconds, now and then many."""
        kind = self.random()
        if kind < 0.5:
            return 0.0
        if kind < 0.95:
            return self.random() * 0.004
        return self.random() * 0.3

    def piece(self, size: int) -> int:
        """How many of `size` bytes are next: all, a few, or any number of them."""
        kind = self.random()
        if size <= 1 or kind < 0.55:
            return size
        if kind < 0.7:
            return min(size, self.randint(1, 8))
        return self.randint(1, size)
