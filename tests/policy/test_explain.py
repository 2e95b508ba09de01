"""The explanation of one timestamp: what the candidate would say, and what a custom rule gets to see."""

import re

import pytest

from tests.policy.verdicts import HOUR_MS, LIMITS, NOW_MS
from tests.session.conversation import PEER
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.policy import (
    Match,
    Mode,
    NamePattern,
    OnViolation,
    Policy,
    Rule,
    RuleSettings,
    TimeLimit,
    Waiver,
)
from tsproxy.model.verdict import Reason
from tsproxy.policy.explain import explain

CANDIDATE = RuleSettings(after=TimeLimit(1000))


def explained(timestamp_ms, policy, **more):
    return explain(policy, PEER, "t", timestamp_ms, now_ms=NOW_MS, known=LIMITS, on_kafka_4=LIMITS, **more)


def test_bit_6_of_the_batch_is_told_of():
    assert "bit 6" in explained(NOW_MS, Policy(), has_bit_6=True).rejection.detail
    assert explained(NOW_MS, Policy()).rejection is None


@pytest.mark.parametrize(
    ("timestamp_ms", "rejection", "candidate"),
    [
        (NOW_MS + 1000, None, None),
        (NOW_MS + 1001, None, Reason.TOO_FAR_AHEAD),
        (NOW_MS + HOUR_MS, None, Reason.TOO_FAR_AHEAD),
        (NOW_MS + HOUR_MS + 1, Reason.TOO_FAR_AHEAD, None),
    ],
)
def test_the_candidate_is_asked_about_a_time_that_the_limits_accept(timestamp_ms, rejection, candidate):
    found = explained(timestamp_ms, Policy(candidate=CANDIDATE))
    reasons = [each and each.reason for each in (found.rejection, found.candidate)]
    assert reasons == [rejection, candidate]
    assert found.is_candidate_asked == (rejection is None)


def test_where_nothing_is_judged_nothing_would_be_rejected():
    found = explained(NOW_MS + 2 * HOUR_MS, Policy(mode=Mode.OFF, candidate=CANDIDATE))
    assert (found.rejection, found.candidate, found.is_forwarded) == (None, None, True)
    assert not found.is_candidate_asked
    assert found.repaired_ms is None


@pytest.mark.parametrize(("aside_ms", "repaired_ms"), [(HOUR_MS, None), (HOUR_MS + 1, NOW_MS)])
def test_a_time_that_its_rule_repairs_is_forwarded_as_another(aside_ms, repaired_ms):
    stamps = RuleSettings(on_violation=OnViolation.STAMP)
    found = explained(NOW_MS + aside_ms, Policy(rules=(Rule("own", Match(), stamps),)))
    assert (found.repaired_ms, found.is_forwarded) == (repaired_ms, True)


def test_the_waiver_is_the_topics():
    waivers = [
        Waiver(text, Match(topics=(NamePattern(text, re.compile(text)),)), NOW_MS + 1, "platform", "OPS-1")
        for text in ("other", "t")
    ]
    found = explained(NOW_MS + 2 * HOUR_MS, Policy(waivers=tuple(waivers)))
    assert (found.waiver, found.is_forwarded) == (waivers[1], True)


class NamesItsPartition:
    """A rule of an operator's own."""

    def culprits(self, timestamps_ms, context):
        return [(0, f"{context.topic}-{context.partition}")]


def test_a_custom_rule_sees_partition_0():
    rule = RuleSettings(custom_rules=(CustomRule("own", NamesItsPartition()),))
    found = explained(NOW_MS, Policy(rules=(Rule("own", Match(), rule),)))
    assert [each.message for each in found.rejection.violations] == ["t-0"]
