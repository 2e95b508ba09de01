"""Topics that only brokers write: `__consumer_offsets` and the like. Everybody else gets a broker's error 17.

KafkaApis.scala#handleProduceRequest, ReplicaManager.scala#appendToLocalLog, Topic.java#isInternal.
"""

import re
from dataclasses import replace

import pytest

from tests.policy.verdicts import HOUR_MS, LIMITS, NOW_MS, judged
from tests.session.conversation import PEER
from tests.wire.batches import batch
from tsproxy.model.kafka import TOPICS_OF_BROKERS, ErrorCode
from tsproxy.model.policy import (
    INTERNAL_TOPICS,
    Match,
    Mode,
    NamePattern,
    Policy,
    Rule,
    RuleSettings,
    Waiver,
)
from tsproxy.model.verdict import Accept, Reject
from tsproxy.policy.fast_path import fast_path_bounds
from tsproxy.policy.resolve import is_internal, resolve

OFFSETS = "__consumer_offsets"
GOOD, BAD = batch([NOW_MS]), batch([NOW_MS + 2 * HOUR_MS])
TWO_BATCHES = GOOD * 2
NAMED = Match(topics=(NamePattern("__*", re.compile("__.*")),))


def resolved(policy, topic=OFFSETS, peer=PEER):
    return resolve(policy, peer, topic, LIMITS, None, NOW_MS)


def test_they_are_the_three_that_brokers_call_internal():
    assert {OFFSETS, "__transaction_state", "__share_group_state"} == TOPICS_OF_BROKERS
    assert all(map(is_internal, TOPICS_OF_BROKERS))


@pytest.mark.parametrize("version", [0, 2, 3, 9, 13])
@pytest.mark.parametrize("records", [GOOD, BAD])
@pytest.mark.parametrize("topic", sorted(TOPICS_OF_BROKERS))
def test_nobody_may_write_them_whatever_the_records(topic, records, version):
    found = judged(records, topic=topic, version=version).verdict

    assert (found.error_code, found.error_message, found.violations) == (17, None, ())
    assert found.detail == f"Cannot append to internal topic {topic}"


@pytest.mark.parametrize(
    ("records", "acks", "code"),
    [
        (None, -1, ErrorCode.INVALID_RECORD),
        (TWO_BATCHES, -1, ErrorCode.INVALID_RECORD),
        (GOOD, 2, ErrorCode.INVALID_REQUIRED_ACKS),
        (GOOD[:-1] + b"?", -1, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
    ids=["null", "two batches", "acks", "crc"],
)
def test_a_fault_that_a_broker_finds_earlier_is_told_first(records, acks, code):
    assert judged(records, topic=OFFSETS, acks=acks).verdict.error_code == code


RULE_OFF = Rule("own", NAMED, RuleSettings(mode=Mode.OFF))


@pytest.mark.parametrize(
    ("policy", "mode", "rule"),
    [
        (Policy(), Mode.ENFORCE, INTERNAL_TOPICS),
        (Policy(mode=Mode.AUDIT), Mode.AUDIT, INTERNAL_TOPICS),
        (Policy(mode=Mode.OFF), Mode.OFF, INTERNAL_TOPICS),
        (Policy(rules=(Rule("own", Match(), RuleSettings(mode=Mode.OFF)),)), Mode.ENFORCE, INTERNAL_TOPICS),
        (Policy(rules=(RULE_OFF,)), Mode.OFF, "own"),
        (Policy(is_suspended=True), Mode.ENFORCE, INTERNAL_TOPICS),
        (Policy(waivers=(Waiver("w", NAMED, NOW_MS + 1, "o", "r"),)), Mode.ENFORCE, INTERNAL_TOPICS),
    ],
    ids=["enforce", "audit", "off", "rule for all", "rule that names it", "suspended", "waiver"],
)
def test_only_a_mode_lets_them_be_written(policy, mode, rule):
    """A waiver is for timestamps, and a wrong clock says nothing about who writes a topic."""
    found = resolved(policy)
    assert (found.mode, found.rule, found.only_brokers_write) == (mode, rule, True)


@pytest.mark.parametrize(("mode", "kind"), [(Mode.ENFORCE, Reject), (Mode.AUDIT, Accept), (Mode.OFF, Accept)])
def test_the_mode_says_what_happens(mode, kind):
    found = judged(GOOD, topic=OFFSETS, policy=Policy(mode=mode))

    assert isinstance(found.verdict, kind)
    assert (found.would is not None) == (mode is Mode.AUDIT)


@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.AUDIT])
def test_the_fast_path_forwards_no_such_batch(mode):
    assert fast_path_bounds(resolved(Policy(mode=mode))) is None
    assert fast_path_bounds(replace(resolved(Policy(mode=mode)), limits=LIMITS)) is None


def test_a_client_id_changes_nothing():
    """A broker lets `__admin_client` write them, and any client may call itself so."""
    admin = replace(PEER, client_id="__admin_client")
    assert resolved(Policy(), peer=admin) == resolved(Policy())
