"""Turns the parsed section `policy` into a `Policy`, and finds what is wrong between its keys."""

from collections.abc import Iterable
from typing import Final

from tsproxy.config.custom_rules import RuleError, load_rule
from tsproxy.config.parsed import Parsed, make
from tsproxy.config.problems import Problem
from tsproxy.config.settings.policy import (
    AFTER,
    BEFORE,
    CANDIDATE,
    DEFAULTS,
    DIFFERENCE,
    POLICY,
    RULE,
    WAIVER,
)
from tsproxy.model import policy
from tsproxy.model.custom_rule import CustomRule, OnError
from tsproxy.model.policy import (
    HOUR_MS,
    INTERNAL_TOPICS,
    TOPIC_LIMITS,
    Match,
    Policy,
    Rule,
    RuleSettings,
    TimeLimit,
    Waiver,
)
from tsproxy.policy.stream_time import STREAM_TIME_GUARD

_UNLIMITED: Final = TimeLimit(None)
_RESERVED: Final = frozenset({TOPIC_LIMITS, policy.CANDIDATE, INTERNAL_TOPICS})
"""Names in the decision log that stand for something other than a rule."""


def build_policy(parsed: Parsed | None, problems: list[Problem]) -> Policy | None:
    """The policy, or None where the section cannot be built; `problems` then say why."""
    if parsed is None or not isinstance(parsed["defaults"], Parsed):
        return None
    before, after = _limits(parsed["defaults"], problems)
    defaults = make(
        RuleSettings,
        parsed["defaults"],
        DEFAULTS,
        before=before or _UNLIMITED,
        after=after or TimeLimit(HOUR_MS),
    )
    candidate = _candidate(parsed["candidate"], problems) if parsed["candidate"] else None
    rules = tuple(_rule(each, problems) for each in parsed["rules"] or () if each.is_sound)
    waivers = tuple(_waiver(each, problems) for each in parsed["waivers"] or () if each.is_sound)
    _check_names("rule", [(rule.name, rule.place) for rule in rules], problems)
    _check_names("waiver", [(waiver.name, waiver.place) for waiver in waivers], problems)
    if not parsed.is_sound:
        return None
    return make(Policy, parsed, POLICY, defaults=defaults, candidate=candidate, rules=rules, waivers=waivers)


def _rule(parsed: Parsed, problems: list[Problem]) -> Rule:
    before, after = _limits(parsed, problems)
    if parsed["preset"] is not None and (before or after):
        text = f"has the preset {parsed['preset']} and limits of its own; give one of them"
        problems.append(Problem(parsed.place, parsed.path, text))
    own = (*_guard(parsed, problems), *_custom(parsed, problems))
    settings = make(RuleSettings, parsed, RULE, before=before, after=after, custom_rules=own)
    return make(Rule, parsed, RULE, settings=settings)


def _guard(parsed: Parsed, problems: list[Problem]) -> Iterable[CustomRule]:
    """The stream time rule is tsproxy's, and is loaded as custom rules are."""
    most_ms = parsed["max_jump_ahead"]
    if most_ms is None:
        return ()
    return _loaded(
        parsed, "max_jump_ahead", STREAM_TIME_GUARD, OnError.CLOSED, problems, max_jump_ahead_ms=most_ms
    )


def _custom(parsed: Parsed, problems: list[Problem]) -> Iterable[CustomRule]:
    name, fail = parsed["rule"], parsed["fail"]
    if name == STREAM_TIME_GUARD:
        text = "is tsproxy's own; say max_jump_ahead: 10m instead"
        problems.append(Problem(parsed.place, f"{parsed.path}.rule", f"{name!r} {text}"))
        return ()
    if name is not None:
        return _loaded(parsed, "rule", name, fail or OnError.CLOSED, problems)
    if fail is not None:
        text = "goes with rule, which is not there: say rule: NAME, or take it out"
        problems.append(Problem(parsed.place, f"{parsed.path}.fail", text))
    return ()


def _loaded(
    parsed: Parsed, key: str, name: str, fail: OnError, problems: list[Problem], **settings: object
) -> Iterable[CustomRule]:
    """One rule, or none if it cannot be loaded; `key` is the key that names it."""
    try:
        return (CustomRule(name, load_rule(name, **settings), fail),)
    except RuleError as error:
        problems.append(Problem(parsed.place, f"{parsed.path}.{key}", str(error)))
        return ()


def _waiver(parsed: Parsed, problems: list[Problem]) -> Waiver:
    waiver = make(Waiver, parsed, WAIVER)
    if waiver.match == Match():
        text = "would let everything pass: name topics, client_ids, principals, addresses or client_software"
        problems.append(Problem(parsed.place, f"{parsed.path}.match", text))
    return waiver


def _candidate(parsed: Parsed, problems: list[Problem]) -> RuleSettings | None:
    before, after = _limits(parsed, problems)
    settings = make(RuleSettings, parsed, CANDIDATE, before=before, after=after)
    return None if settings == RuleSettings() else settings


def _limits(parsed: Parsed, problems: list[Problem]) -> tuple[TimeLimit | None, TimeLimit | None]:
    """The two limits that are given, before and after; KIP-32's one sets both."""
    before, after, difference = (parsed[name] for name in (BEFORE, AFTER, DIFFERENCE))
    if difference is not None and (before is not None or after is not None):
        text = f"sets both sides: give it alone, or {BEFORE} and {AFTER}"
        problems.append(Problem(parsed.place, f"{parsed.path}.{DIFFERENCE}", text))
    return before or difference, after or difference


def _check_names(what: str, named: Iterable[tuple[str, str]], problems: list[Problem]) -> None:
    seen: dict[str, str] = {}
    for name, place in named:
        if name in _RESERVED:
            problems.append(Problem("", f"{place}.name", f"{name!r} is tsproxy's own; take another"))
        elif name in seen:
            text = f"the name {name!r} is taken by {seen[name]}; each {what} needs its own"
            problems.append(Problem("", f"{place}.name", text))
        seen.setdefault(name, place)
