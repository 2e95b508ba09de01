"""One row a topic: the bounds that a batch must keep to pass, and what passed and was accepted."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.outcome import Bars, Peer, Totals
from tsproxy.model.verdict import TopicLimits
from tsproxy.wire.kernel.passed import PassedBatch, PassedProduce

MAX_ROWS: Final = 1_000
"""Topics of one connection beyond this one take the way through the session."""


class Row:
    """What one topic allows, and its counts since the last drain."""

    __slots__ = (
        "after_max_ms",
        "ahead",
        "before_max_ms",
        "behind",
        "counts",
        "drifts_ms",
        "last_correlation_id",
        "limits",
        "times_ms",
    )

    def __init__(
        self, limits: TopicLimits | None, before_max_ms: int | None, after_max_ms: int | None
    ) -> None:
        self.limits = limits
        self.before_max_ms = before_max_ms
        self.after_max_ms = after_max_ms
        self.clear()

    def clear(self) -> None:
        self.counts = [0, 0, 0, 0]  # batches, records, bytes, requests
        self.times_ms: tuple[int, int] | None = None
        self.drifts_ms: tuple[int, int] | None = None
        self.ahead: dict[int, list[int]] = {}
        self.behind: dict[int, list[int]] = {}
        self.last_correlation_id: int | None = None

    def allows(self, lowest_ms: int | None, highest_ms: int | None, now_ms: int) -> bool:
        """True for a span inside the bounds, and for records without a time (KIP-32).

        The lowest bound stays above Long.MIN_VALUE + now, where Kafka's arithmetic begins to wrap.
        """
        if (
            lowest_ms is None
            or highest_ms is None
            or (self.before_max_ms is None and self.after_max_ms is None)
        ):
            return True
        wrapping = LONG_MIN + now_ms + 1
        lowest = wrapping if self.before_max_ms is None else max(now_ms - self.before_max_ms, wrapping)
        highest = LONG_MAX if self.after_max_ms is None else now_ms + self.after_max_ms
        return lowest <= lowest_ms and highest_ms <= highest


class Table:
    """The rows of one connection, made for one `peer` and `transactional_id`.

    Batches of more than `records_per_batch` do not pass. `edges` are the magnitudes of `drift-v1`,
    ascending. `in_flight` requests that passed by this table are not answered yet.
    """

    def __init__(
        self, peer: Peer, transactional_id: str | None, records_per_batch: int, edges: Sequence[int]
    ) -> None:
        self.peer = peer
        self.records_per_batch = records_per_batch
        self.transactional_id = transactional_id
        self.in_flight = 0
        self.rows: dict[str, Row] = {}
        self._edges = edges

    def __contains__(self, topic: str) -> bool:
        return topic in self.rows

    def add(
        self, topic: str, limits: TopicLimits | None, before_max_ms: int | None, after_max_ms: int | None
    ) -> None:
        """Let batches of `topic` pass: within the two limits, or at any time where both are None."""
        if topic not in self.rows and len(self.rows) < MAX_ROWS:
            self.rows[topic] = Row(limits, before_max_ms, after_max_ms)

    def drain(self) -> list[Totals]:
        """What was accepted since the last drain, topics in the order in which they were added."""
        totals = [self._totals(topic, row) for topic, row in self.rows.items() if row.counts[0]]
        for row in self.rows.values():
            row.clear()
        return totals

    def book(self, request: PassedProduce) -> None:
        """The broker has accepted all of it."""
        for passed in request.batches:
            self._book(self.rows[passed.topic], request, passed)

    def _book(self, row: Row, request: PassedProduce, passed: PassedBatch) -> None:
        batch, now_ms = passed.batch, request.now_ms
        is_new = row.last_correlation_id != request.correlation_id
        row.last_correlation_id = request.correlation_id
        added = (1, batch.records, batch.batch_bytes, int(is_new))
        row.counts = [count + more for count, more in zip(row.counts, added, strict=True)]
        row.times_ms = _span(row.times_ms, now_ms, now_ms)
        if batch.min_timestamp_ms is None or batch.max_timestamp_ms is None:
            return
        behind, ahead = _drift_ms(batch.min_timestamp_ms, now_ms), _drift_ms(batch.max_timestamp_ms, now_ms)
        row.drifts_ms = _span(row.drifts_ms, behind, ahead)
        self._count(row.ahead, ahead, batch.records)
        self._count(row.behind, behind, batch.records)

    def _count(self, bars: dict[int, list[int]], drift_ms: int, records: int) -> None:
        bucket = bisect_left(self._edges, abs(drift_ms)) + 1 if drift_ms else 0
        bar = bars.setdefault(bucket if drift_ms > 0 else -bucket, [0, 0])
        bar[0] += 1
        bar[1] += records

    def _totals(self, topic: str, row: Row) -> Totals:
        batches, records, size, requests = row.counts
        first_ms, last_ms = row.times_ms or (0, 0)
        lowest, highest = row.drifts_ms or (None, None)
        return Totals(
            peer=self.peer,
            topic=topic,
            limits=row.limits,
            batches=batches,
            records=records,
            bytes=size,
            requests=requests,
            first_ms=first_ms,
            last_ms=last_ms,
            drift_min_ms=lowest,
            drift_max_ms=highest,
            ahead=_bars(row.ahead),
            behind=_bars(row.behind),
        )


def _drift_ms(timestamp_ms: int, now_ms: int) -> int:
    """Computed wide and saturated, as `decisions.drift` says."""
    return max(-LONG_MAX, min(LONG_MAX, timestamp_ms - now_ms))


def _span(known: tuple[int, int] | None, lowest: int, highest: int) -> tuple[int, int]:
    return (lowest, highest) if known is None else (min(known[0], lowest), max(known[1], highest))


def _bars(bars: dict[int, list[int]]) -> Bars:
    return tuple((bucket, batches, records) for bucket, (batches, records) in sorted(bars.items()))
