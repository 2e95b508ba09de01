"""Notices about rules: an allowance for a client id alone is one for everybody who calls itself so, and some
rules would take what the topic's brokers reject."""

import re
from dataclasses import fields, replace
from enum import StrEnum
from typing import get_args, get_type_hints

import pytest

from tests.config.files import SMALLEST, config_of
from tsproxy.model.kafka import TimestampType
from tsproxy.model.policy import (
    Choice,
    LimitsFrom,
    Match,
    Mode,
    NamePattern,
    Policy,
    Rule,
    RuleSettings,
    TimeLimit,
)
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.review import allowances, avoidable_rules, ineffective_rules
from tsproxy.policy.strictness import ORDER

BEFORE, AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
CLAIM = "match: { client_ids: [etl] }"


def allowed(*rules, policy="mode: enforce"):
    """(rule, what it allows) of rules that are written without their names."""
    written = ", ".join(f"{{ name: r{index}, {rule} }}" for index, rule in enumerate(rules))
    config = config_of(f"{SMALLEST}policy: {{ {policy}, rules: [{written}] }}\n")
    return [(rule.name, what) for rule, what in allowances(config.policy)]


# The tables of mistakes.md have others.
ALLOWANCES = {
    "audit": ((f"{CLAIM}, mode: audit",), "mode: audit"),
    "no limit before a rule with one": ((f"{CLAIM}", f"{AFTER}: 10s"), "a wider limit after"),
    "a wider limit": ((f"{CLAIM}, {BEFORE}: 7d", f"{BEFORE}: 1d"), "a wider limit before"),
    "of some topics": ((f"{CLAIM}", f"match: {{ topics: [orders-*] }}, {AFTER}: 10s"), "a wider limit after"),
    "of topics that the other pattern names, too": (
        (
            "match: { topics: [orders-*], client_ids: [etl] }",
            f"match: {{ topics: [orders-1] }}, {AFTER}: 10s",
        ),
        "a wider limit after",
    ),
    "no value is rejected": ((f"{CLAIM}, zero: accept", "zero: reject"), "zero: accept"),
    "a stamp in place of a repair": (
        (f"{CLAIM}, on_violation: stamp", "on_violation: repair"),
        "on_violation: stamp",
    ),
    "fewer are read": ((f"{CLAIM}, inspect: {{ compressed: adaptive }}",), "inspect.compressed: adaptive"),
    "another reading": ((f"{CLAIM}, extended_timestamps: yes",), "extended_timestamps: yes"),
    "no preset": ((CLAIM, "preset: kafka-4"), "a wider limit after"),
}


@pytest.mark.parametrize(("rules", "what"), ALLOWANCES.values(), ids=ALLOWANCES)
def test_what_a_claim_alone_allows_is_named(rules, what):
    assert allowed(*rules) == [("r0", what)]


def test_a_wider_limit_than_the_files_own_is_an_allowance():
    policy = f"limits_from: config, defaults: {{ {AFTER}: 10m }}"
    assert allowed(f"{CLAIM}, {AFTER}: 1h", policy=policy) == [("r0", "a wider limit after")]
    assert allowed(f"{CLAIM}, {AFTER}: 5m", policy=policy) == []
    assert allowed(CLAIM, policy=policy) == []


def test_of_very_many_rules_not_all_are_compared(monkeypatch):
    compared = []
    monkeypatch.setattr("tsproxy.policy.review.MAX_COMPARED", 100)
    monkeypatch.setattr("tsproxy.policy.review._may_overlap", lambda *pair: compared.append(pair))
    assert allowed(*(f"match: {{ client_ids: [c{n}] }}" for n in range(60))) == []
    assert len(compared) <= 101


NO_ALLOWANCES = {
    "proven by principal": ("match: { client_ids: [etl], principals: ['User:etl'] }, mode: off",),
    "proven by address": ("match: { client_software: [x/*], addresses: [10.0.0.0/8] }, mode: off",),
    "for all who write to a topic": ("match: { topics: [t] }, mode: off",),
    "stricter": (f"{CLAIM}, {AFTER}: 1s", f"{AFTER}: 10s"),
    "looser than nothing but the topic, which brokers hold": (f"{CLAIM}, {AFTER}: 1h",),
    "others are not looked at": (f"{CLAIM}, mode: off", "mode: off"),
    "of others nothing is rejected": (f"{CLAIM}, zero: accept", "mode: off, zero: reject"),
    "other topics": ("match: { topics: [a], client_ids: [x] }", f"match: {{ topics: [b] }}, {AFTER}: 1s"),
    "a preset that is as strict": (f"{CLAIM}, preset: kafka-4", f"{AFTER}: 1h"),
    "stored all the same": (f"{CLAIM}, no_timestamp: stamp",),
    "copies": (f"{CLAIM}, keep_both_times: yes, keep_original_time: yes", CLAIM),
    "as strict": (f"{CLAIM}, {AFTER}: 10s", f"{AFTER}: 10s", f"{AFTER}: 1s"),
}


@pytest.mark.parametrize("rules", NO_ALLOWANCES.values(), ids=NO_ALLOWANCES)
def test_what_is_proven_or_no_looser_is_no_allowance(rules):
    assert allowed(*rules) == []


def test_every_setting_has_its_order():
    """A new field of `RuleSettings` says here what one value allows and another does not."""
    assert set(ORDER) == {each.name for each in fields(RuleSettings)}


