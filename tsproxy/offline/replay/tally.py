"""`Tally`: the verdicts of a policy, added up by topic and client. Pure."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from tsproxy.model.verdict import Reason, UnitGuess

MOST_KEYS: Final = 100_000
"""The most pairs of topic and client with a line of their own. All others share a line with empty names."""


@dataclass(slots=True)
class Line:
    """One topic of one client. `rejected_records` counts all records of rejected batches, `bad_records` those
    with a violation. `counted_*`: what a rule in audit, a waiver or the candidate limit would have rejected,
    and did not. `uncertain_records` may have been rejected as well: a histogram is coarser than a limit."""

    batches: int = 0
    records: int = 0
    rejected_batches: int = 0
    rejected_records: int = 0
    bad_records: int = 0
    uncertain_records: int = 0
    counted_batches: int = 0
    counted_records: int = 0
    counted_bad_records: int = 0
    by_candidate: int = 0
    reasons: Counter[Reason] = field(default_factory=Counter)
    units: Counter[UnitGuess] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    example: str | None = None
    limits_were_known: bool = True


Key = tuple[str, str | None]
"""Topic and client id."""


@dataclass(slots=True)
class Tally:
    lines: dict[Key, Line] = field(default_factory=dict)

    def line(self, topic: str, client_id: str | None) -> Line:
        key: Key = (topic, client_id)
        if key not in self.lines and len(self.lines) >= MOST_KEYS:
            key = ("", None)
        return self.lines.setdefault(key, Line())

    @property
    def has_rejections(self) -> bool:
        return any(line.rejected_batches for line in self.lines.values())

    def worst_first(self) -> list[tuple[Key, Line]]:
        def rank(entry: tuple[Key, Line]) -> tuple[int, int, int, str, str]:
            (topic, client_id), line = entry
            return -line.rejected_records, -line.counted_records, -line.records, topic, client_id or ""

        return sorted(self.lines.items(), key=rank)
