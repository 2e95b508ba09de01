"""How a connection ends: one end is over, and the session goes on until nothing is left to do for it. By the
bytes that it holds, the shell finds who stalls."""

from dataclasses import replace

import pytest

from tests.documents.tables import rows_of
from tests.session.conversation import (
    HOUR_MS,
    NOW_MS,
    PEER,
    SECOND_MS,
    Conversation,
    Expected,
    Session,
    at,
    booked,
    broker,
    broker_connects,
    broker_ends,
    broker_is_lost,
    client,
    client_ends,
    client_is_lost,
    closed,
    enters,
    forwarded,
    id_of,
    judged_beside,
    later,
    paused,
    proxy_cuts,
    proxy_drains,
    read_beside,
    relayed,
    resumed,
    returned,
    thread_judges,
    thread_reads,
    to_broker,
    to_client,
    topic_wanted,
    view_of,
)
from tests.session.messages import HEARTBEAT, METADATA, answer, produce, produced, request
from tests.wire.batches import CODECS, batch
from tsproxy.proxy.limits.admission import Limit, ProxyReason
from tsproxy.session.effects import CloseReason, Count, ReasonToClose, SessionCounter
from tsproxy.session.events import ClientIdentified
from tsproxy.session.lifetime import HALF_CLOSED_MS, Stage
from tsproxy.session.produce import cost
from tsproxy.wire.frames import Unfinished

ONE, TWO = request(HEARTBEAT, 4, correlation_id=1), request(HEARTBEAT, 4, correlation_id=2)
ANSWER, SECOND = answer(HEARTBEAT, 4, bytes(7), 1), answer(HEARTBEAT, 4, bytes(7), 2)
GOOD, BAD = (batch([NOW_MS + ahead_ms], CODECS["gzip"]) for ahead_ms in (0, 2 * HOUR_MS))
ASKED = produce({"t": {0: GOOD}}, correlation_id=1)
TOLD = produced({"t": {0: {}}}, correlation_id=1)
OVER = closed(CloseReason.PEER_CLOSED)
UNCONFIRMED = booked("unconfirmed")


@pytest.fixture
def in_threads(monkeypatch):
    """Each batch is judged in a thread, and each answer that is read is read in one."""
    monkeypatch.setattr(cost, "OFFLOAD_BYTES", 0)
    monkeypatch.setattr("tsproxy.session.answers.MAX_READ_HERE", 0)


# -- The client sends no more -------------------------------------------------------------------------


def finishing(*asked, end=client_ends):
    return Conversation() >> forwarded(*asked) >> end << enters(Stage.FINISHING)


def test_a_client_that_sends_no_more_gets_all_its_answers():
    assert (
        finishing(ONE, TWO)
        >> returned(ANSWER)
        >> broker(SECOND[:5])
        >> broker(SECOND[5:])
        << to_client(SECOND)
        << OVER
    )


@pytest.mark.parametrize("end", [client_ends, proxy_drains, client_is_lost, broker_ends, broker_is_lost])
def test_an_end_that_nothing_is_owed_to_ends_the_connection(end):
    assert Conversation() >> end << OVER
    assert Conversation() >> relayed(ONE, ANSWER) >> end << OVER


def test_a_client_that_sends_no_more_does_not_wait_for_ever():
    assert finishing(ASKED) >> later(HALF_CLOSED_MS - 1) >> later(1) << UNCONFIRMED << OVER


def test_a_client_that_is_drained_waits_as_long_as_the_proxy_and_if_it_ends_then_not_for_ever():
    conversation = finishing(ONE, end=proxy_drains)
    assert conversation.session.next_deadline_ms is None
    assert conversation >> at(NOW_MS + HALF_CLOSED_MS) >> client_ends >> later(HALF_CLOSED_MS) << OVER


def test_nothing_is_taken_from_a_client_while_the_proxy_drains():
    assert finishing(ONE, end=proxy_drains) >> client(TWO) >> returned(ANSWER) << OVER


def test_requests_that_came_before_the_end_are_forwarded_when_their_turn_comes():
    """The client pipelines more than may be in flight, and ends."""
    assert (
        Conversation(view_of(in_flight_requests=1))
        >> client(ONE, TWO)
        << to_broker(ONE)
        << paused
        >> client_ends
        << enters(Stage.FINISHING)
        >> broker(ANSWER)
        << to_broker(TWO)
        << to_client(ANSWER)
        >> returned(SECOND)
        << resumed
        << OVER
    )


def test_an_end_that_is_reported_twice_changes_nothing():
    assert (
        finishing(ONE)
        >> client_ends
        >> proxy_drains
        >> returned(ANSWER)
        << OVER
        >> client_ends
        >> client_is_lost
        >> broker_is_lost
        >> proxy_cuts
    )


