"""Exact counts of all outcomes, by client, topic and outcome.

`book` adds an outcome. `take` returns the tally of each key and starts again from zero. `counters` makes
the event of one key. The sum over all events is the sum over all booked outcomes. The number of keys is
bounded, and shared out by address (`key_shares`). Beyond the bound, the client and the topic of a batch are
folded into `other` (with `folded` true). The outcome is kept, so totals by verdict and reason stay exact
however many names clients use.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tsproxy.decisions.drift import HISTOGRAM_NAME, bucket, drift_ms
from tsproxy.decisions.events import Event, batch_span_ms, collateral_records, drift_range_ms, fit
from tsproxy.decisions.key_shares import KeyShares
from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.text import bounded, bounded_or_none, instant
from tsproxy.model.addresses import counted_as
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import Bars, Outcome, Totals, VerdictName
from tsproxy.model.policy import Mode
from tsproxy.model.verdict import Reason, UnitGuess

OTHER: Final = "other"
MAX_KEYS: Final = 5_000
ADDRESSES_LISTED: Final = 8


class Key(NamedTuple):
    """The key of one `counters` event. It is a tuple, because a key is hashed for every batch."""

    listener: str
    topic: str
    client_id: str | None
    principal: str | None
    verdict: VerdictName
    reason: Reason | None
    unit_guess: UnitGuess | None
    error_code: int
    is_final: bool
    rule: str | None = None
    mode: Mode | None = None
    waiver: str | None = None
    would_reject: bool | None = None
    """True or absent, never False: the line stays short."""
    folded: bool | None = None
    """True or absent, never False: the line stays short."""


def key_of(outcome: Outcome) -> Key:
    """The key of an outcome, with bounded names."""
    return Key(
        listener=outcome.peer.listener,
        topic=bounded(outcome.topic),
        client_id=bounded_or_none(outcome.peer.client_id),
        principal=bounded_or_none(outcome.peer.principal),
        verdict=outcome.verdict,
        reason=outcome.reason,
        unit_guess=outcome.unit_guess,
        error_code=int(outcome.error_code),
        is_final=outcome.is_final,
        rule=outcome.rule,
        mode=outcome.mode,
        waiver=outcome.waiver,
        would_reject=True if outcome.would_reject else None,
    )


def key_of_totals(totals: Totals) -> Key:
    """The key of the outcomes that the totals sum up."""
    cause = totals.cause
    return Key(
        listener=totals.peer.listener,
        topic=bounded(totals.topic),
        client_id=bounded_or_none(totals.peer.client_id),
        principal=bounded_or_none(totals.peer.principal),
        verdict=totals.verdict,
        reason=cause.reason if cause else None,
        unit_guess=cause.unit_guess if cause else None,
        error_code=int(cause.error_code if cause else ErrorCode.NONE),
        is_final=True,
        rule=cause.rule if cause else None,
        mode=cause.mode if cause else None,
        would_reject=True if cause and cause.would_reject else None,
    )


def folded(key: Key) -> Key:
    """The key that replaces `key` when there are too many keys."""
    return key._replace(topic=OTHER, client_id=OTHER, principal=None, folded=True)


Histogram = dict[int, int]
"""Maps a signed bucket of `drift-v1` to its batches and records. Both are one number, because a pair would
take twice the memory, and thousands of keys have dozens of buckets each."""

_BATCH: Final = 1 << 64
"""One batch in such a number. The lower bits count the records."""


@dataclass(slots=True)
class Tally:
    """The counts of one key over one interval."""

    batches: int = 0
    records: int = 0
    bad_records: int = 0
    collateral_records: int = 0
    bytes: int = 0
    requests: int = 0
    records_unread: int = 0
    records_limits_unknown: int = 0
    first_ms: int | None = None
    last_ms: int | None = None
    drift_min_ms: int | None = None
    drift_max_ms: int | None = None
    out_of_order_records: int = 0
    out_of_order_max_ms: int | None = None
    addresses: set[str] = field(default_factory=set)
    addresses_truncated: bool | None = None
    ahead: Histogram = field(default_factory=dict)
    behind: Histogram = field(default_factory=dict)
    _last_request: object = None

    def add(self, outcome: Outcome) -> None:
        self.batches += 1
        self.records += outcome.batch.records
        self.bad_records += outcome.bad_records
        self.collateral_records += collateral_records(outcome)
        self.bytes += outcome.batch.batch_bytes
        self.records_unread += outcome.batch.records_unread
        self.records_limits_unknown += outcome.records_limits_unknown
        self._add_request(outcome)
        self.first_ms = _least(self.first_ms, outcome.now_ms)
        self.last_ms = _greatest(self.last_ms, outcome.now_ms)
        if outcome.out_of_order_max_ms is not None:
            self.out_of_order_records += outcome.out_of_order_records
            self.out_of_order_max_ms = _greatest(self.out_of_order_max_ms, outcome.out_of_order_max_ms)
        if (drift := drift_range_ms(outcome)) is not None:
            self.drift_min_ms = _least(self.drift_min_ms, drift[0])
            self.drift_max_ms = _greatest(self.drift_max_ms, drift[1])
        if (span := batch_span_ms(outcome)) is not None:
            _count(self.ahead, drift_ms(span[1], outcome.now_ms), outcome.batch.records)
            _count(self.behind, drift_ms(span[0], outcome.now_ms), outcome.batch.records)

    def add_totals(self, totals: Totals) -> None:
        """Add all outcomes that the totals sum up."""
        self.batches += totals.batches
        self.records += totals.records
        if totals.cause is not None:
            self.bad_records += totals.cause.bad_records
            if totals.verdict is VerdictName.REJECTED:
                self.collateral_records += totals.records - totals.cause.bad_records
        self.bytes += totals.bytes
        self.requests += totals.requests
        self.records_unread += totals.records_unread
        self._add_address(totals.peer.client_address)
        self.first_ms = _least(self.first_ms, totals.first_ms)
        self.last_ms = _greatest(self.last_ms, totals.last_ms)
        if totals.drift_min_ms is not None and totals.drift_max_ms is not None:
            self.drift_min_ms = _least(self.drift_min_ms, totals.drift_min_ms)
            self.drift_max_ms = _greatest(self.drift_max_ms, totals.drift_max_ms)
        _merge(self.ahead, totals.ahead)
        _merge(self.behind, totals.behind)

    def merge(self, other: "Tally") -> None:
        """Add all that the other tally counts."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in _LEAST:
            setattr(self, name, _known(min, getattr(self, name), getattr(other, name)))
        for name in _GREATEST:
            setattr(self, name, _known(max, getattr(self, name), getattr(other, name)))
        for address in sorted(other.addresses):
            self._add_address(address)
        self.addresses_truncated = self.addresses_truncated or other.addresses_truncated
        for histogram, added in ((self.ahead, other.ahead), (self.behind, other.behind)):
            for index, number in added.items():
                histogram[index] = histogram.get(index, 0) + number

    def _add_request(self, outcome: Outcome) -> None:
        """Count the request once. Its batches are booked in a row, so it is enough to know the last one."""
        if outcome.request is self._last_request:
            return
        self._last_request = outcome.request
        self.requests += 1
        self._add_address(outcome.peer.client_address)

    def _add_address(self, address: str) -> None:
        if address in self.addresses:
            return
        if len(self.addresses) < ADDRESSES_LISTED:
            self.addresses.add(address)
        else:
            self.addresses_truncated = True

    def facts(self, privacy: Privacy) -> dict[str, object]:
        """The fields of the `counters` event that come from this tally."""
        return {
            "batches": self.batches,
            "records": self.records,
            "bad_records": self.bad_records,
            "collateral_records": self.collateral_records,
            "bytes": self.bytes,
            "requests": self.requests,
            "records_unread": self.records_unread or None,
            "records_limits_unknown": self.records_limits_unknown or None,
            "first_ts": instant(self.first_ms or 0),
            "last_ts": instant(self.last_ms or 0),
            "drift_min_ms": self.drift_min_ms,
            "drift_max_ms": self.drift_max_ms,
            "out_of_order_records": self.out_of_order_records or None,
            "out_of_order_max_ms": self.out_of_order_max_ms,
            "addresses": sorted(filter(None, map(privacy.address, self.addresses))),
            "addresses_truncated": self.addresses_truncated,
            "hist": HISTOGRAM_NAME,
            "ahead": _rows(self.ahead),
            "behind": _rows(self.behind),
        }


