"""What batches that ended alike came to, since it was last asked."""

from bisect import bisect_left
from collections.abc import Sequence

from tsproxy.model.kafka import LONG_MAX
from tsproxy.model.outcome import Bars, Blame, Peer, Totals
from tsproxy.model.records import BatchFacts
from tsproxy.model.verdict import TopicLimits


class Counts:
    """`edges` are the magnitudes of `drift-v1`, ascending."""

    __slots__ = ("_ahead", "_behind", "_drifts_ms", "_edges", "_last_correlation_id", "_sums", "_times_ms")

    def __init__(self, edges: Sequence[int]) -> None:
        self._edges = edges
        self.clear()

    def clear(self) -> None:
        self._sums = [0, 0, 0, 0]  # batches, records, bytes, requests
        self._times_ms: tuple[int, int] | None = None
        self._drifts_ms: tuple[int, int] | None = None
        self._ahead: dict[int, list[int]] = {}
        self._behind: dict[int, list[int]] = {}
        self._last_correlation_id: int | None = None

    @property
    def batches(self) -> int:
        return self._sums[0]

    def add(
        self, batch: BatchFacts, correlation_id: int, now_ms: int, at_fault: tuple[int, int] | None = None
    ) -> None:
        """One batch of the request with that id; `at_fault` are the lowest and the highest bad time."""
        is_new = self._last_correlation_id != correlation_id
        self._last_correlation_id = correlation_id
        added = (1, batch.records, batch.batch_bytes, int(is_new))
        self._sums = [count + more for count, more in zip(self._sums, added, strict=True)]
        self._times_ms = _span(self._times_ms, now_ms, now_ms)
        if batch.min_timestamp_ms is None or batch.max_timestamp_ms is None:
            return
        behind, ahead = _drift_ms(batch.min_timestamp_ms, now_ms), _drift_ms(batch.max_timestamp_ms, now_ms)
        lowest, highest = (behind, ahead) if at_fault is None else [_drift_ms(t, now_ms) for t in at_fault]
        self._drifts_ms = _span(self._drifts_ms, lowest, highest)
        self._count(self._ahead, ahead, batch.records)
        self._count(self._behind, behind, batch.records)

    def take(self, peer: Peer, topic: str, limits: TopicLimits | None, blame: Blame | None = None) -> Totals:
        """All of it, which begins at nothing again."""
        batches, records, size, requests = self._sums
        first_ms, last_ms = self._times_ms or (0, 0)
        lowest, highest = self._drifts_ms or (None, None)
        totals = Totals(
            peer=peer,
            topic=topic,
            limits=limits,
            batches=batches,
            records=records,
            bytes=size,
            requests=requests,
            first_ms=first_ms,
            last_ms=last_ms,
            drift_min_ms=lowest,
            drift_max_ms=highest,
            ahead=_bars(self._ahead),
            behind=_bars(self._behind),
            blame=blame,
        )
        self.clear()
        return totals

    def _count(self, bars: dict[int, list[int]], drift_ms: int, records: int) -> None:
        bucket = bisect_left(self._edges, abs(drift_ms)) + 1 if drift_ms else 0
        bar = bars.setdefault(bucket if drift_ms > 0 else -bucket, [0, 0])
        bar[0] += 1
        bar[1] += records


def _drift_ms(timestamp_ms: int, now_ms: int) -> int:
    """Computed wide and saturated, as `decisions.drift` says."""
    return max(-LONG_MAX, min(LONG_MAX, timestamp_ms - now_ms))


def _span(known: tuple[int, int] | None, lowest: int, highest: int) -> tuple[int, int]:
    return (lowest, highest) if known is None else (min(known[0], lowest), max(known[1], highest))


def _bars(bars: dict[int, list[int]]) -> Bars:
    return tuple((bucket, batches, records) for bucket, (batches, records) in sorted(bars.items()))
