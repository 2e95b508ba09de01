"""The steps that are taken when memory nears `limits.memory`: `Overload`. Pure: readings in, decisions out.

    1st mark   no more clients are accepted
    2nd mark   nothing more is read from clients
    3rd mark   one connection is closed after each reading

`limits.buffered` counts what connections hold. These steps need no such count, as in Envoy's overload
manager: they rest on the memory of the process. It seldom falls at once, and perhaps connections do not hold
it. So after some readings in vain, clients are read again, and only new ones are rejected.
"""

from dataclasses import dataclass
from typing import Final

MARKS: Final = (0.80, 0.85, 0.90)
"""Parts of the room between the memory that the process needs for itself and the limit."""
LEAST_ROOM_BYTES: Final = 32 << 20
"""With less room the marks would be reached without a fault of clients: there are none."""
PATIENCE: Final = 3
"""After so many readings in vain, a connection is closed at the second mark as well: good clients wait."""
MOST_IN_VAIN: Final = 10
AN_EFFECT_BYTES: Final = 256 << 10
"""A reading is not in vain if it is lower by so much than the last one that was not, or the highest since."""
TRIED_AGAIN: Final = 0.03
"""Closing is tried again when memory has grown by this part of the room since it was in vain."""


@dataclass(frozen=True, slots=True)
class Decision:
    """`mark` is the highest mark that is reached, 0 for none. `gave_up`: closing connections was in vain."""

    mark: int = 0
    reads: bool = True
    closes: bool = False
    gave_up: bool = False


class Overload:
    """`own_bytes` is the memory that the process needs for itself."""

    def __init__(self, limit_bytes: int, own_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._room = limit_bytes - own_bytes
        self._marks = [own_bytes + part * self._room for part in MARKS]
        self._before = limit_bytes
        self._in_vain = 0
        self._given_up_at: int | None = None

    @property
    def has_room(self) -> bool:
        return self._room >= LEAST_ROOM_BYTES

    def decide(self, used_bytes: int) -> Decision:
        """The steps until the next reading."""
        mark = sum(used_bytes >= bound for bound in self._marks) if self.has_room else 0
        given_up_at = self._given_up_at
        if given_up_at is not None and mark > 1 and used_bytes < given_up_at + TRIED_AGAIN * self._room:
            return Decision(mark, gave_up=True)
        if mark < 2 or given_up_at is not None:
            self._in_vain, self._given_up_at = 0, None
        if mark < 2:  # clients are read below the second one
            return Decision(mark)
        self._before = max(self._before, used_bytes)
        self._in_vain += 1
        if used_bytes <= self._before - AN_EFFECT_BYTES:
            self._before, self._in_vain = used_bytes, 0
        if self._in_vain > MOST_IN_VAIN:
            self._given_up_at = used_bytes
            return Decision(mark, gave_up=True)
        return Decision(mark, reads=False, closes=mark == len(MARKS) or self._in_vain > PATIENCE)
