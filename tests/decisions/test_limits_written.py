"""The topics whose limits were written today: invented names take little memory, and no room from others."""

import pytest

from tests.decisions.outcomes import NOON_MS, PEER, named, outcome, rejected
from tsproxy.decisions import DecisionLog
from tsproxy.decisions.limits_written import MAX_OF_TOPIC, MAX_UNPROVEN_OF_ADDRESS, LimitsWritten
from tsproxy.decisions.totals import Totals
from tsproxy.model.verdict import TopicLimits

LIMITS = TopicLimits(after_max_ms=1)


def topics_told(log, *booked):
    lines = [line for each in booked for line in log.book(Totals.of(each))]
    return [line["topic"] for line in lines if line["event"] == "lifecycle"]


@pytest.fixture
def log():
    return DecisionLog("px", "boot", NOON_MS)


def test_a_name_that_no_topic_has_is_not_kept():
    written = LimitsWritten()
    for name in ("t" * 250, "a topic", "id:AAAA", "..", ""):
        assert not written.must_write(name, LIMITS, "10.0.0.1", exists=False)
    assert len(written) == 0


def test_invented_names_take_no_line_from_topics_that_exist(log):
    topics_told(log, *(rejected(topic=f"invented-{n}") for n in range(10_000)))
    assert topics_told(log, outcome(topic="real")) == ["real"]


def test_the_names_of_one_address_take_no_line_from_others_that_are_only_rejected(log):
    invented = topics_told(log, *(rejected(topic=f"invented-{n}") for n in range(10_000)))
    other = named(client_address="10.0.0.2")
    assert len(invented) == MAX_UNPROVEN_OF_ADDRESS
    assert topics_told(log, rejected(topic="real", peer=other)) == ["real"]


def test_a_topic_that_was_only_rejected_is_not_written_again_once_it_is_accepted(log):
    assert topics_told(log, rejected(peer=PEER), outcome(peer=PEER)) == ["orders"]


def test_clients_under_different_rules_make_no_line_for_each_batch(log):
    """Each batch that came by another rule than the last one made a line: a client that changes its client id
    wrote as many as it sent, beside the ten decisions a second."""
    by_rules = [rejected(topic="t", limits=TopicLimits(before_max_ms=n % 3)) for n in range(1_000)]
    assert topics_told(log, *by_rules) == ["t"] * 3
    assert topics_told(log, outcome(topic="t", limits=TopicLimits(before_max_ms=0))) == []
    assert topics_told(log, outcome(topic="t", limits=TopicLimits(before_max_ms=3))) == ["t"]


def test_a_topic_has_few_sets_of_limits_a_day(log):
    many = [outcome(topic="t", limits=TopicLimits(before_max_ms=n)) for n in range(2 * MAX_OF_TOPIC)]
    assert topics_told(log, *many, *many) == ["t"] * MAX_OF_TOPIC
