"""Turns the parsed section `policy` into a `Policy`, and finds mistakes between its keys."""

import pickle
from collections.abc import Iterable
from traceback import TracebackException
from typing import Any, Final, cast

from tsproxy.config.checks import check_names
from tsproxy.config.parsed import Parsed, make
from tsproxy.config.problems import Problem
from tsproxy.config.settings.policy import (
    AFTER,
    BEFORE,
    CANDIDATE,
    DEFAULTS,
    POLICY,
    RULE,
    WAIVER,
)
from tsproxy.model import policy
from tsproxy.model.custom_rule import ENDS_PROCESS, ENTRY_POINTS, CustomRule, OnError, TimestampRule
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
from tsproxy.model.verdict import Reason
from tsproxy.policy.custom_rules import declared_bounds


class RuleError(Exception):
    """No rule can be loaded by that name. The text says why, and lists the names that exist."""


def load_rule(name: str) -> TimestampRule:
    """The rule of that name. Raises RuleError."""
    from importlib.metadata import entry_points  # its import takes 10 ms, and few configurations name a rule

    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in points:
        known = ", ".join(sorted(points)) or "none"
        raise RuleError(
            f"{name!r} is no entry point in the group {ENTRY_POINTS} of what is installed here; "
            f"there are: {known}. Install the package that brings it where tsproxy is"
        )
    doing = "be loaded"
    try:
        loaded = points[name].load()
        rule = loaded() if isinstance(loaded, type) else loaded
        doing = "be asked for its attributes"
        complaint = _complaint(rule)
        doing = "be asked for its bounds"
        declared_bounds(rule)
        doing = "be handed to workers"
        pickle.loads(pickle.dumps(rule))  # noqa: S301  # our own bytes, as a worker reads them
    except ENDS_PROCESS:
        raise
    except BaseException as error:  # the operator's code, so any error is the operator's
        text = f"{type(error).__name__}: {TracebackException(type(error), error, None)}"
        raise RuleError(f"{points[name].value} cannot {doing}: {text}") from None
    if complaint is not None:
        raise RuleError(f"{points[name].value} {complaint}")
    return cast("TimestampRule", rule)


def _complaint(rule: Any) -> str | None:
    """Why the object is no rule; None if it is one."""
    if not callable(getattr(rule, "culprits", None)):
        return "has no method culprits(timestamps_ms, context)"
    reason = getattr(rule, "reason", Reason.CUSTOM_RULE)
    if reason not in tuple(Reason):
        return f"has the reason {reason!r}; must be one of {', '.join(Reason)}"
    return None


_UNLIMITED: Final = TimeLimit(None)
_RESERVED: Final = frozenset({TOPIC_LIMITS, policy.CANDIDATE, INTERNAL_TOPICS})
"""Names in the decision log that stand for something other than a rule."""


def build_policy(parsed: Parsed | None, problems: list[Problem]) -> Policy | None:
    """The policy, or None if the section cannot be built; `problems` then say why."""
    if parsed is None:
        return None
    rules = tuple(_rule(rule, problems) for rule in parsed["rules"] or () if rule.is_sound)
    waivers = tuple(_waiver(waiver, problems) for waiver in parsed["waivers"] or () if waiver.is_sound)
    check_names("rule", rules, problems, _RESERVED)
    check_names("waiver", waivers, problems, _RESERVED)
    if not parsed.is_sound:
        return None
    section = parsed["defaults"]
    before, after = section[BEFORE] or _UNLIMITED, section[AFTER] or TimeLimit(HOUR_MS)
    defaults = make(RuleSettings, section, DEFAULTS, before=before, after=after)
    candidate = _candidate(parsed["candidate"]) if parsed["candidate"] else None
    return make(Policy, parsed, POLICY, defaults=defaults, candidate=candidate, rules=rules, waivers=waivers)


def _rule(parsed: Parsed, problems: list[Problem]) -> Rule:
    before, after = parsed[BEFORE], parsed[AFTER]
    if parsed["preset"] is not None and (before or after):
        text = f"has the preset {parsed['preset']} and limits of its own; give one of them"
        problems.append(parsed.problem(text))
    custom = tuple(_custom_rule(parsed, problems))
    settings = make(RuleSettings, parsed, RULE, before=before, after=after, custom_rules=custom)
    return make(Rule, parsed, RULE, settings=settings)


def _custom_rule(parsed: Parsed, problems: list[Problem]) -> Iterable[CustomRule]:
    """The rule that the operator wrote, if the section names one that can be loaded."""
    name, fail = parsed["rule"], parsed["fail"]
    if name is not None:
        try:
            yield CustomRule(name, load_rule(name), fail or OnError.CLOSED)
        except RuleError as error:
            problems.append(parsed.problem(str(error), "rule"))
    elif fail is not None:
        text = "goes with rule, which is not there: say rule: NAME, or take it out"
        problems.append(parsed.problem(text, "fail"))


def _waiver(parsed: Parsed, problems: list[Problem]) -> Waiver:
    waiver = make(Waiver, parsed, WAIVER)
    if waiver.match == Match():
        text = "would let everything pass: name topics, client_ids, principals, addresses or client_software"
        problems.append(parsed.problem(text, "match"))
    return waiver


def _candidate(parsed: Parsed) -> RuleSettings | None:
    settings = make(RuleSettings, parsed, CANDIDATE, before=parsed[BEFORE], after=parsed[AFTER])
    return None if settings == RuleSettings() else settings
