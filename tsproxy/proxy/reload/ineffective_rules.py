"""Logs rules without effect: they allow more than the limits of their topics. Each is logged once."""

from collections.abc import Mapping
from typing import Final

from tsproxy.config.settings import Config
from tsproxy.config.values import bound_text
from tsproxy.log_events.catalogue.rules import RULE_INEFFECTIVE
from tsproxy.model.policy import TimeLimit
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.review import IneffectiveRule, ineffective_rules

MOST_LOGGED: Final = 100
"""The most lines for one configuration, since ten thousand topics may have the same problem."""


class IneffectiveRules:
    """Checks the rules of one configuration. A new configuration is logged anew."""

    def __init__(self, config: Config) -> None:
        self._policy = config.policy
        self._topics: Mapping[str, TopicLimits] = {}
        self._logged: set[tuple[str, str, str]] = set()

    def apply(self, config: Config) -> None:
        if config.policy != self._policy:
            self._policy, self._logged = config.policy, set()
            topics, self._topics = self._topics, {}
            self.check(topics)

    def check(self, topics: Mapping[str, TopicLimits]) -> None:
        for topic, known in topics.items():
            if self._topics.get(topic) != known:
                for found in ineffective_rules(self._policy, topic, known):
                    self._log(topic, found)
        self._topics = topics

    def _log(self, topic: str, found: IneffectiveRule) -> None:
        logged = (found.rule.name, topic, found.side)
        if logged in self._logged or len(self._logged) >= MOST_LOGGED:
            return
        self._logged.add(logged)
        RULE_INEFFECTIVE(
            rule=found.rule.name,
            place=found.rule.place,
            topic=topic,
            key=f"message.timestamp.{found.side}.max.ms",
            of_rule=bound_text(TimeLimit(found.rule_max_ms)),
            of_topic=bound_text(TimeLimit(found.topic_max_ms)),
            advice="the brokers reject what lies between: set the topic's limit, or narrow the rule's",
        )
