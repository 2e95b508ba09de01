"""Containers for names that peers send, kept for longer than a request: `Ceiling`, `Room` and `Bounded`.

A peer chooses its names, and sends as many as it likes. So each container with such keys has a ceiling: a
number of entries, and a number of bytes of real memory. The ceiling is a constant of the container's module.
tests/attacks/ceilings.md has the table of all ceilings, printed from these constants.

An entry that is not kept must loosen nothing. So the owner decides what happens at the ceiling: `put` drops
the oldest entries and returns them, `add` keeps nothing new.
"""

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from enum import StrEnum
from sys import getsizeof
from typing import Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Owner(StrEnum):
    """The owner counts the bytes."""

    PROCESS = "process"
    """Under the ceiling itself. The sum of these ceilings is what a process keeps at most."""
    CONNECTION = "connection"
    """Under `limits.buffered`, with all other bytes of the connection."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """At most `most` entries and `most_bytes` bytes. `keeps` and `when_full` are the words of the table.

    `entry_bytes` is the memory of one entry without the texts of its key: the value, and its place in a
    dictionary (A_PLACE). A test compares it with what Python allocates.
    """

    keeps: str
    most: int
    most_bytes: int
    when_full: str
    entry_bytes: int = 0
    owner: Owner = Owner.PROCESS
    containers: int = 1
    """How many containers with this ceiling an owner has."""


A_PLACE: Final = 120
"""The most bytes of one place in a dictionary, right after the dictionary has grown."""


def bytes_of(key: object) -> int:
    """The memory of a key with its texts."""
    if isinstance(key, tuple):
        return getsizeof(key) + sum(map(bytes_of, key))
    return getsizeof(key)


class Room:
    """The entries and bytes that are kept under one ceiling."""

    __slots__ = ("ceiling", "entries", "held_bytes")

    def __init__(self, ceiling: Ceiling) -> None:
        self.ceiling = ceiling
        self.entries = self.held_bytes = 0

    def takes(self, size: int) -> bool:
        """True if there is room for one more entry of so many bytes."""
        return self.entries < self.ceiling.most and self.held_bytes + size <= self.ceiling.most_bytes

    @property
    def is_over(self) -> bool:
        """True if kept entries have grown beyond the ceiling."""
        return self.held_bytes > self.ceiling.most_bytes

    def add(self, size: int) -> None:
        self.entries += 1
        self.held_bytes += size

    def remove(self, size: int) -> None:
        self.entries -= 1
        self.held_bytes -= size

    def clear(self) -> None:
        self.entries = self.held_bytes = 0


class Bounded(Mapping[K, V]):
    """A dictionary under a ceiling. The entry that was put last comes last.

    `size_of` returns the bytes of an entry, and the same ones for as long as the entry is kept.
    """

    __slots__ = ("_entries", "_size_of", "room")

    def __init__(self, ceiling: Ceiling, size_of: Callable[[K, V], int] | None = None) -> None:
        self.room = Room(ceiling)
        self._entries: dict[K, V] = {}
        self._size_of = size_of or (lambda key, _: bytes_of(key) + ceiling.entry_bytes)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __iter__(self) -> Iterator[K]:
        """The oldest one comes first."""
        return iter(self._entries)

    @property
    def oldest(self) -> tuple[K, V] | None:
        return next(iter(self._entries.items()), None)

    def items(self) -> ItemsView[K, V]:
        return self._entries.items()

    def values(self) -> ValuesView[V]:
        return self._entries.values()

    def put(self, key: K, value: V) -> list[tuple[K, V]]:
        """Keep an entry, as the newest one. Returns the oldest ones, which were dropped for it."""
        self.pop(key)
        size, dropped = self._size_of(key, value), list[tuple[K, V]]()
        if size > self.room.ceiling.most_bytes:
            return [(key, value)]
        while not self.room.takes(size) and (oldest := self.oldest) is not None:
            dropped.append(oldest)
            self.pop(oldest[0])
        self.room.add(size)
        self._entries[key] = value
        return dropped

    def add(self, key: K, value: V) -> bool:
        """Keep an entry, or replace the value of a key that is kept. False if there is no room."""
        kept = self._entries.get(key)
        size = self._size_of(key, value)
        if kept is not None or key in self._entries:
            size -= self._size_of(key, kept)  # type: ignore[arg-type]  # it is the value of this key
            if self.room.held_bytes + size > self.room.ceiling.most_bytes:
                return False
            self.room.held_bytes += size
        elif self.room.takes(size):
            self.room.add(size)
        else:
            return False
        self._entries[key] = value
        return True

    def pop(self, key: K) -> V | None:
        if key not in self._entries:
            return None
        value = self._entries.pop(key)
        self.room.remove(self._size_of(key, value))
        return value

    def clear(self) -> None:
        self._entries.clear()
        self.room.clear()
