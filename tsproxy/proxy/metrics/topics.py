"""`tsproxy_topic_bad_records_total` and `tsproxy_topic_out_of_order_records_total`: records of some kind, for
the topics with the most of them.

A topic has a series of its own if it is known to exist: a broker has described it or accepted a batch for it.
So no client makes series by inventing names. At most twice MOST_TOPICS topics have a series. Beyond that, the
topics with the fewest records lose their series, and their counts move to `other`, so that the sum stays
exact.
"""

from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.proxy.metrics.described import Described

MOST_TOPICS: Final = 50
MOST_KNOWN: Final = 50_000
OTHER: Final = "other"


class TopicMetric(Collector):
    """Counts records by topic. `exists` returns whether other parts know that a topic exists."""

    def __init__(self, described: Described, exists: Callable[[str], bool]) -> None:
        self._described = described
        self._exists = exists
        self._accepted: set[str] = set()
        self._counts: dict[str, int] = {}
        self._other = 0

    def accepted(self, topic: str) -> None:
        """A broker has accepted a batch for this topic."""
        if len(self._accepted) < MOST_KNOWN:
            self._accepted.add(topic)

    def add(self, topic: str, records: int) -> None:
        if topic == OTHER or not (topic in self._accepted or self._exists(topic)):
            self._other += records
            return
        self._counts[topic] = self._counts.get(topic, 0) + records
        if len(self._counts) > 2 * MOST_TOPICS:
            ranked = sorted(self._counts.items(), key=lambda pair: -pair[1])
            self._counts = dict(ranked[:MOST_TOPICS])
            self._other += sum(count for _, count in ranked[MOST_TOPICS:])

    def collect(self) -> Iterable[Metric]:
        family = self._described.counts()
        for topic, count in self._counts.items():
            family.add_metric([topic], count)
        family.add_metric([OTHER], self._other)
        yield family
