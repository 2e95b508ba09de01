"""One metric: how code makes it, and how its values of several workers become one."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from enum import Enum, StrEnum
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Joined(Enum):
    """The way in which the values of several workers become one value. `words` name it in the documents."""

    words: str
    of: Callable[[float, float], float]

    def __init__(self, words: str, of: Callable[[float, float], float]) -> None:
        self.words = words
        self.of = of

    SUM = "sum", lambda one, other: one + other
    LOWEST = "lowest", min
    HIGHEST = "highest", max
    DISTINCT = "distinct", max
    """Names that several workers may have counted. `together` counts them anew, as it knows the names."""
    FARTHEST = "farthest from 0", lambda one, other: max(one, other, key=abs)


@dataclass(frozen=True, slots=True)
class Described:
    """One metric. `name` is its name in a scrape, without a histogram's `_bucket`, `_count` and `_sum`."""

    kind: Kind
    name: str
    help: str
    labels: tuple[str, ...] = ()
    _: KW_ONLY
    joined: Joined

    def counter(self, registry: CollectorRegistry) -> Counter:
        return Counter(self.name, self.help, self.labels, registry=registry)

    def gauge(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.help, self.labels, registry=registry)

    def histogram(self, buckets: tuple[float, ...]) -> Histogram:
        """A histogram that is in no registry yet."""
        return Histogram(self.name, self.help, self.labels, buckets=buckets, registry=None)

    def counts(self, value: float | None = None) -> CounterMetricFamily:
        """Values of a counter for one scrape: `value`, or none yet if the metric has labels."""
        return CounterMetricFamily(self.name, self.help, value, labels=self.labels or None)

    def levels(self, value: float | None = None) -> GaugeMetricFamily:
        """Values of a gauge for one scrape: `value`, or none yet if the metric has labels."""
        return GaugeMetricFamily(self.name, self.help, value, labels=self.labels or None)

    def buckets(self) -> HistogramMetricFamily:
        """Values of a histogram for one scrape, none yet."""
        return HistogramMetricFamily(self.name, self.help, labels=self.labels)


counter_row: Final = partial(Described, Kind.COUNTER, joined=Joined.SUM)
gauge_row: Final = partial(Described, Kind.GAUGE)
histogram_row: Final = partial(Described, Kind.HISTOGRAM, joined=Joined.SUM)
