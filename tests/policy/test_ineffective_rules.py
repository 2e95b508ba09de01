"""Which rules would take what the topic's brokers reject."""

import re
from dataclasses import replace

import pytest

from tsproxy.model.kafka import TimestampType
from tsproxy.model.policy import LimitsFrom, Match, Mode, NamePattern, Policy, Rule, RuleSettings, TimeLimit
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.review import ineffective_rules

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
