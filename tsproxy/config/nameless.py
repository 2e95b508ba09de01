"""Notices about rules by principal that a client without a principal avoids: `passed_by_nobody`.

A client without a principal fits no `principals`, whatever the pattern. So it never gets an allowance by
principal. But a stricter rule for one principal holds only while that client authenticates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Final

from tsproxy.config.parsed import Parsed
from tsproxy.config.problems import Problem
from tsproxy.model.policy import Choice, LimitsFrom, Match, Mode, Policy, Rule, RuleSettings, TimeLimit

_CHOICES: Final = ("no_timestamp", "zero", "negative")


def passed_by_nobody(parsed: Sequence[Parsed], policy: Policy) -> Iterator[Problem]:
    """A notice for each rule by principal that is stricter than the rule for clients without a principal."""
    for index, (written, rule) in enumerate(zip(parsed, policy.rules, strict=True)):
        if not rule.match.principals:
            continue
        other = _for_nobody(rule.match, policy.rules[index + 1 :])
        if _is_stricter(rule.settings, other.settings if other else RuleSettings(), policy):
            what = f"{other.name} ({other.place})" if other else "what holds where no rule fits"
            text = (
                f"is stricter than {what}, which a client without a principal gets: who can come without one "
                "passes this rule by; let the rule without principals be the strict one, and allow by name"
            )
            yield Problem(written.place, f"{written.path}.match.principals", text)


def _for_nobody(match: Match, later: Sequence[Rule]) -> Rule | None:
    """The first of these that certainly fits a client that fits `match`, but has no principal."""
    wanted = replace(match, principals=())
    return next((rule for rule in later if _covers(rule.match, wanted)), None)


def _covers(match: Match, wanted: Match) -> bool:
    return all(
        not (own := getattr(match, each.name)) or own == getattr(wanted, each.name) for each in fields(Match)
    )


def _is_stricter(settings: RuleSettings, other: RuleSettings, policy: Policy) -> bool:
    """True if `settings` certainly reject something that `other` accept, as far as a file can tell."""
    if (settings.mode or policy.mode) is not Mode.ENFORCE:
        return False
    if (other.mode or policy.mode) is not Mode.ENFORCE:
        return True
    defaults = policy.defaults if policy.limits_from is not LimitsFrom.BROKER else RuleSettings()
    return (
        _is_narrower(settings.before or defaults.before, other.before or defaults.before)
        or _is_narrower(settings.after or defaults.after, other.after or defaults.after)
        or any(_rejects(settings, name, policy) and not _rejects(other, name, policy) for name in _CHOICES)
    )


def _is_narrower(own: TimeLimit | None, other: TimeLimit | None) -> bool:
    """A limit that is left to the topic counts as wide: if the topic's is narrow, brokers reject anyway."""
    if own is None or own.max_ms is None:
        return False
    return other is None or other.max_ms is None or own.max_ms < other.max_ms


def _rejects(settings: RuleSettings, name: str, policy: Policy) -> bool:
    chosen = getattr(settings, name) or getattr(policy.defaults, name)
    return chosen is Choice.REJECT
