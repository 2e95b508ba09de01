"""Rules that have no effect because brokers accept fewer timestamps than the rules allow:
`ineffective_rules`."""

from collections.abc import Iterator
from dataclasses import dataclass

from tsproxy.model.kafka import TimestampType
from tsproxy.model.policy import Mode, Policy, Rule, TimeLimit
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.resolve import may_fit_topic


@dataclass(frozen=True, slots=True)
class IneffectiveRule:
    """A rule whose limit is wider than the topic's. `side` is `before` or `after`. A `rule_max_ms` of None is
    unlimited."""

    rule: Rule
    side: str
    rule_max_ms: int | None
    topic_max_ms: int


def ineffective_rules(policy: Policy, topic: str, known: TopicLimits) -> Iterator[IneffectiveRule]:
    """The rules that may match records of this topic and whose limit is wider than the topic's.

    The proxy forwards a record between the two limits, and the broker rejects it. This does no harm, but
    the rule does not have the effect that its author expects.
    """
    if not policy.asks_broker or known.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return
    for rule in policy.rules:
        if (rule.settings.mode or policy.mode) is Mode.OFF or not may_fit_topic(rule.match, topic):
            continue
        sides = (
            ("before", rule.settings.before, known.before_max_ms),
            ("after", rule.settings.after, known.after_max_ms),
        )
        for side, own, topic_max_ms in sides:
            if own is not None and topic_max_ms is not None and _is_wider(own, topic_max_ms):
                yield IneffectiveRule(rule, side, own.max_ms, topic_max_ms)


def _is_wider(own: TimeLimit, topic_max_ms: int) -> bool:
    return own.max_ms is None or own.max_ms > topic_max_ms
