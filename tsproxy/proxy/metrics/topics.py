"""Records by topic, for few topics: all others are counted as `other`, so that sums stay exact.

Each series stays in Prometheus for days, so few topics have one, and only topics that exist: no client makes
series by inventing names. A topic keeps its series, and `other` its records: a total that falls is a restart
to Prometheus, and records that move from one series to another are an increase of the other.
"""

from collections.abc import Iterable
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.proxy.metrics.described import Described

ACCEPTED: Final = Ceiling(
    "topics that brokers have accepted records for",
    most=50_000,
    most_bytes=24 << 20,
    when_full="bad records of a further topic are counted as `other`, unless brokers have described it",
    entry_bytes=A_PLACE,
)
SERIES: Final = Ceiling(
    "topics that exist, with their records of one kind",
    most=100,
    most_bytes=64 << 10,
    when_full="records of further topics are counted as `other`",
    entry_bytes=A_PLACE + 32,
    containers=2,
)
OTHER: Final = "other"


class TopicMetric(Collector):
    """Counts records by topic. The first topics have a series."""

    def __init__(self, described: Described) -> None:
        self._described = described
        self._other = 0
        self._series = Bounded[str, int](SERIES)

    def add(self, topic: str, records: int) -> None:
        if topic == OTHER or not self._series.add(topic, self._series.get(topic, 0) + records):
            self._other += records

    def collect(self) -> Iterable[Metric]:
        family = self._described.counts()
        for topic, records in self._series.items():
            family.add_metric([topic], records)
        family.add_metric([OTHER], self._other)
        yield family


class AcceptedRecords(TopicMetric):
    """Counts accepted records. `topic in` is true if a broker has accepted records for it, so it exists."""

    def __init__(self, described: Described) -> None:
        super().__init__(described)
        self._topics = Bounded[str, None](ACCEPTED)

    def __contains__(self, topic: str) -> bool:
        return topic in self._topics

    def add(self, topic: str, records: int) -> None:
        self._topics.add(topic, None)
        super().add(topic, records)
