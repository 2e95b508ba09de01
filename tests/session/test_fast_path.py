"""The session teaches the fast path, and goes on with what it leaves: see also tests/fastpath. Its bounds are
of one client's policy in one view, whoever uses the connection later."""

import re
import struct
from dataclasses import replace

import pytest

from tests.attacks.steps import bytecodes
from tests.session.conversation import HOUR_MS, LIMITS, NOW_MS, PEER, Session, view_by, view_of
from tests.session.logins import RAW, handshake, log_in, shaken
from tests.session.messages import API_VERSIONS, HEARTBEAT, accepted, answer, produce, produced, request
from tests.wire.batches import batch
from tsproxy.model.outcome import VerdictName
from tsproxy.model.policy import Choice, Match, Mode, NamePattern, Policy, Rule, RuleSettings
from tsproxy.model.view import Unchanged
from tsproxy.session.effects import Emit, ReadAnswer, SendToBroker
from tsproxy.session.events import BrokerBytes, ClientBytes, ViewChanged
from tsproxy.session.fast_path import MAX_LEARNT

GOOD, BAD = batch([NOW_MS]), batch([NOW_MS + 2 * HOUR_MS])


def test_a_new_session_keeps_no_topic_and_owes_no_totals():
    session = Session(PEER, view_of(), uses_fast_path=True)
    assert session.fast_path.held_bytes == 0
    assert not session.owes_totals


def test_no_totals_are_owed_once_they_are_drained():
    session = Session(PEER, view_of(), uses_fast_path=True)
    session.client_bytes(produce({"t": {0: BAD}}), NOW_MS)
    assert session.owes_totals
    session.drain_totals()
    assert not session.owes_totals


def test_before_the_broker_has_said_its_versions_those_of_the_view_take_the_fast_path():
    session = Session(PEER, replace(view_of(), produce_versions=(3, 8)), uses_fast_path=True)
    session.client_bytes(produce({"t": {0: GOOD}}, 8, correlation_id=1), NOW_MS)
    newer, known = (produce({"t": {0: GOOD}}, version, correlation_id=2) for version in (9, 8))
    assert session.fast_path.requests.forward_read(newer, NOW_MS) == 0
    assert session.fast_path.requests.forward_read(known, NOW_MS) == len(known)


@pytest.mark.parametrize("version", [9, 13])
def test_topics_that_are_learnt_leave_room_for_others_of_the_same_request(version):
    topics = [f"t-{n}" for n in range(MAX_LEARNT + 50)]
    session = Session(PEER, view_of(topics=topics), uses_fast_path=True)
    session.ask(produce({topic: {0: GOOD} for topic in topics[:MAX_LEARNT]}, version, correlation_id=1))
    assert session.fast_path.requests.table.kept == MAX_LEARNT
    session.ask(produce({topic: {0: GOOD} for topic in topics}, version, correlation_id=2))
    assert session.fast_path.requests.table.kept == len(topics)


@pytest.mark.parametrize("version", [9, 13])
def test_a_rejection_that_the_fast_path_repeats_is_counted_as_one(version):
    session = Session(PEER, view_of(), uses_fast_path=True)
    session.client_bytes(produce({"t": {0: BAD}}, version, correlation_id=1), NOW_MS)
    session.drain_totals()
    again = produce({"t": {0: BAD}}, version, correlation_id=2)
    assert session.fast_path.rejecter.reject(again, NOW_MS)[0] == len(again)
    (totals,) = session.drain_totals()
    assert (totals.key.verdict, totals.batches, totals.bad_records) == (VerdictName.REJECTED, 1, 1)


def test_the_beginning_of_a_request_goes_back_to_the_fast_path():
    session = Session(PEER, view_of(), uses_fast_path=True)
    first, second = (produce({"t": {0: GOOD}}, correlation_id=n) for n in (1, 2))
    session.client_bytes(first + second[:50], NOW_MS)
    assert session.take_unparsed() == second[:50]
    assert session.take_unparsed() == b""
    assert session.held_bytes == session._state.slots.held_bytes


def test_a_request_that_is_judged_is_owed_an_answer():
    session = Session(PEER, view_of(), uses_fast_path=True)
    (judge, *_) = session.client_bytes(produce({"t": dict.fromkeys(range(1_000), GOOD)}), NOW_MS)
    assert session.in_flight_requests == 1
    session.judged(judge.job(), NOW_MS)
    assert session.in_flight_requests == 1


