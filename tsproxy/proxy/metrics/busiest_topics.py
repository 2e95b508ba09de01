"""`tsproxy_topic_records_total`: records that brokers have accepted, for the busiest topics.

A scrape has at most MOST_SHOWN topics, and all others under `other`. A topic with a series keeps it until a
topic without a series has more than twice as many records as the shown topic with the fewest records. So
series change seldom, even if there are many topics. This matters because each series stays in Prometheus for
days. The sum of all series is exact. A topic's series only counts the records since the topic is shown.
"""

from collections.abc import Iterable
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.proxy.metrics.described import Described

MOST_SHOWN: Final = 50
ACCEPTED: Final = Ceiling(
    "topics that brokers have accepted records for, with how many",
    most=50_000,
    most_bytes=24 << 20,
    when_full="records of further topics are counted as `other`",
    entry_bytes=A_PLACE + 32,
)
OTHER: Final = "other"
_AHEAD: Final = 2


class BusiestTopics(Collector):
    def __init__(self, described: Described) -> None:
        self._described = described
        self._floor = 0
        """No shown topic has fewer records."""
        self._had = Bounded[str, int](ACCEPTED)
        """All records by topic, shown or not."""
        self._other = 0
        self._shown: dict[str, int] = {}

    def __contains__(self, topic: str) -> bool:
        """True if a broker has accepted records for this topic, so it exists."""
        return topic in self._had

    def add(self, topic: str, records: int) -> None:
        """Count records that a broker has accepted."""
        had = self._had.get(topic, 0) + records
        if topic == OTHER or not self._had.add(topic, had):
            self._other += records
            return
        if topic not in self._shown and not self._make_space(had):
            self._other += records
            return
        self._shown[topic] = self._shown.get(topic, 0) + records

    def _make_space(self, had: int) -> bool:
        """True if a topic with so many records is shown. It may replace the shown topic with the fewest
        records."""
        if len(self._shown) < MOST_SHOWN:
            return True
        if had <= _AHEAD * self._floor:
            return False
        self._floor, least = min((self._had.get(topic) or 0, topic) for topic in self._shown)
        if had <= _AHEAD * self._floor:
            return False
        self._other += self._shown.pop(least)
        return True

    def collect(self) -> Iterable[Metric]:
        family = self._described.counts()
        for topic, records in self._shown.items():
            family.add_metric([topic], records)
        family.add_metric([OTHER], self._other)
        yield family
