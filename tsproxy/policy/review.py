"""Rules of a valid policy that may surprise their author, because something else is looser or stricter.

allowances(policy)                         rules that allow more to clients that only claim a name
avoidable_rules(policy)                    rules that a client without a principal avoids
ineffective_rules(policy, topic, known)    rules that allow more than the topic, so that brokers reject it
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from tsproxy.model.kafka import TimestampType
from tsproxy.model.policy import Match, Mode, NamePattern, Policy, Rule, RuleSettings
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.resolve import may_fit_topic
from tsproxy.policy.strictness import allowance, is_wider

CLAIMS: Final = ("client_ids", "client_software")
"""The fields of `Match` that hold claims of clients (KIP-511 for software). Any client may claim the same.
The broker or a certificate proves a principal, and the connection proves an address."""
MAX_COMPARED: Final = 20_000
"""The most pairs of rules that are compared. The comparison takes 0.1 s, and a reload makes it while clients
are served."""


def claims_of(match: Match) -> tuple[str, ...]:
    """The claims of clients that `match` depends on; none if it also depends on facts that are proven."""
    if match.principals or match.addresses:
        return ()
    return tuple(name for name in CLAIMS if getattr(match, name))


def allowances(policy: Policy) -> Iterator[tuple[Rule, str]]:
    """The rules that depend on claims alone and allow more than the settings of other clients, each with the
    thing that it allows.

    A later rule that may be for the same topics, or the defaults, holds for the other clients. If there are
    very many rules, only the first ones are compared.
    """
    left = MAX_COMPARED
    for index, rule in enumerate(policy.rules):
        if not claims_of(rule.match):
            continue
        for other in _settings_without_claim(rule.match, policy.rules[index + 1 :]):
            left -= 1
            if left < 0:
                return
            what = allowance(policy, rule.settings, other) if other else None
            if what is not None:
                yield rule, what
                break


def _settings_without_claim(match: Match, later: Sequence[Rule]) -> Iterator[RuleSettings | None]:
    """The settings that a client may get if it does not claim to fit `match`. None stands for a later rule
    for other topics."""
    for rule in later:
        yield rule.settings if _may_overlap(match.topics, rule.match.topics) else None
        if rule.match == Match():
            return
    yield RuleSettings()


def _may_overlap(some: Sequence[NamePattern], others: Sequence[NamePattern]) -> bool:
    """True if one topic may fit both lists of patterns, as far as the texts of the patterns show."""
    if not some or not others:
        return True
    return any(
        one.text == other.text or one.fits(other.text) or other.fits(one.text)
        for one in some
        for other in others
    )


def avoidable_rules(policy: Policy) -> Iterator[tuple[Rule, Rule | None]]:
    """The rules by principal that are stricter than the rule which a client without a principal gets instead,
    each with that rule, or None for the defaults.

    A client without a principal fits no `principals`, whatever the pattern. So it never gets what a rule
    allows to a principal. But a stricter rule for one principal holds only while that client authenticates.
    """
    for index, rule in enumerate(policy.rules):
        if not rule.match.principals or (rule.settings.mode or policy.mode) is not Mode.ENFORCE:
            continue
        other = _rule_without_principal(rule.match, policy.rules[index + 1 :])
        if allowance(policy, other.settings if other else RuleSettings(), rule.settings) is not None:
            yield rule, other


def _rule_without_principal(match: Match, later: Sequence[Rule]) -> Rule | None:
    """The first rule of `later` that certainly fits a client that has no principal, but fits the rest of
    `match`."""
    without = replace(match, principals=())
    return next((rule for rule in later if _covers(rule.match, without)), None)


def _covers(match: Match, other: Match) -> bool:
    """True if `match` certainly fits every client and topic that `other` fits."""
    return all(getattr(match, field.name) in ((), getattr(other, field.name)) for field in fields(Match))


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
        if not may_fit_topic(rule, topic):
            continue
        if (rule.settings.mode or policy.mode) is not Mode.OFF:
            yield from _ineffective_sides(rule, known)
        if rule.match == Match(topics=rule.match.topics):
            return  # for every client, so no later rule holds for the topic


def _ineffective_sides(rule: Rule, known: TopicLimits) -> Iterator[IneffectiveRule]:
    sides = (
        ("before", rule.settings.before, known.before_max_ms),
        ("after", rule.settings.after, known.after_max_ms),
    )
    for side, limit, topic_max_ms in sides:
        if limit is not None and topic_max_ms is not None and is_wider(limit.max_ms, topic_max_ms):
            yield IneffectiveRule(rule, side, limit.max_ms, topic_max_ms)
