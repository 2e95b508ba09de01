"""`MessageRun`: consecutive bare messages of magic 0 or 1, without an odd one."""

from dataclasses import dataclass
from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.records import RecordFacts


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on the messages of a run. Times in ms; -1, no time, is always allowed. `largest` in bytes."""

    lowest_ms: int = LONG_MIN
    highest_ms: int = LONG_MAX
    largest: int = LONG_MAX
    needs_key: bool = False


ANY: Final = Bounds()


@dataclass(frozen=True, slots=True)
class MessageRun:
    """A run of messages. `end` is the beginning of the first message after the run, or of the tail."""

    end: int
    facts: RecordFacts

    @property
    def records(self) -> int:
        return self.facts.records
