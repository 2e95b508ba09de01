"""Logs rules and waivers that match no topic of the cluster, each of them once, when the topics are known.

A rule that never matches looks as if it were in force. Topics may be created later, so this is a log line,
not an error.

The comparison of a thousand rules with fifty thousand topics takes seconds, so other tasks run between any
two patterns.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from tsproxy.config.patterns import regex_advice
from tsproxy.config.settings import Config
from tsproxy.log_events.catalogue import RULE_FITS_NO_TOPIC, WAIVER_FITS_NO_TOPIC
from tsproxy.model.policy import Rule, Waiver
from tsproxy.policy.resolve import is_internal
from tsproxy.proxy.brokers.facts import VisibleTopics

MOST_LOGGED: Final = 100
"""The most lines for one configuration."""


class UnfitRules:
    """Checks the rules of one configuration. A new configuration is checked when the topics are read
    again."""

    def __init__(self, config: Config) -> None:
        self._is_new = asyncio.Event()
        self._policy = config.policy
        self._logged: set[tuple[str, str]] = set()
        self._visible: VisibleTopics | None = None

    def apply(self, config: Config) -> None:
        if config.policy != self._policy:
            self._policy, self._logged = config.policy, set()

    def check(self, visible: VisibleTopics | None) -> None:
        if visible is not None and visible is not self._visible:
            self._visible = visible
            self._is_new.set()

    async def watch(self) -> None:
        """Check the rules whenever topics were read, for ever."""
        while True:
            await self._is_new.wait()
            self._is_new.clear()
            await self.log_unfit()

    async def log_unfit(self) -> None:
        """Log each rule and waiver that matches no topic. Nothing is logged if the proxy's user sees no topic
        (without Describe)."""
        policy, logged = self._policy, self._logged
        names = self._visible.names if self._visible else ()
        for kind, several in (("rule", policy.rules), ("waiver", policy.waivers)):
            for each in several:
                if len(logged) >= MOST_LOGGED or not names:
                    return
                if (kind, each.name) not in logged and await is_unfit(each, names):
                    logged.add((kind, each.name))
                    _log_unfit(kind, each, len(names))


async def is_unfit(rule: Rule | Waiver, names: Sequence[str]) -> bool:
    """True if no topic of `names` has a name that the rule matches."""
    patterns = rule.match.topics
    # The names lack brokers' own topics, and applications create and delete their internal topics.
    if not patterns or any(is_internal(pattern.text.strip("/")) for pattern in patterns):
        return False
    for pattern in patterns:
        if any(map(pattern.fits, names)):
            return False
        await asyncio.sleep(0)
    return True


def _log_unfit(kind: str, unfit: Rule | Waiver, topics: int) -> None:
    patterns = unfit.match.topics
    hints = [text for pattern in patterns if (text := regex_advice(pattern)) is not None]
    fits_no_topic = RULE_FITS_NO_TOPIC if kind == "rule" else WAIVER_FITS_NO_TOPIC
    fits_no_topic(
        **{kind: unfit.name},
        place=unfit.place,
        patterns=[pattern.text for pattern in patterns],
        topics=topics,
        advice=hints[0]
        if hints
        else "compare its match.topics with the topics that the proxy's user may describe",
    )
