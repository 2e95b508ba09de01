"""The fast path's bounds come from a client's own policy, even if another client uses its connection."""

import re
import struct

import pytest

from tests.session.conversation import HOUR_MS, NOW_MS, PEER, Session, view_of
from tests.session.logins import RAW, log_in
from tests.session.messages import API_VERSIONS, accepted, answer, produce, produced, request
from tests.wire.batches import batch
from tsproxy.model.policy import Choice, Match, Mode, NamePattern, Policy, Rule, RuleSettings
from tsproxy.session.effects import Emit, ReadAnswer, SendToBroker

GOOD, BAD = batch([NOW_MS]), batch([NOW_MS, NOW_MS + 2 * HOUR_MS])


def client_ids(name):
    return Match(client_ids=(NamePattern(name, re.compile(name)),))


RULES = (
    Rule("strict", client_ids("a"), RuleSettings(negative=Choice.REJECT)),
    Rule("free", client_ids("b"), RuleSettings(mode=Mode.OFF)),
)


@pytest.mark.parametrize("uses_fast_path", [False, True])
def test_an_answer_that_comes_after_another_client_id_teaches_nothing_of_that_clients(uses_fast_path):
    """The row of a's table was made by b's rule, and a's forbidden batch went on natively."""
    session = Session(PEER, view_of(policy=Policy(rules=RULES)), uses_fast_path=uses_fast_path)
    session.client_bytes(produce({"t": {0: GOOD}}, correlation_id=1, client_id="a"), NOW_MS)
    session.client_bytes(produce({"u": {0: GOOD}}, correlation_id=2, acks=0, client_id="b"), NOW_MS)
    session.broker_bytes(produced({"t": {0: accepted()}}, correlation_id=1), NOW_MS)
    effects = session.client_bytes(produce({"t": {0: BAD}}, correlation_id=3, client_id="a"), NOW_MS)

    assert not [each for each in effects if isinstance(each, SendToBroker)]
    assert [each.outcome.rule for each in effects if isinstance(each, Emit)] == ["strict"]


def say_library(session, name):
    said = bytes([len(name) + 1]) + name + b"\x041.0\x00"
    session.client_bytes(request(API_VERSIONS, 3, said), NOW_MS)
    offered = b"\x02" + struct.pack(">3h", 0, 0, 13) + b"\x00"
    session.broker_bytes(answer(API_VERSIONS, 3, bytes(2) + offered + bytes(4) + b"\x00"), NOW_MS)


def test_after_another_library_nothing_is_forwarded_that_was_learnt_of_the_first():
    free = Rule(
        "free",
        Match(client_software=(NamePattern("old/*", re.compile("old/.*")),)),
        RuleSettings(mode=Mode.OFF),
    )
    session = Session(PEER, view_of(policy=Policy(rules=(free,))), uses_fast_path=True)
    sent = []
    for number, library in enumerate((b"old", b"old", b"new")):
        say_library(session, library)
        for correlation_id in (2 * number, 2 * number + 1):
            asked = produce({"t": {0: BAD}}, correlation_id=correlation_id)
            effects = session.client_bytes(asked, NOW_MS)
            sent.append(any(isinstance(each, SendToBroker) for each in effects))
            session.broker_bytes(produced({"t": {0: accepted()}}, correlation_id=correlation_id), NOW_MS)
    assert sent == [True] * 4 + [False] * 2


@pytest.mark.parametrize("version", [RAW, 1])
def test_after_another_login_nothing_is_forwarded_that_was_learnt_of_the_first_user(version):
    """A name that differs from the first one is nobody's (KIP-368), so no rule of his holds."""
    free = Rule(
        "free", Match(principals=(NamePattern("bob", re.compile("User:bob")),)), RuleSettings(mode=Mode.OFF)
    )
    view = view_of(broker_needs_sasl=True, policy=Policy(rules=(free,)))
    session = Session(PEER, view, uses_fast_path=True)
    log_in(session, "PLAIN", [(b"\x00bob\x00secret", b"")], version)
    session.client_bytes(produce({"t": {0: BAD}}, correlation_id=1), NOW_MS)
    session.broker_bytes(produced({"t": {0: accepted()}}, correlation_id=1), NOW_MS)
    log_in(session, "PLAIN", [(b"\x00alice\x00secret", b"")], version)
    effects = session.client_bytes(produce({"t": {0: BAD}}, correlation_id=2), NOW_MS)

    assert not [each for each in effects if isinstance(each, SendToBroker)]
    assert [each.outcome.peer.principal for each in effects if isinstance(each, Emit)] == [None]


def test_an_answer_into_which_many_rejections_are_written_is_read_beside_the_loop():
    """52 bytes of a broker's answer took 0.13 s, since 19,999 rejections were written into it."""
    session = Session(PEER, view_of(), uses_fast_path=True)
    topics = {"t": {0: GOOD, **dict.fromkeys(range(1, 1_000), BAD)}}
    (judge, *_) = session.client_bytes(produce(topics, correlation_id=1), NOW_MS)
    session.judged(judge.job(), NOW_MS)
    effects = session.broker_bytes(produced({"t": {0: accepted()}}, correlation_id=1), NOW_MS)

    assert [type(each) for each in effects] == [ReadAnswer]
