"""Rules and waivers whose topics the cluster does not have: told once each, when its topics are known.

A rule that never fits looks as if it held. Topics may be made later, so it is no mistake: it is said.
"""

from collections.abc import Iterator
from typing import Final

import structlog

from tsproxy.config.patterns import meant_as_regex
from tsproxy.config.settings import Config
from tsproxy.model.policy import Rule, Waiver
from tsproxy.policy.resolve import is_internal
from tsproxy.runtime.cluster import VisibleTopics
from tsproxy.runtime.reload import Commit

log = structlog.get_logger()

MOST_TOLD: Final = 100
"""Lines for one configuration."""


class UnfitRules:
    """Of one configuration; one that is replaced is told of when the topics are read again."""

    def __init__(self, config: Config) -> None:
        self._policy = config.policy
        self._seen: VisibleTopics | None = None
        self._told: set[tuple[str, str]] = set()

    def prepare(self, config: Config) -> Commit:
        """A reload; it cannot fail."""

        def commit() -> None:
            if config.policy != self._policy:
                self._policy, self._told = config.policy, set()

        return commit

    def see(self, visible: VisibleTopics | None) -> None:
        """The cluster's topics. None are seen by a user without Describe: then nothing is known of rules."""
        if visible is None or visible is self._seen or not visible.names:
            return
        self._seen = visible
        for kind, each in self._unfit(visible.names):
            if (kind, each.name) not in self._told and len(self._told) < MOST_TOLD:
                self._told.add((kind, each.name))
                _tell(kind, each, len(visible.names))

    def _unfit(self, names: tuple[str, ...]) -> Iterator[tuple[str, Rule | Waiver]]:
        named = (("rule", self._policy.rules), ("waiver", self._policy.waivers))
        for kind, several in named:
            for each in several:
                patterns = each.match.topics
                # Brokers' own topics are not among the names, and those of applications come and go.
                if not patterns or any(is_internal(pattern.text.strip("/")) for pattern in patterns):
                    continue
                if not any(pattern.fits(name) for pattern in patterns for name in names):
                    yield kind, each


def _tell(kind: str, unfit: Rule | Waiver, topics: int) -> None:
    patterns = unfit.match.topics
    hints = [text for pattern in patterns if (text := meant_as_regex(pattern)) is not None]
    log.warning(
        f"{kind}_fits_no_topic",
        **{kind: unfit.name},
        place=unfit.place,
        patterns=[pattern.text for pattern in patterns],
        topics=topics,
        advice=hints[0]
        if hints
        else "compare its match.topics with the topics that the proxy's user may describe",
    )
