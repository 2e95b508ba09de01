"""The bytes that a session holds, and the part of a request that has come: by this the shell finds who
stalls."""

import pytest

from tests.session.conversation import NOW_MS, PEER, Session, view_of
from tests.session.messages import HEARTBEAT, METADATA, answer, request
from tsproxy.wire.frames import Unfinished

FRAME = request(HEARTBEAT, correlation_id=1)


@pytest.fixture
def session():
    return Session(PEER, view_of(), uses_fast_path=True)


def test_between_two_requests_nothing_is_unfinished(session):
    session.client_bytes(FRAME, NOW_MS)

    assert session.unfinished is None
    assert session.held_bytes == 0


@pytest.mark.parametrize(
    ("received", "announced"), [(3, None), (4, len(FRAME)), (len(FRAME) - 1, len(FRAME))]
)
def test_the_beginning_of_a_request_is_held_and_told(session, received, announced):
    session.client_bytes(FRAME[:received], NOW_MS)

    assert session.unfinished == Unfinished(0, received, announced)
    assert session.held_bytes == received


def test_the_next_unfinished_request_has_another_number(session):
    session.client_bytes(FRAME[:7], NOW_MS)
    first = session.unfinished
    session.client_bytes(FRAME[7:] + FRAME[:7], NOW_MS)

    assert session.unfinished.number != first.number


def test_a_request_that_drips_keeps_its_number(session):
    session.client_bytes(FRAME[:7], NOW_MS)
    first = session.unfinished
    session.client_bytes(FRAME[7:9], NOW_MS)

    assert session.unfinished == Unfinished(first.number, 9, len(FRAME))


def test_before_the_peer_is_accepted_no_number_out_of_its_bytes_is_told():
    session = Session(PEER, view_of(broker_needs_sasl=True))
    session.client_bytes(FRAME[:9], NOW_MS)

    assert session.unfinished == Unfinished(0, 9, None)


def test_an_answer_that_is_read_whole_is_held_until_its_end(session):
    session.client_bytes(request(METADATA, correlation_id=1), NOW_MS)
    session.broker_bytes(answer(METADATA, correlation_id=1)[:7], NOW_MS)

    assert session.held_bytes == 7