def test_the_fast_path_forwards_nothing_before_the_login():
    session = Session(PEER, view_of(broker_needs_sasl=True), uses_fast_path=True)
    session.client_bytes(b"", NOW_MS)
    assert session.fast_path.requests.forward_read(request(HEARTBEAT), NOW_MS) == 0
    session.client_bytes(handshake("PLAIN", 0), NOW_MS)
    session.broker_bytes(shaken(version=0), NOW_MS)
    assert session.fast_path.requests.forward_read(request(HEARTBEAT), NOW_MS) == 0


# -- Another peer's row -------------------------------------------------------------------------------


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
    session.ask(produce(topics, correlation_id=1))
    effects = session.broker_bytes(produced({"t": {0: accepted()}}, correlation_id=1), NOW_MS)

    assert [type(each) for each in effects] == [ReadAnswer]


# -- Views that change --------------------------------------------------------------------------------


VIEW = view_by("rule", limits=LIMITS)
STRICT = replace(LIMITS, before_max_ms=HOUR_MS)
OLD = batch([NOW_MS - 2 * HOUR_MS])


def asked(topic="t", records=OLD, correlation_id=1):
    return produce({topic: {0: records}}, correlation_id=correlation_id)


def said(topic="t", correlation_id=1):
    return produced({topic: {0: accepted()}}, correlation_id=correlation_id)


def with_limits(view, limits, topic="t"):
    return replace(view, topics={**view.topics, topic: limits})


@pytest.fixture
def session():
    """A session whose fast path has learnt the topic."""
    session = Session(PEER, VIEW, uses_fast_path=True)
    session.feed(ClientBytes(asked()), NOW_MS)
    session.feed(BrokerBytes(said()), NOW_MS)
    assert is_fast(session)
    return session


def is_fast(session):
    """True if the fast path forwards the topic's requests."""
    table = session.fast_path.requests.table
    return table is not None and "t" in table


def test_another_topic_takes_the_fast_path_from_nobody(session):
    """A client that names topics would slow every client down by a factor of twenty."""
    session.feed(ViewChanged(with_limits(VIEW, STRICT, "another")), NOW_MS)
    assert is_fast(session)


def test_a_comparison_of_two_other_views_is_not_trusted(session):
    """It would say that nothing has changed."""
    strict = with_limits(VIEW, STRICT)
    session.feed(ViewChanged(strict, Unchanged(strict, replace(strict))), NOW_MS)
    assert not is_fast(session)


def test_a_view_costs_a_connection_the_same_however_many_topics_it_has_learnt():
    """A client causes a view by naming a topic, and may have a thousand connections: each took 0.3 ms."""
    topics = [f"t{number}" for number in range(200)]
    view = replace(VIEW, topics=dict.fromkeys(topics, LIMITS))
    after = with_limits(view, LIMITS, "another")
    unchanged, counts = Unchanged(view, after), []
    for named in (topics, topics, topics[:1]):  # the first one compares the topics for all
        session = Session(PEER, view, uses_fast_path=True)
        session.feed(ClientBytes(produce({each: {0: batch([0])} for each in named[:100]})), NOW_MS)
        session.feed(ClientBytes(produce({each: {0: OLD} for each in named[-100:]})), NOW_MS)
        assert {*session.fast_path.requests.table.known_topics} == {*named}
        counts.append(bytecodes(session.feed, ViewChanged(after, unchanged), NOW_MS)[1])
        assert session.fast_path.requests.table is not None
    assert counts[1] == counts[2]


@pytest.mark.parametrize(
    "changed",
    [
        with_limits(VIEW, STRICT),
        replace(VIEW, topics={}),
        replace(VIEW, topics_on_kafka_4={"t": STRICT}),
        replace(VIEW, limits=replace(VIEW.limits, records_per_batch=1)),
        replace(VIEW, policy=replace(VIEW.policy, is_suspended=True)),
    ],
)
def test_what_was_learnt_is_forgotten_with_what_it_rests_on(session, changed):
    session.feed(ViewChanged(changed), NOW_MS)
    assert not is_fast(session)