def values_of(name):
    """All values of a setting, and that it is not given."""
    [kind, *_] = get_args(get_type_hints(RuleSettings)[name])
    if kind is bool:
        return (None, True, False)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return (None, *kind)
    return (None, TimeLimit(None), TimeLimit(1), TimeLimit(2))


ORDERED = [name for name in ORDER if name not in ("custom_rules", "mode")]


@pytest.mark.parametrize("name", ORDERED)
def test_every_value_of_a_setting_has_its_place_in_the_order(name):
    """It is an order: never both of two values allow more, and of three the loosest allows more than both."""
    policy, order = Policy(), ORDER[name]
    settings = [
        replace(RuleSettings(), **{name: value})
        for value in values_of(name)
        if value is not Choice.STAMP or name == "no_timestamp"  # the keys of the others do not have it
    ]
    looser = {(one, other) for one in settings for other in settings if order(policy, one, other) is not None}
    assert not any((other, one) in looser for one, other in looser)
    assert all((one, last) in looser for one, other in looser for first, last in looser if first == other)


def avoidable(*rules):
    written = ", ".join(f"{{ name: r{index}, {rule} }}" for index, rule in enumerate(rules))
    policy = config_of(f"{SMALLEST}policy: {{ rules: [{written}] }}\n").policy
    return [(rule.name, other and other.name) for rule, other in avoidable_rules(policy)]


BY_NAME = "match: { principals: ['User:mallory'] }"


@pytest.mark.parametrize(
    "setting",
    ["zero: reject", f"{AFTER}: 1s", "preset: kafka-4"],
)
def test_a_rule_that_is_stricter_by_principal_is_avoided_without_one(setting):
    assert avoidable(f"{BY_NAME}, {setting}") == [("r0", None)]
    assert avoidable(f"{BY_NAME}, {setting}", setting) == []
    assert avoidable(f"{BY_NAME}, {setting}", setting, "mode: audit") == []


@pytest.mark.parametrize(
    "looser", ["mode: audit", "on_violation: stamp", "inspect: { compressed: adaptive }"]
)
def test_a_rule_for_everybody_that_is_looser_avoids_one_by_principal(looser):
    assert avoidable(BY_NAME, looser) == [("r0", "r1")]
    assert avoidable(f"{BY_NAME}, {looser}") == []


# -- Rules that would take what the topic's brokers reject ----------------------------------------------


KNOWN = TopicLimits(before_max_ms=100, after_max_ms=10)


def named(*names):
    return Match(topics=tuple(NamePattern(name, re.compile(name)) for name in names))


def policy(match=Match(), mode=None, before=None, after=None, **more):  # noqa: B008  # frozen
    return Policy(rules=(Rule("own", match, RuleSettings(mode=mode, before=before, after=after)),), **more)


ROWS = {
    "wider behind": (policy(before=TimeLimit(101)), KNOWN, [("before", 101, 100)]),
    "wider ahead, on the one topic it names": (
        policy(named("t"), after=TimeLimit(11)),
        KNOWN,
        [("after", 11, 10)],
    ),
    "without an end": (policy(after=TimeLimit(None)), KNOWN, [("after", None, 10)]),
    "on both sides, in audit as well": (
        policy(mode=Mode.AUDIT, before=TimeLimit(None), after=TimeLimit(99)),
        KNOWN,
        [("before", None, 100), ("after", 99, 10)],
    ),
    "as wide": (policy(before=TimeLimit(100), after=TimeLimit(10)), KNOWN, []),
    "narrower": (policy(before=TimeLimit(0), after=TimeLimit(0)), KNOWN, []),
    "for other topics": (policy(named("u"), after=TimeLimit(None)), KNOWN, []),
    "a topic without limits": (policy(after=TimeLimit(None)), TopicLimits(), []),
    "off": (policy(mode=Mode.OFF, after=TimeLimit(None)), KNOWN, []),
    "behind a rule that holds for the topic whoever the client is": (
        Policy(
            rules=(
                Rule("first", named("t"), RuleSettings(after=TimeLimit(10))),
                Rule("own", Match(), RuleSettings(after=TimeLimit(None))),
            )
        ),
        KNOWN,
        [],
    ),
    "behind a rule for some clients": (
        Policy(
            rules=(
                Rule("first", replace(named("t"), client_ids=named("app").topics), RuleSettings()),
                Rule("own", Match(), RuleSettings(after=TimeLimit(None))),
            )
        ),
        KNOWN,
        [("after", None, 10)],
    ),
    "brokers are not asked": (policy(after=TimeLimit(None), limits_from=LimitsFrom.CONFIG), KNOWN, []),
    "the broker's own time": (
        policy(after=TimeLimit(None)),
        replace(KNOWN, timestamp_type=TimestampType.LOG_APPEND_TIME),
        [],
    ),
}


@pytest.mark.parametrize(("policy", "known", "expected"), ROWS.values(), ids=ROWS)
def test_which_are_looser(policy, known, expected):
    found = ineffective_rules(policy, "t", known)
    assert [(each.side, each.rule_max_ms, each.topic_max_ms) for each in found] == expected


def test_an_internal_topic_is_for_rules_that_name_it():
    everybody, own = policy(after=TimeLimit(None)), policy(named("t-changelog"), after=TimeLimit(None))
    assert list(ineffective_rules(everybody, "t-changelog", KNOWN)) == []
    assert len(list(ineffective_rules(own, "t-changelog", KNOWN))) == 1
