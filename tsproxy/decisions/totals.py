"""The sums over batches with the same outcome: `Totals`. Counters add up totals, and nothing else.

`Totals.of` makes them of one outcome. The fast path makes no outcomes: it counts batches in C, and makes
totals of many. So a counted fact is a field of `Sums` with its lines in `add_up` and `Totals.of`, and one in
`fastpath/_native/counts.pyx` if the fast path may see it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Self

from tsproxy.decisions.drift import bucket, drift_ms
from tsproxy.decisions.text import bounded, bounded_or_none
from tsproxy.model.kafka import ABOUT_RECORDS, NO_TIMESTAMP, ErrorCode
from tsproxy.model.outcome import Cause, CulpritColumns, Outcome, Peer, VerdictName
from tsproxy.model.policy import Mode
from tsproxy.model.verdict import Reason, TopicLimits, UnitGuess

_REJECTED: Final = frozenset({VerdictName.REJECTED, VerdictName.BROKER_REJECTED})


class Key(NamedTuple):
    """The client, the topic and the outcome that batches have in common: one `counters` event. It is a tuple,
    because a key is hashed for every batch."""

    listener: str
    topic: str
    client_id: str | None
    principal: str | None
    verdict: VerdictName
    reason: Reason | None = None
    unit_guess: UnitGuess | None = None
    error_code: int = int(ErrorCode.NONE)
    is_final: bool = True
    rule: str | None = None
    mode: Mode | None = None
    waiver: str | None = None
    would_reject: bool | None = None
    """True or absent, never False: the line stays short."""
    folded: bool | None = None
    """True or absent, never False: the line stays short."""

    @property
    def is_exemplary(self) -> bool:
        """True if a batch may get a decision line. All others are only counted."""
        return self.verdict in _REJECTED or self.verdict is VerdictName.REPAIRED or self.would_reject is True

    @property
    def is_about_records(self) -> bool:
        """False if a broker rejected the batch for something else, such as the client's rights."""
        return self.verdict != VerdictName.BROKER_REJECTED or self.error_code in ABOUT_RECORDS


def key_of(peer: Peer, topic: str, verdict: VerdictName, **how: Any) -> Key:
    """The key with bounded names. `how` are the other fields of the outcome."""
    names = bounded(topic), bounded_or_none(peer.client_id), bounded_or_none(peer.principal)
    return Key(peer.listener, *names, verdict, **how)


Histogram = dict[int, int]
"""Maps a signed bucket of `drift-v1` to its batches and records. Both are one number (`bar`), because a pair
would take twice the memory, and thousands of keys have dozens of buckets each."""

_BATCH: Final = 1 << 64


def bar(batches: int, records: int) -> int:
    """The number for a bucket. Numbers are added up as they are."""
    return batches * _BATCH + records


def batches_and_records(number: int) -> tuple[int, int]:
    """The two parts of a `bar`."""
    return divmod(number, _BATCH)


@dataclass(slots=True, kw_only=True)
class Sums:
    """Everything that is counted about batches.

    Drift in ms is timestamp minus clock, saturated as in `drift-v1`. The range of drift is that of the
    culprits, or of all records if there are no culprits; None if no record has a timestamp. `ahead` is by the
    newest timestamp of each batch, `behind` by its oldest.
    """

    batches: int = 0
    records: int = 0
    bad_records: int = 0
    collateral_records: int = 0
    """Good records that were rejected because they shared a batch with culprits."""
    bytes: int = 0
    records_unread: int = 0
    """Records in batches that were unread: only the header was judged."""
    records_limits_unknown: int = 0
    first_ms: int
    last_ms: int
    drift_min_ms: int | None = None
    drift_max_ms: int | None = None
    ahead: Histogram = field(default_factory=dict)
    behind: Histogram = field(default_factory=dict)

    def add_up(self, other: "Sums") -> None:
        self.batches += other.batches
        self.records += other.records
        self.bad_records += other.bad_records
        self.collateral_records += other.collateral_records
        self.bytes += other.bytes
        self.records_unread += other.records_unread
        self.records_limits_unknown += other.records_limits_unknown
        self.first_ms = min(self.first_ms, other.first_ms)
        self.last_ms = max(self.last_ms, other.last_ms)
        if other.drift_min_ms is not None and other.drift_max_ms is not None:
            self.drift_min_ms = _least(self.drift_min_ms, other.drift_min_ms)
            self.drift_max_ms = _greatest(self.drift_max_ms, other.drift_max_ms)
        for histogram, added in ((self.ahead, other.ahead), (self.behind, other.behind)):
            for index, number in added.items():
                histogram[index] = histogram.get(index, 0) + number


def _least(known: int | None, value: int) -> int:
    return value if known is None else min(known, value)


def _greatest(known: int | None, value: int) -> int:
    return value if known is None else max(known, value)


