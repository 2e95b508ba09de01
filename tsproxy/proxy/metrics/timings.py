"""Histograms by API for a sample of requests, and by broker for the same sample and for new connections."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from prometheus_client.metrics_core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from tsproxy.model.kafka import ApiKey
from tsproxy.proxy.metrics.catalogue import (
    BROKER_CONNECT_SECONDS,
    BROKER_PRODUCE_SECONDS,
    REQUEST_SECONDS,
    UPSTREAM_SECONDS,
)
from tsproxy.wire.apis import APIS

UPSTREAM: Final = UPSTREAM_SECONDS.name
PRODUCE: Final = BROKER_PRODUCE_SECONDS.name

_UPPER_US: Final = (
    *(20, 50, 100, 200, 500),
    *(1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000),
    *(1_000_000, 2_000_000, 5_000_000, 10_000_000, 30_000_000),
)
_BY_BROKER_US: Final = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
"""Fewer, since there may be hundreds of brokers."""


class _Histogram:
    __slots__ = ("counts", "sum_us", "upper_us")

    def __init__(self, upper_us: tuple[int, ...] = _UPPER_US) -> None:
        self.counts = [0] * (len(upper_us) + 1)
        self.sum_us = 0
        self.upper_us = upper_us

    def observe(self, time_us: int) -> None:
        self.counts[bisect_left(self.upper_us, time_us)] += 1
        self.sum_us += time_us

    def add_to(self, family: HistogramMetricFamily, label: str) -> None:
        below, buckets = 0, []
        for upper_us, count in zip((*self.upper_us, None), self.counts, strict=True):
            below += count
            buckets.append(("+Inf" if upper_us is None else str(upper_us / 1e6), below))
        family.add_metric([label], buckets, sum_value=self.sum_us / 1e6)


_PRODUCE_API: Final = APIS[ApiKey.PRODUCE].name


class Timings(Collector):
    """The histograms of one process."""

    def __init__(self) -> None:
        self._inside: dict[str, _Histogram] = {}
        self._upstream: dict[str, _Histogram] = {}
        self._connects: dict[str, _Histogram] = {}
        self._produces: dict[str, _Histogram] = {}

    def took(self, api: str, broker: str, inside_us: int, upstream_us: int | None) -> None:
        """Count a request with its time here and its time at the broker. `upstream_us` is None if the request
        was answered here."""
        self._inside.setdefault(api, _Histogram()).observe(inside_us)
        if upstream_us is not None:
            self._upstream.setdefault(api, _Histogram()).observe(upstream_us)
            if api == _PRODUCE_API:
                self._produces.setdefault(broker, _Histogram(_BY_BROKER_US)).observe(upstream_us)

    def connected(self, broker: str, time_us: int) -> None:
        self._connects.setdefault(broker, _Histogram(_BY_BROKER_US)).observe(time_us)

    def collect(self) -> Iterable[Metric]:
        for described, histograms in (
            (REQUEST_SECONDS, self._inside),
            (UPSTREAM_SECONDS, self._upstream),
            (BROKER_CONNECT_SECONDS, self._connects),
            (BROKER_PRODUCE_SECONDS, self._produces),
        ):
            family = described.buckets()
            for label, histogram in histograms.items():
                histogram.add_to(family, label)
            yield family
