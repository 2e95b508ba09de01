"""Custom rules as operators write them, for the genes: `RULES`, and `with_rule`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tests.session.conversation import DAY_MS, HOUR_MS
from tsproxy.model.custom_rule import CustomRule, RuleContext, TimestampRule
from tsproxy.model.policy import Match, Policy, Rule, RuleSettings

PLACE: Final = "custom"


class Reads:
    """Looks at each record, and rejects none that a client of this search sends as good."""

    def culprits(self, timestamps_ms: Sequence[int], context: RuleContext) -> Iterable[tuple[int, str]]:
        for index, time_ms in enumerate(timestamps_ms):
            if time_ms > context.now_ms + HOUR_MS:
                yield index, f"{context.topic}: {time_ms} is too far ahead"


class Bounded(Reads):
    """The same, and says so beforehand: the fast path need not call it."""

    def bounds(self) -> tuple[int | None, int | None]:
        return DAY_MS, HOUR_MS


class Rejects:
    """Rejects every record, with a text of its own for each."""

    def culprits(self, timestamps_ms: Sequence[int], context: RuleContext) -> Iterable[tuple[int, str]]:
        return ((index, f"record {index} at {time_ms}") for index, time_ms in enumerate(timestamps_ms))


class Fails:
    """Has a mistake."""

    def culprits(self, timestamps_ms: Sequence[int], context: RuleContext) -> Iterable[tuple[int, str]]:
        raise ValueError(context.topic)


RULES: Final[Mapping[str, type[TimestampRule]]] = {
    "reads": Reads,
    "bounds": Bounded,
    "rejects": Rejects,
    "fails": Fails,
}


def with_rule(policy: Policy, name: str) -> Policy:
    """The policy with a last rule for all topics that calls this custom rule. A file would name an entry
    point of an installed package, and no package brings these."""
    if name not in RULES:
        return policy
    custom = CustomRule(name, RULES[name]())
    last = Rule(PLACE, Match(), RuleSettings(custom_rules=(custom,)))
    return replace(policy, rules=(*policy.rules, last))
