"""Logs rules without effect: they allow more than the limits of their topics. Each is logged once.

To compare hundreds of rules with twenty thousand topics takes seconds, and all topics change together when a
broker's own limits do. So other tasks run between any two topics.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from tsproxy.config.settings import Config
from tsproxy.config.values import bound_text
from tsproxy.log_events.catalogue import RULE_INEFFECTIVE
from tsproxy.model.policy import TimeLimit
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.review import IneffectiveRule, ineffective_rules

MOST_LOGGED: Final = 100
"""The most lines for one configuration, since ten thousand topics may have the same problem."""


_UNCHANGED_A_TURN: Final = 1_000


class IneffectiveRules:
    """Checks the rules of one configuration. A new configuration is logged anew."""

    def __init__(self, config: Config) -> None:
        self._has_changed = asyncio.Event()
        self._policy = config.policy
        self._topics: Mapping[str, TopicLimits] = {}
        self._compared: Mapping[str, TopicLimits] = {}
        """The topics that the rules were compared with last."""
        self._logged: set[tuple[str, str, str]] = set()

    def apply(self, config: Config) -> None:
        if config.policy != self._policy:
            self._policy, self._logged, self._compared = config.policy, set(), {}
            self._has_changed.set()

    def check(self, topics: Mapping[str, TopicLimits]) -> None:
        self._topics = topics
        self._has_changed.set()

    async def watch(self) -> None:
        """Check the rules whenever topics or rules have changed, for ever."""
        while True:
            await self._has_changed.wait()
            self._has_changed.clear()
            await self.log_ineffective()

    async def log_ineffective(self) -> None:
        """Log each rule that has no effect on some topic. Ends early when the rules change."""
        policy, topics, compared = self._policy, self._topics, self._compared
        self._compared = topics
        for number, (topic, known) in enumerate(topics.items()):
            is_new = compared.get(topic) != known
            if is_new:
                for found in ineffective_rules(policy, topic, known):
                    self._log(topic, found)
            if is_new or number % _UNCHANGED_A_TURN == 0:
                await asyncio.sleep(0)
            if policy is not self._policy or len(self._logged) >= MOST_LOGGED:
                return

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