@dataclass(slots=True, kw_only=True)
class Totals(Sums):
    """The sums over batches of one connection for one topic with the same outcome, over some time.

    `culprit_ms` is a timestamp of the last batch: that of its first culprit, if one is known.
    """

    key: Key
    peer: Peer
    limits: TopicLimits | None
    requests: int
    culprit_ms: int | None = None
    example: Outcome | None = None
    """The outcome, if these are the totals of one. It may get a decision line."""

    @property
    def topic(self) -> str:
        """The topic. It is bounded, so it is no name of a topic if what the client sent was none."""
        return self.key.topic

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        batch, now_ms = outcome.batch, outcome.now_ms
        one = bar(1, batch.records)
        oldest_ms, newest_ms = batch.min_timestamp_ms, batch.max_timestamp_ms
        drift = None
        if oldest_ms is not None and newest_ms is not None:
            drift = drift_ms(oldest_ms, now_ms), drift_ms(newest_ms, now_ms)
        ahead = {} if drift is None else {bucket(drift[1]): one}
        behind = {} if drift is None else {bucket(drift[0]): one}
        culprit_ms = newest_ms
        if outcome.culprits:
            times = culprit_times_ms(outcome)
            drift = times and (drift_ms(times.lowest, now_ms), drift_ms(times.highest, now_ms))
            culprit_ms = times.first if times else culprit_ms
        is_rejected = outcome.verdict in _REJECTED
        return cls(
            key=key_of(
                outcome.peer,
                outcome.topic,
                outcome.verdict,
                reason=outcome.reason,
                unit_guess=outcome.unit_guess,
                error_code=int(outcome.error_code),
                is_final=outcome.is_final,
                rule=outcome.rule,
                mode=outcome.mode,
                waiver=outcome.waiver,
                would_reject=True if outcome.would_reject else None,
            ),
            peer=outcome.peer,
            limits=outcome.limits,
            requests=1,
            culprit_ms=culprit_ms,
            example=outcome,
            batches=1,
            records=batch.records,
            bad_records=outcome.bad_records,
            collateral_records=max(0, batch.records - outcome.bad_records) if is_rejected else 0,
            bytes=batch.batch_bytes,
            records_unread=batch.records_unread,
            records_limits_unknown=batch.records if outcome.limits_unknown else 0,
            first_ms=now_ms,
            last_ms=now_ms,
            drift_min_ms=None if drift is None else drift[0],
            drift_max_ms=None if drift is None else drift[1],
            ahead=ahead,
            behind=behind,
        )

    @classmethod
    def by_cause(cls, outcome: Outcome) -> "Iterator[Totals]":
        """The totals of one outcome, one for each cause of its culprits. The batch, its bytes and its good
        records are counted with the first one."""
        whole = cls.of(outcome)
        rest = sum(cause.bad_records for cause in outcome.causes[1:])
        for cause in outcome.causes:
            is_first = cause is outcome.causes[0]
            yield whole._part(cause, whole.records - rest if is_first else cause.bad_records, is_first)
        if not outcome.causes:
            yield whole

    def _part(self, cause: Cause, records: int, is_first: bool) -> "Totals":
        lowest_ms, highest_ms = cause.lowest_ms, cause.highest_ms
        one = bar(self.batches if is_first else 0, records)
        part = replace(
            self,
            records=records,
            bad_records=cause.bad_records,
            drift_min_ms=None if lowest_ms is None else drift_ms(lowest_ms, self.first_ms),
            drift_max_ms=None if highest_ms is None else drift_ms(highest_ms, self.first_ms),
            ahead=dict.fromkeys(self.ahead, one),
            behind=dict.fromkeys(self.behind, one),
            culprit_ms=cause.first.timestamp_ms,
        )
        if is_first:
            return part
        key = self.key._replace(reason=cause.reason, unit_guess=cause.unit_guess)
        return replace(
            part,
            key=key,
            example=None,
            batches=0,
            requests=0,
            bytes=0,
            collateral_records=0,
            records_unread=0,
            records_limits_unknown=0,
        )


class CulpritTimes(NamedTuple):
    """Some of the known timestamps of the culprits, in ms. -1 is none (KIP-32)."""

    first: int
    lowest: int
    highest: int


def culprit_times_ms(outcome: Outcome) -> CulpritTimes | None:
    """The times of the culprits; None if no culprit has a timestamp."""
    culprits = outcome.culprits
    if isinstance(culprits, CulpritColumns):
        return CulpritTimes(culprits.timestamps_ms[0], *culprits.span_ms)
    all_times = (culprit.timestamp_ms for culprit in culprits)
    times = [time_ms for time_ms in all_times if time_ms is not None and time_ms != NO_TIMESTAMP]
    return CulpritTimes(times[0], min(times), max(times)) if times else None
