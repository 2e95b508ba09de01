"""The session teaches the fast path, and goes on with what it leaves: see also tests/fastpath."""

from dataclasses import replace

import pytest

from tests.session.conversation import HOUR_MS, NOW_MS, PEER, Session, view_of
from tests.session.logins import handshake, shaken
from tests.session.messages import HEARTBEAT, accepted, produce, produced, request
from tests.wire.batches import batch
from tsproxy.model.outcome import VerdictName
from tsproxy.session.effects import Judge, SendToClient
from tsproxy.session.fast_path import MAX_LEARNT

GOOD, BAD = batch([NOW_MS]), batch([NOW_MS + 2 * HOUR_MS])


def ask(session, request):
    for effect in session.client_bytes(request, NOW_MS):
        if isinstance(effect, Judge):
            session.judged(effect.job(), NOW_MS)


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


def test_our_answer_follows_those_that_the_fast_path_forwards_before_it():
    session = Session(PEER, view_of(), uses_fast_path=True)
    session.client_bytes(produce({"t": {0: GOOD}}, correlation_id=1), NOW_MS)
    session.broker_bytes(produced({"t": {0: accepted()}}, correlation_id=1), NOW_MS)
    session.drain_totals()
    again = produce({"t": {0: GOOD}}, correlation_id=2)
    assert session.fast_path.requests.forward_read(again, NOW_MS) == len(again)
    told = session.client_bytes(produce({"t": {0: BAD}}, correlation_id=3), NOW_MS)
    assert not [each for each in told if isinstance(each, SendToClient)]

    theirs = produced({"t": {0: accepted(1)}}, correlation_id=2)
    (sent,) = (e for e in session.broker_bytes(theirs, NOW_MS) if isinstance(e, SendToClient))
    assert sent.data.startswith(theirs)
    assert sent.data[len(theirs) :][4:8] == b"\x00\x00\x00\x03"
    assert session.in_flight_requests == 0


@pytest.mark.parametrize("version", [9, 13])
def test_topics_that_are_learnt_leave_room_for_others_of_the_same_request(version):
    topics = [f"t-{n}" for n in range(MAX_LEARNT + 50)]
    session = Session(PEER, view_of(topics=topics), uses_fast_path=True)
    ask(session, produce({topic: {0: GOOD} for topic in topics[:MAX_LEARNT]}, version, correlation_id=1))
    assert session.fast_path.requests.table.kept == MAX_LEARNT
    ask(session, produce({topic: {0: GOOD} for topic in topics}, version, correlation_id=2))
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
    assert session.held_bytes == 0


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
