"""`tsproxy_request_seconds` and `tsproxy_upstream_seconds`: histograms by API for a sample of requests."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from prometheus_client.metrics_core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from tsproxy.proxy.metrics.catalogue.latency import REQUEST_SECONDS, UPSTREAM_SECONDS

INSIDE: Final = REQUEST_SECONDS.name
UPSTREAM: Final = UPSTREAM_SECONDS.name

_UPPER_US: Final = (
    *(20, 50, 100, 200, 500),
    *(1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000),
    *(1_000_000, 2_000_000, 5_000_000, 10_000_000, 30_000_000),
)


class _Histogram:
    __slots__ = ("counts", "sum_us")

    def __init__(self) -> None:
        self.counts = [0] * (len(_UPPER_US) + 1)
        self.sum_us = 0

    def observe(self, time_us: int) -> None:
        self.counts[bisect_left(_UPPER_US, time_us)] += 1
        self.sum_us += time_us

    def add_to(self, family: HistogramMetricFamily, api: str) -> None:
        below, buckets = 0, []
        for upper_us, count in zip((*_UPPER_US, None), self.counts, strict=True):
            below += count
            buckets.append(("+Inf" if upper_us is None else str(upper_us / 1e6), below))
        family.add_metric([api], buckets, sum_value=self.sum_us / 1e6)


class Timings(Collector):
    """The histograms of one process."""

    def __init__(self) -> None:
        self._inside: dict[str, _Histogram] = {}
        self._upstream: dict[str, _Histogram] = {}

    def took(self, api: str, inside_us: int, upstream_us: int | None) -> None:
        """Count a request with its time here and its time at the broker. `upstream_us` is None if the request
        was answered here."""
        self._inside.setdefault(api, _Histogram()).observe(inside_us)
        if upstream_us is not None:
            self._upstream.setdefault(api, _Histogram()).observe(upstream_us)

    def collect(self) -> Iterable[Metric]:
        for described, histograms in ((REQUEST_SECONDS, self._inside), (UPSTREAM_SECONDS, self._upstream)):
            family = described.buckets()
            for api, histogram in histograms.items():
                histogram.add_to(family, api)
            yield family
