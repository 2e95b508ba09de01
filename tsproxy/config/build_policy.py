"""Turns the parsed section `policy` into a `Policy`, and finds what is wrong between its keys."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from tsproxy.config.custom_rules import RuleError, load_rule
from tsproxy.config.parsed import Parsed
from tsproxy.config.problems import Problem
from tsproxy.model.custom_rule import CustomRule, OnError
from tsproxy.model.policy import (
    CANDIDATE,
    HOUR_MS,
    INTERNAL_TOPICS,
    TOPIC_LIMITS,
    Match,
    Policy,
    Preset,
    Rule,
    RuleSettings,
    TimeLimit,
    Waiver,
)
from tsproxy.policy.stream_time import STREAM_TIME_GUARD

BEFORE: Final = "message.timestamp.before.max.ms"
AFTER: Final = "message.timestamp.after.max.ms"
DIFFERENCE: Final = "message.timestamp.difference.max.ms"

_UNLIMITED: Final = TimeLimit(None)
_RESERVED: Final = frozenset({TOPIC_LIMITS, CANDIDATE, INTERNAL_TOPICS})
"""Names under which something else decides."""


def build_policy(parsed: Parsed | None, problems: list[Problem]) -> Policy | None:
    """The policy, or None where the section cannot be built; `problems` then say why."""
    if parsed is None or not isinstance(parsed["defaults"], Parsed):
        return None
    defaults = _terms(parsed["defaults"], problems, before=_UNLIMITED, after=TimeLimit(HOUR_MS))
    candidate = _candidate(parsed["candidate"], problems) if parsed["candidate"] else None
    rules = tuple(_rule(each, problems) for each in parsed["rules"] or () if each.is_sound)
    waivers = tuple(_waiver(each, problems) for each in parsed["waivers"] or () if each.is_sound)
    _check_names("rule", [(rule.name, rule.place) for rule in rules], problems)
    _check_names("waiver", [(waiver.name, waiver.place) for waiver in waivers], problems)
    if not parsed.is_sound:
        return None
    return Policy(
        mode=parsed["mode"],
        limits_from=parsed["limits_from"],
        clock_tolerance_ms=parsed["clock_tolerance"],
        defaults=defaults,
        candidate=candidate,
        rules=rules,
        waivers=waivers,
        names_unit=parsed["name_unit"],
    )


def _rule(parsed: Parsed, problems: list[Problem]) -> Rule:
    terms = _terms(parsed, problems)
    if terms.preset is not None and (terms.before or terms.after):
        text = f"has the preset {terms.preset} and limits of its own; give one of them"
        problems.append(Problem(parsed.place, parsed.path, text))
    terms = replace(terms, custom_rules=(*_guard(parsed, problems), *_own(parsed, problems)))
    return Rule(parsed["name"], _match(parsed["match"]), terms, f"{parsed.place}: {parsed.path}")


def _guard(parsed: Parsed, problems: list[Problem]) -> Iterable[CustomRule]:
    """Ours, and found as an operator's own are."""
    most_ms = parsed["max_jump_ahead"]
    if most_ms is None:
        return ()
    return _loaded(
        parsed, "max_jump_ahead", STREAM_TIME_GUARD, OnError.CLOSED, problems, max_jump_ahead_ms=most_ms
    )


def _own(parsed: Parsed, problems: list[Problem]) -> Iterable[CustomRule]:
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
    """One, or none where it cannot be had; `key` is the one that asks for it."""
    try:
        return (CustomRule(name, load_rule(name, **settings), fail),)
    except RuleError as error:
        problems.append(Problem(parsed.place, f"{parsed.path}.{key}", str(error)))
        return ()


def _waiver(parsed: Parsed, problems: list[Problem]) -> Waiver:
    match = _match(parsed["match"])
    if match == Match():
        text = "would let everything pass: name topics, client_ids, principals, addresses or client_software"
        problems.append(Problem(parsed.place, f"{parsed.path}.match", text))
    return Waiver(
        name=parsed["name"],
        match=match,
        until_ms=parsed["until"],
        owner=parsed["owner"],
        reason=parsed["reason"],
        place=f"{parsed.place}: {parsed.path}",
    )


def _match(parsed: Parsed) -> Match:
    return Match(**{name: parsed[name] for name in Match.__dataclass_fields__})


def _candidate(parsed: Parsed, problems: list[Problem]) -> RuleSettings | None:
    preset: Preset | None = parsed["preset"]
    before, after = _sides(parsed, problems)
    return RuleSettings(preset=preset, before=before, after=after) if preset or before or after else None


def _terms(
    parsed: Parsed, problems: list[Problem], before: TimeLimit | None = None, after: TimeLimit | None = None
) -> RuleSettings:
    """`before` and `after` are what holds where nothing is given."""
    given_before, given_after = _sides(parsed, problems)
    return RuleSettings(
        mode=parsed.values.get("mode"),
        preset=parsed.values.get("preset"),
        before=given_before or before,
        after=given_after or after,
        no_timestamp=parsed["no_timestamp"],
        zero=parsed["zero"],
        negative=parsed["negative"],
        extended_timestamps=parsed.values.get("extended_timestamps"),
        on_violation=parsed.values.get("on_violation"),
        keep_original_time=parsed.values.get("keep_original_time"),
        keep_both_times=parsed.values.get("keep_both_times"),
        dead_letters=parsed.values.get("dead_letters"),
    )


def _sides(parsed: Parsed, problems: list[Problem]) -> tuple[TimeLimit | None, TimeLimit | None]:
    """The two limits that are given; KIP-32's one sets both sides."""
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
