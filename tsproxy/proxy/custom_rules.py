"""Measures custom rules: `CustomRuleWatch`.

A custom rule runs on the event loop, so a slow one delays all clients. The core reads no clock, so the rules
are wrapped here, before sessions get them.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Final

from tsproxy.log_events.catalogue import RULE_SLOW
from tsproxy.model.custom_rule import CustomRule, RuleContext, TimestampRule
from tsproxy.model.policy import Policy, Rule
from tsproxy.proxy.metrics.catalogue import RULE_SECONDS

SLOW_S: Final = 0.001
"""A rule is slow if its batches take longer than this on average."""

POLL_INTERVAL_S: Final = 60.0
_BUCKETS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5)


@dataclass
class _Calls:
    """The calls of one rule since the last look."""

    batches: int = 0
    seconds: float = 0.0
    longest_s: float = 0.0

    def add(self, seconds: float) -> None:
        self.batches += 1
        self.seconds += seconds
        self.longest_s = max(self.longest_s, seconds)


class CustomRuleWatch:
    """The calls of custom rules since the last look, and a histogram of all."""

    def __init__(self) -> None:
        self.histogram = RULE_SECONDS.histogram(_BUCKETS)
        self._calls: dict[str, _Calls] = {}

    def timed(self, policy: Policy) -> Policy:
        """The same policy. Each call of a custom rule is measured."""
        if not any(rule.settings.custom_rules for rule in policy.rules):
            return policy
        return replace(policy, rules=tuple(map(self._timed_rule, policy.rules)))

    def _timed_rule(self, rule: Rule) -> Rule:
        timed = tuple(replace(custom, rule=_Timed(custom, self)) for custom in rule.settings.custom_rules)
        return replace(rule, settings=replace(rule.settings, custom_rules=timed))

    def called(self, name: str, seconds: float) -> None:
        self.histogram.labels(name).observe(seconds)
        self._calls.setdefault(name, _Calls()).add(seconds)

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_INTERVAL_S)
            self.log_slow()

    def log_slow(self) -> None:
        calls, self._calls = self._calls, {}
        for name, sums in calls.items():
            if sums.seconds > SLOW_S * sums.batches:
                RULE_SLOW(
                    name=name,
                    batches=sums.batches,
                    mean_ms=round(1000 * sums.seconds / sums.batches, 3),
                    longest_ms=round(1000 * sums.longest_s, 3),
                )


class _Timed:
    """A custom rule that reports how long each call takes. Everything else is the rule's own."""

    def __init__(self, custom: CustomRule, watch: CustomRuleWatch) -> None:
        self.__wrapped__: TimestampRule = custom.rule
        self._name = custom.name
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def culprits(self, timestamps_ms: Sequence[int], context: RuleContext) -> Iterable[tuple[int, str]]:
        start_s = perf_counter()
        try:
            yield from self.__wrapped__.culprits(timestamps_ms, context)
        finally:
            self._watch.called(self._name, perf_counter() - start_s)
