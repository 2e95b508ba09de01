"""`tsproxy_topic_bad_records_total` and `tsproxy_topic_out_of_order_records_total`: records of some kind, for
the topics with the most of them.

A topic has a series of its own if it is known to exist: a broker has described it or accepted a batch for it.
So no client makes series by inventing names. At most twice MOST_TOPICS topics have a series (`SERIES`).
Beyond that, the topics with the fewest records lose their series, and their counts move to `other`, so that
the sum stays exact.
"""

from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.proxy.metrics.described import Described

MOST_TOPICS: Final = 50
SERIES: Final = Ceiling(
    "topics that exist, with their records of one kind",
    most=2 * MOST_TOPICS,
    most_bytes=64 << 10,
    when_full=f"all but the {MOST_TOPICS} with the most records are counted as `other`",
    entry_bytes=A_PLACE + 32,
    containers=2,
)
OTHER: Final = "other"


class TopicMetric(Collector):
    """Counts records by topic. `exists` returns whether a topic is known to exist."""

    def __init__(self, described: Described, exists: Callable[[str], bool]) -> None:
        self._described = described
        self._exists = exists
        self._counts = Bounded[str, int](SERIES)
        self._other = 0

    def add(self, topic: str, records: int) -> None:
        if topic == OTHER or not self._exists(topic):
            self._other += records
            return
        count = self._counts.get(topic, 0) + records
        if self._counts.add(topic, count):
            return
        ranked = sorted([*self._counts.items(), (topic, count)], key=lambda pair: -pair[1])
        self._counts.clear()
        for kept in ranked[:MOST_TOPICS]:
            self._counts.add(*kept)
        self._other += sum(count for _, count in ranked[MOST_TOPICS:])

    def collect(self) -> Iterable[Metric]:
        family = self._described.counts()
        for topic, count in self._counts.items():
            family.add_metric([topic], count)
        family.add_metric([OTHER], self._other)
        yield family
