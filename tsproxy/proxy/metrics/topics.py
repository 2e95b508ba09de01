"""Records by topic, for few topics: all others are counted as `other`, so that sums stay exact.

Each series stays in Prometheus for days, so few topics have one, and only topics that exist: no client makes
series by inventing names.

    BusiestTopics   `tsproxy_topic_records_total`: series change seldom, whichever topics are busy
    TopicMetric     topics with bad or out-of-order records: a topic has a series from its first one on
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.proxy.metrics.described import Described

MAX_SHOWN: Final = 50
ACCEPTED: Final = Ceiling(
    "topics that brokers have accepted records for, with how many",
    most=50_000,
    most_bytes=24 << 20,
    when_full="records of further topics are counted as `other`",
    entry_bytes=A_PLACE + 32,
)
SERIES: Final = Ceiling(
    "topics that exist, with their records of one kind",
    most=2 * MAX_SHOWN,
    most_bytes=64 << 10,
    when_full=f"all but the {MAX_SHOWN} with the most records are counted as `other`",
    entry_bytes=A_PLACE + 32,
    containers=2,
)
OTHER: Final = "other"
_AHEAD: Final = 2


class _Series(Collector):
    """`shown`: the records of each topic with a series of its own."""

    def __init__(self, described: Described, shown: Mapping[str, int]) -> None:
        self._described = described
        self._other = 0
        self._series = shown

    def collect(self) -> Iterable[Metric]:
        family = self._described.counts()
        for topic, records in self._series.items():
            family.add_metric([topic], records)
        family.add_metric([OTHER], self._other)
        yield family


class BusiestTopics(_Series):
    """Counts accepted records, for at most MAX_SHOWN topics. A topic with a series keeps it until a topic
    without a series has more than twice as many records as the shown topic with the fewest records. A topic's
    series only counts the records since the topic is shown."""

    def __init__(self, described: Described) -> None:
        self._shown: dict[str, int] = {}
        super().__init__(described, self._shown)
        self._floor = 0
        """No shown topic has fewer records."""
        self._had = Bounded[str, int](ACCEPTED)
        """All records by topic, shown or not."""

    def __contains__(self, topic: str) -> bool:
        """True if a broker has accepted records for this topic, so it exists."""
        return topic in self._had

    def add(self, topic: str, records: int) -> None:
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
        if len(self._shown) < MAX_SHOWN:
            return True
        if had <= _AHEAD * self._floor:
            return False
        self._floor, least = min((self._had.get(topic) or 0, topic) for topic in self._shown)
        if had <= _AHEAD * self._floor:
            return False
        self._other += self._shown.pop(least)
        return True


class TopicMetric(_Series):
    """Counts records by topic. `exists` returns whether a topic is known to exist: a broker has described it
    or accepted a batch for it. Beyond `SERIES`, all but the MAX_SHOWN topics with the most records lose
    their series."""

    def __init__(self, described: Described, exists: Callable[[str], bool]) -> None:
        self._counts = Bounded[str, int](SERIES)
        super().__init__(described, self._counts)
        self._exists = exists

    def add(self, topic: str, records: int) -> None:
        if topic == OTHER or not self._exists(topic):
            self._other += records
            return
        count = self._counts.get(topic, 0) + records
        if self._counts.add(topic, count):
            return
        ranked = sorted([*self._counts.items(), (topic, count)], key=lambda pair: -pair[1])
        self._counts.clear()
        for kept in ranked[:MAX_SHOWN]:
            self._counts.add(*kept)
        self._other += sum(count for _, count in ranked[MAX_SHOWN:])
