"""Which rules would take what the topic's brokers reject."""

import re
from dataclasses import replace

import pytest

from tsproxy.model.kafka import TimestampType
from tsproxy.model.policy import LimitsFrom, Match, Mode, NamePattern, Policy, Rule, Span, Terms
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.looser import looser_than_topic

KNOWN = TopicLimits(before_max_ms=100, after_max_ms=10)


def named(*names):
    return Match(topics=tuple(NamePattern(name, re.compile(name)) for name in names))


def policy(match=Match(), mode=None, before=None, after=None, **more):  # noqa: B008  # frozen
    return Policy(rules=(Rule("own", match, Terms(mode=mode, before=before, after=after)),), **more)


ROWS = {
    "wider behind": (policy(before=Span(101)), KNOWN, [("before", 101, 100)]),
    "wider ahead, on the one topic it names": (
        policy(named("t"), after=Span(11)),
        KNOWN,
        [("after", 11, 10)],
    ),
    "without an end": (policy(after=Span(None)), KNOWN, [("after", None, 10)]),
    "on both sides, in audit as well": (
        policy(mode=Mode.AUDIT, before=Span(None), after=Span(99)),
        KNOWN,
        [("before", None, 100), ("after", 99, 10)],
    ),
    "as wide": (policy(before=Span(100), after=Span(10)), KNOWN, []),
    "narrower": (policy(before=Span(0), after=Span(0)), KNOWN, []),
    "for other topics": (policy(named("u"), after=Span(None)), KNOWN, []),
    "a topic without limits": (policy(after=Span(None)), TopicLimits(), []),
    "off": (policy(mode=Mode.OFF, after=Span(None)), KNOWN, []),
    "brokers are not asked": (policy(after=Span(None), limits_from=LimitsFrom.CONFIG), KNOWN, []),
    "the broker's own time": (
        policy(after=Span(None)),
        replace(KNOWN, timestamp_type=TimestampType.LOG_APPEND_TIME),
        [],
    ),
}


@pytest.mark.parametrize(("policy", "known", "expected"), ROWS.values(), ids=ROWS)
def test_which_are_looser(policy, known, expected):
    found = looser_than_topic(policy, "t", known)
    assert [(each.side, each.rule_max_ms, each.topic_max_ms) for each in found] == expected


def test_an_internal_topic_is_for_rules_that_name_it():
    everybody, own = policy(after=Span(None)), policy(named("t-changelog"), after=Span(None))
    assert list(looser_than_topic(everybody, "t-changelog", KNOWN)) == []
    assert len(list(looser_than_topic(own, "t-changelog", KNOWN))) == 1
