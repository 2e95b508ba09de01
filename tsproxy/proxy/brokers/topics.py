"""The topics that producers write to, and the limits that result from brokers' answers about them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import structlog

from tsproxy.cluster.admin_connection import TopicAnswer
from tsproxy.cluster.topic_limits import topic_limits
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.verdict import TopicLimits
from tsproxy.proxy.brokers.limits import (
    Difference,
    Given,
    Own,
    Together,
    differences,
    examples,
    given_by,
    own_of,
    together,
)

log = structlog.get_logger()

FIRST_RETRY_MS: Final = 250
MAX_TOPICS: Final = 50_000
MAX_ABSENT: Final = 1_000
"""The most names without a topic that are queried again. Beyond this, the oldest ones are forgotten."""
MOST_LOGGED: Final = 100
"""The most log lines about brokers that differ, since ten thousand topics may have the same differences."""


class Topics:
    def __init__(self) -> None:
        self.absent: dict[str, None] = {}
        """Topics without limits, because they do not exist or their limits cannot be read. They are queried
        again."""
        self.new: dict[str, None] = {}
        """Topics that no broker was queried for yet."""
        self.retry_ms = FIRST_RETRY_MS
        """How long to wait before absent topics are queried again."""
        self._differences: set[tuple[str, str, str]] = set()
        self._given = Given({}, frozenset(), frozenset())
        """The values of the broker on whose connection topics are read."""
        self._logged: set[tuple[str, str]] = set()
        self._owns: dict[str, Own] = {}

    @property
    def names(self) -> list[str]:
        """All topics."""
        return [*self._owns, *self.new, *self.absent]

    @property
    def examples(self) -> tuple[str, ...]:
        """A few topics whose descriptions show all values of a broker that matter."""
        return examples(self._owns)

    def back_off(self, most_ms: int) -> None:
        """Double the wait for absent topics, which were queried now."""
        self.retry_ms = min(2 * self.retry_ms, most_ms)

    def update(self, answers: Sequence[TopicAnswer]) -> None:
        """Store the answers of one broker."""
        for answer in answers:
            self.new.pop(answer.topic, None)
            self._update(answer)
        self._given = given_by(answers) or self._given

    def _update(self, answer: TopicAnswer) -> None:
        """Store one topic's answer, or keep the topic for another query."""
        if answer.error_code == ErrorCode.NONE:
            try:
                topic_limits(answer.settings)
            except ValueError as error:
                self._log_once("topic_limits_not_understood", answer.topic, error=str(error))
            else:
                self._owns[answer.topic] = own_of(answer)
                self.absent.pop(answer.topic, None)
                return
        elif answer.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            # The known limits stay in force: a lost permission must not end enforcement.
            self._log_once("topic_limits_denied", answer.topic, needs="DescribeConfigs on the topic")
        elif answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self._owns.pop(answer.topic, None)
        if answer.topic not in self._owns and answer.topic not in self.absent:
            self.absent[answer.topic] = None
            self.retry_ms = FIRST_RETRY_MS
            if len(self.absent) > MAX_ABSENT:
                self.absent.pop(next(iter(self.absent)))

    def limits(
        self, brokers: Mapping[int, Given | None]
    ) -> tuple[Mapping[str, TopicLimits], Mapping[str, TopicLimits]]:
        """The limits in force by topic, and the same as a 4.x broker would compute them. `brokers` has the
        values of each broker by node id, None for a broker without an answer."""
        found = dict[Own, tuple[Together, list[Difference]] | None]()
        limits, on_kafka_4 = dict[str, TopicLimits](), dict[str, TopicLimits]()
        for topic, own in self._owns.items():
            if own not in found:
                known = self._together(own, brokers)
                found[own] = None if known is None else (known, list(differences(known)))
            if (both := found[own]) is not None:
                limits[topic], on_kafka_4[topic] = both[0].limits, both[0].on_kafka_4
                self._log_differences(topic, both[1])
        return MappingProxyType(limits), MappingProxyType(on_kafka_4)

    def _together(self, own: Own, brokers: Mapping[int, Given | None]) -> Together | None:
        """The limits, or None if the value of some broker is not understood."""
        try:
            return together(own, self._given, brokers)
        except ValueError as error:
            self._log_once("broker_limits_not_understood", "", error=str(error))
            return None

    def _log_differences(self, topic: str, found: Sequence[Difference]) -> None:
        for each in found:
            difference = (topic, each.key, str(each.by_node))
            if difference not in self._differences and len(self._differences) < MOST_LOGGED:
                self._differences.add(difference)
                log.warning(
                    "topic_limits_differ",
                    topic=topic,
                    key=each.key,
                    brokers={str(node_id): value for node_id, value in each.by_node.items()},
                    here=each.here,
                    advice="the loosest holds here, leaders reject the rest themselves; "
                    "set it on the topic, or give all brokers the same",
                )

    def _log_once(self, event: str, topic: str, **facts: object) -> None:
        if (event, topic) not in self._logged and len(self._logged) < MAX_TOPICS:
            self._logged.add((event, topic))
            log.warning(event, topic=topic, **facts)
