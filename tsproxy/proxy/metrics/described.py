"""The description of one metric, for the code, the documents and the sum over workers."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from enum import Enum, StrEnum
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

FROM_START: Final = "from the start"
WITH_THE_FIRST: Final = "with the first one"


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
    FARTHEST = "farthest from 0", lambda one, other: max(one, other, key=abs)


@dataclass(frozen=True, slots=True)
class Described:
    """One metric. `name` is its name in a scrape, without a histogram's `_bucket`, `_count` and `_sum`.
    `meaning` is its HELP text. `action` is Markdown for operators: what to check, or when to alert. Links are
    as in a page of `docs`."""

    kind: Kind
    name: str
    unit: str
    meaning: str
    action: str
    labels: tuple[str, ...] = ()
    _: KW_ONLY
    joined: Joined
    appear: str = ""
    """When its series appear, if not as usual."""

    @property
    def series(self) -> str:
        """When its series appear. As usual: from the start without labels, else with the first one."""
        return self.appear or (WITH_THE_FIRST if self.labels else FROM_START)

    def counter(self, registry: CollectorRegistry) -> Counter:
        return Counter(self.name, self.meaning, self.labels, registry=registry)

    def gauge(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.meaning, self.labels, registry=registry)

    def histogram(self, buckets: tuple[float, ...]) -> Histogram:
        """A histogram that is in no registry yet."""
        return Histogram(self.name, self.meaning, self.labels, buckets=buckets, registry=None)

    def counts(self, value: float | None = None) -> CounterMetricFamily:
        """Values of a counter for one scrape: `value`, or none yet if the metric has labels."""
        return CounterMetricFamily(self.name, self.meaning, value, labels=self.labels or None)

    def levels(self, value: float | None = None) -> GaugeMetricFamily:
        """Values of a gauge for one scrape: `value`, or none yet if the metric has labels."""
        return GaugeMetricFamily(self.name, self.meaning, value, labels=self.labels or None)

    def buckets(self) -> HistogramMetricFamily:
        """Values of a histogram for one scrape, none yet."""
        return HistogramMetricFamily(self.name, self.meaning, labels=self.labels)


counter_row: Final = partial(Described, Kind.COUNTER, joined=Joined.SUM)
gauge_row: Final = partial(Described, Kind.GAUGE)
histogram_row: Final = partial(Described, Kind.HISTOGRAM, joined=Joined.SUM)
