"""Bare messages of magic 0 and 1, one behind the other, with nothing odd about any: `MessageRun`."""

from dataclasses import dataclass
from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.records import RecordFacts


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which messages are passed over. Times in ms; -1, no time, is within any bounds. `largest` in bytes."""

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
