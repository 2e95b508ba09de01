"""`tsproxy_timestamp_drift_seconds`: the drift of the timestamps of all batches.

Each batch counts twice, with its newest timestamp (`of="newest"`) and with its oldest timestamp, since either
may be a reason to reject it. The edges are some of the edges of `drift-v1`, so that no bucket of `drift-v1`
is split between two buckets here. Behind the clock an interval of `drift-v1` is closed at its far end, so a
timestamp exactly on an edge counts as a millisecond nearer than it is.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.decisions.drift import EDGES
from tsproxy.decisions.totals import Histogram, Totals, batches_and_records
from tsproxy.proxy.metrics.catalogue import TIMESTAMP_DRIFT

NAME: Final = TIMESTAMP_DRIFT.name

_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_MAGNITUDES_MS: Final = (
    *(_SECOND, 10 * _SECOND, _MINUTE, 5 * _MINUTE),
    *(_HOUR, _DAY, 7 * _DAY, 30 * _DAY, 365 * _DAY),
)
_UPPER_MS: Final = (*(-magnitude_ms for magnitude_ms in reversed(_MAGNITUDES_MS)), 0, *_MAGNITUDES_MS)


def _highest_ms(index: int) -> int:
    if index >= 0:
        return EDGES[index - 1] if index else 0
    return -EDGES[-index - 2] if index < -1 else 0


class DriftMetric(Collector):
    def __init__(self) -> None:
        self._newest = [0] * (len(_UPPER_MS) + 1)
        self._oldest = [0] * (len(_UPPER_MS) + 1)

    def book(self, totals: Totals) -> None:
        """Count batches of any outcome. A batch without timestamps does not count."""
        _count(self._newest, totals.ahead)
        _count(self._oldest, totals.behind)

    def collect(self) -> Iterable[Metric]:
        family = TIMESTAMP_DRIFT.buckets()
        for of, counts in (("newest", self._newest), ("oldest", self._oldest)):
            below, buckets = 0, []
            for upper_ms, count in zip((*_UPPER_MS, None), counts, strict=True):
                below += count
                buckets.append(("+Inf" if upper_ms is None else str(upper_ms / 1000), below))
            family.add_metric([of], buckets, sum_value=None)
        yield family


def _count(counts: list[int], histogram: Histogram) -> None:
    for index, number in histogram.items():
        counts[bisect_left(_UPPER_MS, _highest_ms(index))] += batches_and_records(number)[0]