_SUMS: Final = (
    *("batches", "records", "bad_records", "collateral_records", "bytes", "requests"),
    *("records_unread", "records_limits_unknown", "out_of_order_records"),
)
_LEAST: Final = ("first_ms", "drift_min_ms")
_GREATEST: Final = ("last_ms", "drift_max_ms", "out_of_order_max_ms")


def _known(choose: Callable[[list[int]], int], *values: int | None) -> int | None:
    """The chosen one of the values that are known; None if none is."""
    known = [value for value in values if value is not None]
    return choose(known) if known else None


def _least(known: int | None, value: int) -> int:
    return value if known is None else min(known, value)


def _greatest(known: int | None, value: int) -> int:
    return value if known is None else max(known, value)


def _count(histogram: Histogram, drift: int, records: int) -> None:
    index = bucket(drift)
    histogram[index] = histogram.get(index, 0) + _BATCH + records


def _merge(histogram: Histogram, bars: Bars) -> None:
    for index, batches, records in bars:
        histogram[index] = histogram.get(index, 0) + batches * _BATCH + records


def _rows(histogram: Histogram) -> list[list[int]]:
    return [[index, *divmod(histogram[index], _BATCH)] for index in sorted(histogram)]


class Ledger:
    """Counts outcomes under at most `max_keys` keys an interval, and further ones under folded keys."""

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self._shares: KeyShares[Key] = KeyShares(max_keys)
        self._tallies: dict[Key, Tally] = {}
        self._folded: dict[Key, Tally] = {}
        self.batches_folded = 0
        """Number of batches of the interval whose names were folded into `other`."""

    def book(self, outcome: Outcome) -> Key:
        """Count one outcome. Returns the key that it is counted under."""
        key, tally = self._tally(key_of(outcome), outcome.peer.client_address, 1)
        tally.add(outcome)
        return key

    def book_totals(self, totals: Totals) -> Key:
        """Count the outcomes that the totals sum up. Returns the key that they are counted under."""
        key, tally = self._tally(key_of_totals(totals), totals.peer.client_address, totals.batches)
        tally.add_totals(totals)
        return key

    def _tally(self, key: Key, client_address: str, batches: int) -> tuple[Key, Tally]:
        """The key under which these batches are counted, and its tally."""
        tally = self._tallies.get(key)
        if tally is not None:
            return key, tally
        address = counted_as(client_address)
        if len(self._shares) >= self._shares.most and (given_up := self._shares.give_up(address)):
            self._fold(given_up)
        if self._shares.add(key, address):
            tally = self._tallies[key] = Tally()
            return key, tally
        self.batches_folded += batches
        key = folded(key)
        return key, self._folded.setdefault(key, Tally())

    def _fold(self, key: Key) -> None:
        tally = self._tallies.pop(key)
        self.batches_folded += tally.batches
        self._folded.setdefault(folded(key), Tally()).merge(tally)

    def take(self) -> list[tuple[Key, Tally]]:
        """Return all tallies, folded ones last, and empty the ledger."""
        taken = [*self._tallies.items(), *self._folded.items()]
        self._tallies, self._folded, self._shares = {}, {}, KeyShares(self._shares.most)
        self.batches_folded = 0
        return taken


def counters(key: Key, tally: Tally, interval: Mapping[str, object], privacy: Privacy) -> Event:
    """The `counters` event of one key. `interval` has the start and the length of the interval."""
    shown = {"principal": privacy.principal(key.principal)}
    return fit({**key._asdict(), **shown, **interval, **tally.facts(privacy)})
