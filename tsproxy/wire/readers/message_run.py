"""`MessageRun`: bare messages of magic 0 and 1, one behind the other, none of which is odd."""

from dataclasses import dataclass
from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.records import RecordFacts


@dataclass(frozen=True, slots=True)
class Bounds:
    """The messages that a run may have. Times in ms; -1, no time, is always allowed. `largest` in bytes."""

    lowest_ms: int = LONG_MIN
    highest_ms: int = LONG_MAX
    largest: int = LONG_MAX
    needs_key: bool = False


ANY: Final = Bounds()


@dataclass(frozen=True, slots=True)
class MessageRun:
    """`end` is where the first message begins that is not of the run, or the tail."""

    end: int
    facts: RecordFacts

    @property
    def records(self) -> int:
        return self.facts.records