# -- The client is gone -------------------------------------------------------------------------------


def judged_while_lost(*requests):
    """The client is lost while a thread judges the first one."""
    conversation = Conversation() >> client(*requests) << judged_beside << paused
    return conversation >> client_is_lost << enters(Stage.FINISHING)


@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize("is_ended_first", [False, True])
def test_a_request_that_is_judged_when_its_client_is_lost_is_forwarded(is_ended_first):
    conversation = Conversation() >> client(ASKED) << judged_beside << paused
    if is_ended_first:
        conversation = conversation >> client_ends << enters(Stage.FINISHING) >> client_is_lost
    else:
        conversation = conversation >> client_is_lost << enters(Stage.FINISHING)
    assert conversation >> thread_judges << to_broker(ASKED) << resumed << UNCONFIRMED << OVER


@pytest.mark.usefixtures("in_threads")
def test_requests_without_answers_of_a_client_that_is_lost_are_forwarded_all():
    first, second = (produce({"t": {0: GOOD}}, acks=0, correlation_id=n) for n in (1, 2))
    assert (
        judged_while_lost(first, second)
        >> thread_judges
        << to_broker(first)
        << UNCONFIRMED
        << judged_beside
        >> thread_judges
        << to_broker(second)
        << UNCONFIRMED
        << resumed
        << OVER
    )


@pytest.mark.usefixtures("in_threads")
def test_nothing_is_judged_behind_a_request_whose_answer_cannot_be_delivered():
    """As a broker reads nothing behind it."""
    second = produce({"t": {0: GOOD}}, correlation_id=2)
    assert (
        judged_while_lost(ASKED, second)
        >> thread_judges
        << to_broker(ASKED)
        << judged_beside
        << UNCONFIRMED
        << OVER
    )


@pytest.mark.usefixtures("in_threads")
def test_a_rejected_request_without_an_answer_ends_the_connection_of_a_client_that_is_lost():
    assert (
        judged_while_lost(produce({"t": {0: BAD}}, acks=0))
        >> thread_judges
        << booked("rejected")
        << closed(CloseReason.ACKS_ZERO_REJECTED)
    )


# -- The broker is gone -------------------------------------------------------------------------------


def forwarded_by_a_thread():
    conversation = Conversation() >> client(ASKED) << judged_beside << paused
    return conversation >> thread_judges << to_broker(ASKED) << resumed


@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize("end", [broker_ends, broker_is_lost])
def test_an_answer_that_is_read_when_its_broker_is_gone_reaches_the_client(end):
    assert (
        forwarded_by_a_thread()
        >> broker(TOLD)
        << read_beside
        >> end
        >> end
        >> thread_reads
        << to_client(TOLD)
        << booked("accepted")
        << OVER
    )


@pytest.mark.usefixtures("in_threads")
def test_with_both_ends_gone_the_first_that_waits_for_nothing_ends_the_connection():
    second = produce({"t": {0: GOOD}}, correlation_id=2)
    conversation = (
        forwarded_by_a_thread()
        >> client(second)
        << judged_beside
        << paused
        >> broker(TOLD)
        << read_beside
        >> client_is_lost
        << enters(Stage.FINISHING)
        >> broker_is_lost
    )
    assert conversation >> thread_judges << to_broker(second) << resumed << UNCONFIRMED << UNCONFIRMED << OVER


# -- The broker is not connected yet ------------------------------------------------------------------


def test_what_a_client_sends_early_waits_for_the_broker():
    conversation = Conversation(is_connected=False) >> client(ONE[:7]) >> client(ONE[7:], TWO)
    assert conversation.session.held_bytes == len(ONE + TWO)
    assert conversation >> broker_connects << to_broker(ONE, TWO) << enters(Stage.RELAYING)


def test_a_client_that_ends_early_waits_for_the_broker_however_long_and_then_for_its_answers():
    assert (
        Conversation(is_connected=False)
        >> client(ONE)
        >> client_ends
        >> later(2 * HALF_CLOSED_MS)
        >> broker_connects
        << to_broker(ONE)
        << enters(Stage.FINISHING)
        >> later(HALF_CLOSED_MS - SECOND_MS)
        >> returned(ANSWER)
        << OVER
    )


def test_a_client_that_ends_early_and_asks_nothing_ends_when_the_broker_is_connected():
    assert Conversation(is_connected=False) >> client_ends >> broker_connects << OVER


