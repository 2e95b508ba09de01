"""The clients that caused rejections lately, highest score first, in a bounded table.

A row is one key of the decision log's counters (client, topic, rule, reason, unit). Its score is the number
of its bad records, halved every HALF_LIFE_MS, so the first row is the most urgent one now. When there is no
room for a new row, all but the MAX_ROWS with the highest scores become one row for each outcome. This happens
at most once for every MAX_ROWS new names, so a new name costs little, even if there are very many.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import exp2
from typing import Any, Final

from tsproxy.decisions.ledger import OTHER, folded
from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.totals import Key, Totals
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.model.outcome import VerdictName

HALF_LIFE_MS: Final = 10 * 60_000
MAX_ROWS: Final = 200
ROWS: Final = Ceiling(
    "the clients that caused rejections lately, by key of the ledger",
    most=2 * MAX_ROWS,
    most_bytes=4 << 20,
    when_full=f"all but the {MAX_ROWS} with the highest scores become one row for each outcome",
    entry_bytes=A_PLACE + 900,
)
SHOWN: Final = 50


@dataclass(frozen=True, slots=True)
class Offender:
    """The counts of one key since the proxy started. `score` is as of `last_ms`. `client_address` and
    `timestamp_ms` (a rejected timestamp; None if unknown) are those of the last batch."""

    key: Key
    batches: int
    records: int
    bad_records: int
    first_ms: int
    last_ms: int
    score: float
    client_address: str
    timestamp_ms: int | None

    def score_at(self, now_ms: int) -> float:
        return self.score * exp2(-max(0, now_ms - self.last_ms) / HALF_LIFE_MS)

    def with_(self, other: "Offender") -> "Offender":
        """The sum of both rows. Facts about a single batch come from the later row."""
        earlier, later = sorted((self, other), key=lambda row: row.last_ms)
        return replace(
            later,
            batches=self.batches + other.batches,
            records=self.records + other.records,
            bad_records=self.bad_records + other.bad_records,
            first_ms=min(self.first_ms, other.first_ms),
            score=later.score + earlier.score_at(later.last_ms),
        )

    def as_line(self) -> dict[str, Any]:
        """The row as JSON values. Unknown facts are left out, as in the decision log."""
        facts = {**self.key._asdict(), **{name: getattr(self, name) for name in _COUNTED}}
        return {name: value for name, value in facts.items() if value is not None}

    @classmethod
    def of_line(cls, line: Mapping[str, Any]) -> "Offender":
        """The row from the result of `as_line`."""
        # A StrEnum's member equals its text, so a key made of texts is the same key.
        texts: dict[str, Any] = {name: line.get(name) for name in Key._fields}
        key = Key(**texts)
        counted: dict[str, Any] = {name: line.get(name) for name in _COUNTED}
        return cls(key, **counted)


_COUNTED: Final = tuple(name for name in Offender.__dataclass_fields__ if name != "key")


@dataclass(slots=True)
class Offenders:
    """The rows of one process. `privacy` hides the same personal data as in the decision log."""

    privacy: Privacy = field(default_factory=Privacy)
    _rows: Bounded[Key, Offender] = field(default_factory=lambda: Bounded(ROWS))

    def book(self, totals: Totals) -> None:
        """Count batches that tsproxy rejected, that a broker rejected for good, or that would have been
        rejected. Other batches do not count."""
        key = totals.key
        if not key.is_exemplary or not (key.is_final or key.verdict is VerdictName.REJECTED):
            return
        self._add(
            Offender(
                key=key._replace(principal=self.privacy.principal(key.principal)),
                batches=totals.batches,
                records=totals.records,
                bad_records=totals.bad_records,
                first_ms=totals.first_ms,
                last_ms=totals.last_ms,
                score=float(totals.bad_records),
                client_address=self.privacy.address(totals.peer.client_address) or "",
                timestamp_ms=totals.culprit_ms,
            )
        )

    def _add(self, row: Offender) -> None:
        known = self._rows.get(row.key)
        row = row if known is None else known.with_(row)
        if self._rows.add(row.key, row):
            return
        ranked = highest([*self._rows.values(), row], row.last_ms, MAX_ROWS)
        self._rows.clear()
        for offender in ranked:
            self._rows.add(offender.key, offender)

    def highest(self, now_ms: int) -> list[Offender]:
        """The first rows, and one for all others of each outcome."""
        return highest(self._rows.values(), now_ms, SHOWN)


def highest(rows: Iterable[Offender], now_ms: int, most: int) -> list[Offender]:
    """The first `most` rows by score, with equal keys added up. Last comes one row for all others of
    each outcome: what was only counted must not seem to be rejected."""
    every = _added_up(rows)
    rest = [row for row in every if row.key.folded]
    ranked = [row for row in every if not row.key.folded]
    ranked.sort(key=lambda row: row.score_at(now_ms), reverse=True)
    for row in ranked[most:]:
        key = REST._replace(verdict=row.key.verdict, would_reject=row.key.would_reject)
        rest.append(replace(row, key=key, client_address="", timestamp_ms=None))
    return ranked[:most] + _added_up(rest)


def _added_up(rows: Iterable[Offender]) -> list[Offender]:
    by_key: dict[Key, Offender] = {}
    for row in rows:
        known = by_key.get(row.key)
        by_key[row.key] = row if known is None else known.with_(row)
    return list(by_key.values())


REST: Final = folded(
    Key(
        listener=OTHER,
        topic=OTHER,
        client_id=None,
        principal=None,
        verdict=VerdictName.REJECTED,
    )
)
"""The key of the row for all others that were rejected."""
