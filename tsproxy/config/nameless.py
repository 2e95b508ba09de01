"""Notices about strict rules for principals, which a client without a principal avoids: `avoidable_rules`.

A client without a principal fits no `principals`, whatever the pattern. So it never gets what a rule allows
to a principal. But a stricter rule for one principal holds only while that client authenticates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from tsproxy.config.parsed import Parsed
from tsproxy.config.problems import Problem
from tsproxy.model.policy import Choice, Match, Mode, Policy, Rule, RuleSettings
from tsproxy.policy.claimed import SIDES, SPECIAL_TIMESTAMPS, choice_of, is_wider


def avoidable_rules(parsed: Sequence[Parsed], policy: Policy) -> Iterator[Problem]:
    """A notice for each rule by principal that is stricter than the rule for clients without a principal."""
    for index, (written, rule) in enumerate(zip(parsed, policy.rules, strict=True)):
        if not rule.match.principals:
            continue
        other = _rule_without_principal(rule.match, policy.rules[index + 1 :])
        if _is_stricter(rule.settings, other.settings if other else RuleSettings(), policy):
            what = f"{other.name} ({other.place})" if other else "what holds where no rule fits"
            text = (
                f"is stricter than {what}, which a client without a principal gets: who can come without one "
                "passes this rule by; let the rule without principals be the strict one, and allow by name"
            )
            yield written.problem(text, "match.principals")


def _rule_without_principal(match: Match, later: Sequence[Rule]) -> Rule | None:
    """The first rule of `later` that certainly fits a client that has no principal, but fits the rest of
    `match`."""
    nameless = replace(match, principals=())
    return next((rule for rule in later if _covers(rule.match, nameless)), None)


def _covers(match: Match, other: Match) -> bool:
    """True if `match` certainly fits every client and topic that `other` fits."""
    return all(
        not (own := getattr(match, each.name)) or own == getattr(other, each.name) for each in fields(Match)
    )


def _is_stricter(settings: RuleSettings, other: RuleSettings, policy: Policy) -> bool:
    """True if `settings` certainly reject something that `other` accept, as far as the file shows."""
    if (settings.mode or policy.mode) is not Mode.ENFORCE:
        return False
    if (other.mode or policy.mode) is not Mode.ENFORCE:
        return True
    if any(is_wider(policy, other, settings, side) for side in SIDES):
        return True
    choices = (
        (choice_of(policy, settings, name), choice_of(policy, other, name)) for name in SPECIAL_TIMESTAMPS
    )
    return any(own is Choice.REJECT and others is not Choice.REJECT for own, others in choices)