def test_a_client_that_is_lost_early_is_waited_for_only_if_it_sent_something():
    assert Conversation(is_connected=False) >> client_is_lost << OVER
    assert (
        Conversation(is_connected=False)
        >> client(ASKED)
        >> client_is_lost
        >> broker_connects
        << to_broker(ASKED)
        << UNCONFIRMED
        << OVER
    )


def test_an_early_request_of_a_lost_client_is_judged_behind_others_as_well():
    """All of these came before the client was lost: nobody could know that no answer reaches it."""
    unnamed = produce({"new": {0: GOOD}}, 13, correlation_id=2)
    assert (
        Conversation(is_connected=False)
        >> client(ONE, unnamed)
        >> client_is_lost
        >> broker_connects
        << to_broker(ONE)
        << topic_wanted(id_of("new"))
        << Expected(Count, {"counter": SessionCounter.TOPIC_NAME_WAITS})
        << paused
        << enters(Stage.FINISHING)
    )


@pytest.mark.parametrize("end", [client_ends, client_is_lost])
def test_what_came_before_the_client_was_known_is_judged_as_from_this_client(end):
    """uvloop reads, and sees an end, before the address that a load balancer names is set."""
    known = replace(PEER, client_address="203.0.113.9", principal="User:known")
    conversation = Conversation(is_connected=False) >> client(ASKED) >> end
    conversation = conversation >> (lambda c: c.session.feed(ClientIdentified(known), NOW_MS))
    conversation = conversation >> broker_connects << to_broker(ASKED)
    if end is client_ends:
        conversation = conversation << enters(Stage.FINISHING) >> broker_is_lost
    assert conversation << booked("unconfirmed", peer=replace(known, client_id="app")) << OVER


@pytest.mark.parametrize("end", [broker_ends, broker_is_lost, proxy_drains, proxy_cuts])
def test_without_a_broker_an_early_request_ends_with_the_connection(end):
    assert Conversation(is_connected=False) >> client(ONE) >> end << OVER


def test_a_broker_that_speaks_before_it_is_connected_is_not_heard():
    assert Conversation(is_connected=False) >> broker(ANSWER) >> broker_connects << enters(Stage.RELAYING)


# -- The bytes that are held --------------------------------------------------------------------------


FRAME = request(HEARTBEAT, correlation_id=1)


@pytest.fixture
def session():
    return Session(PEER, view_of(), uses_fast_path=True)


def test_between_two_requests_nothing_is_unfinished(session):
    session.client_bytes(FRAME, NOW_MS)

    assert session.unfinished is None
    assert session.held_bytes == session._state.slots.held_bytes > 0


@pytest.mark.parametrize(
    ("received", "announced"), [(3, None), (4, len(FRAME)), (len(FRAME) - 1, len(FRAME))]
)
def test_the_beginning_of_a_request_is_held_and_told(session, received, announced):
    session.client_bytes(FRAME[:received], NOW_MS)

    assert session.unfinished == Unfinished(0, received, announced)
    assert session.held_bytes == received


def test_a_request_that_drips_keeps_its_number_and_the_next_one_has_another(session):
    session.client_bytes(FRAME[:7], NOW_MS)
    first = session.unfinished
    session.client_bytes(FRAME[7:9], NOW_MS)
    assert session.unfinished == Unfinished(first.number, 9, len(FRAME))
    session.client_bytes(FRAME[9:] + FRAME[:7], NOW_MS)
    assert session.unfinished.number != first.number


def test_before_the_peer_is_accepted_no_number_out_of_its_bytes_is_told():
    session = Session(PEER, view_of(broker_needs_sasl=True))
    session.client_bytes(FRAME[:9], NOW_MS)

    assert session.unfinished == Unfinished(0, 9, None)


def test_an_answer_that_is_read_whole_is_held_until_its_end(session):
    session.client_bytes(request(METADATA, correlation_id=1), NOW_MS)
    session.broker_bytes(answer(METADATA, correlation_id=1)[:7], NOW_MS)

    assert session.held_bytes == 7 + session._state.slots.held_bytes


# -- Reasons ------------------------------------------------------------------------------------------


REASONS = [reason for kind in (CloseReason, ProxyReason, Limit) for reason in kind]


def test_the_page_says_who_loses_what_and_why_once_for_each_reason():
    rows = rows_of(
        "evidence/transparency.md", "reason", "what happened", "without an answer", "why no answer"
    )
    assert sorted(reason for reason, *_ in rows) == sorted(f"`{reason}`" for reason in REASONS)
    assert [row for row in rows if not all(row)] == []


def test_each_kind_of_reason_is_compared():
    assert len({*REASONS}) == sum(map(len, ReasonToClose.__subclasses__()))
