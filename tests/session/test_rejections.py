"""Frames that are not Kafka, too large or of a version that was never offered: no answer, one note, a close.
As brokers do."""

import struct
from dataclasses import replace

import pytest

from tests.session.conversation import (
    HOUR_MS,
    NOW_MS,
    PEER,
    Conversation,
    Session,
    at,
    booked,
    broker,
    broker_is_lost,
    client,
    client_is_lost,
    closed,
    forwarded,
    noted,
    paused,
    returned,
    to_broker,
    view_of,
)
from tests.session.messages import (
    API_VERSIONS,
    FETCH,
    HEARTBEAT,
    METADATA,
    PRODUCE,
    accepted,
    answer,
    frame,
    produce,
    produced,
    request,
)
from tests.wire.batches import batch
from tsproxy.session.effects import CloseReason, CloseSession, Note, SendToBroker, SendToClient

GOOD = batch([NOW_MS])

MIB = 1024 * 1024

TLS_HELLO = bytes.fromhex("16030102000100 01fc0303") + bytes(32)
HTTP = b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n"

BAD_INPUT = {
    "TLS hello": (TLS_HELLO, CloseReason.NOT_KAFKA, "TLS"),
    "TLS alert": (b"\x15\x03\x03\x00\x02", CloseReason.NOT_KAFKA, "TLS"),
    "HTTP request": (HTTP, CloseReason.NOT_KAFKA, "HTTP"),
    "HTTP post": (b"POST /topics HTTP/1.1\r\n", CloseReason.NOT_KAFKA, "HTTP"),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", CloseReason.NOT_KAFKA, "HTTP/2"),
    "SSH": (b"SSH-2.0-OpenSSH_9.2\r\n", CloseReason.NOT_KAFKA, "SSH"),
    "PROXY v1": (b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n", CloseReason.NOT_KAFKA, "PROXY"),
    "PROXY v2": (b"\r\n\r\n\x00\r\nQUIT\n", CloseReason.NOT_KAFKA, "PROXY"),
    "absurd size": (b"\x7f\xff\xff\xff", CloseReason.FRAME_TOO_LARGE, "2147483647"),
    "produce above its limit": (struct.pack(">ih", 100 * MIB + 1, 0), CloseReason.FRAME_TOO_LARGE, "produce"),
    "other API above its limit": (
        struct.pack(">ih", 8 * MIB + 1, METADATA),
        CloseReason.FRAME_TOO_LARGE,
        "limits.other_frame",
    ),
    "negative size": (b"\xff\xff\xff\xff", CloseReason.BAD_FRAME, "-1"),
    "size 0": (bytes(4), CloseReason.BAD_FRAME, "0 bytes"),
    "no room for a header": (frame(b"123456789"), CloseReason.BAD_FRAME, "9 bytes"),
    "client id cut short": (
        frame(struct.pack(">hhih", HEARTBEAT, 0, 1, 99)),
        CloseReason.BAD_FRAME,
        "99 bytes announced",
    ),
    "unknown API": (request(9999), CloseReason.UNSUPPORTED_REQUEST, "9999"),
    "API between brokers": (request(58), CloseReason.UNSUPPORTED_REQUEST, "58"),
    "negative API key": (request(-1), CloseReason.UNSUPPORTED_REQUEST, "-1"),
    "produce v14": (request(PRODUCE, 14), CloseReason.UNSUPPORTED_REQUEST, "version 14"),
    "fetch v19": (request(FETCH, 19), CloseReason.UNSUPPORTED_REQUEST, "version 19"),
    "quorum v3": (request(55, 3), CloseReason.UNSUPPORTED_REQUEST, "version 3"),
    "negative version": (request(METADATA, -1), CloseReason.UNSUPPORTED_REQUEST, "version -1"),
    "produce cut short": (request(PRODUCE, 9, b"\x00\xff"), CloseReason.BAD_FRAME, "announced"),
    "produce with null topics": (
        request(PRODUCE, 3, struct.pack(">hhii", -1, 1, 0, -1)),
        CloseReason.BAD_FRAME,
        "null",
    ),
    "ApiVersions v3 without a body": (request(API_VERSIONS, 3), CloseReason.BAD_FRAME, "announced"),
}


@pytest.mark.parametrize(("data", "reason", "says"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_noted_and_closed_without_an_answer_whole_and_byte_by_byte(data, reason, says):
    for pieces in ([data], [data[place : place + 1] for place in range(len(data))]):
        session = Session(PEER, view_of())
        note, close = [effect for piece in pieces for effect in session.client_bytes(piece, NOW_MS)]
        assert note == Note("client_rejected", {"reason": reason, "detail": close.text})
        assert close.reason is reason
        assert len(pieces) > 1 or says in close.text


@pytest.mark.parametrize(
    "head",
    [struct.pack(">ih", 100 * MIB, PRODUCE), struct.pack(">ih", 8 * MIB, METADATA)],
    ids=["produce", "other"],
)
def test_a_frame_of_exactly_the_limit_is_waited_for(head):
    assert Conversation() >> client(head)


CUT_SHORT = {
    "within its size": (b"\x00\x00\x01", 3, None),
    "behind its size": (struct.pack(">i", 50), 4, 54),
    "one byte too early": (request(HEARTBEAT)[:-1], len(request(HEARTBEAT)) - 1, len(request(HEARTBEAT))),
}


@pytest.mark.parametrize(("data", "received", "announced"), CUT_SHORT.values(), ids=CUT_SHORT)
def test_a_frame_whose_end_never_came_is_noted(data, received, announced):
    session = Session(PEER, view_of())
    session.client_bytes(request(HEARTBEAT) + data, NOW_MS)
    note, _ = session.client_lost()

    assert note == Note("frame_cut_short", {"received_bytes": received, "announced_bytes": announced})


def test_a_request_reaches_the_broker_only_when_it_is_whole():
    """A broker that saw half a frame would be stuck behind a client that stalls."""
    asked = request(HEARTBEAT)
    assert Conversation() >> client(asked[:-1]) >> client(asked[-1:]) << to_broker(asked)


WITHOUT_AN_ANSWER = {
    "unknown": (request(9999), noted("client_rejected"), CloseReason.UNSUPPORTED_REQUEST),
    "acks 0": (
        produce({"t": {0: batch([0])}}, acks=0),
        booked("rejected", acks=0),
        CloseReason.ACKS_ZERO_REJECTED,
    ),
}


@pytest.mark.parametrize(("rejected", "told", "reason"), WITHOUT_AN_ANSWER.values(), ids=WITHOUT_AN_ANSWER)
def test_answers_to_earlier_requests_leave_before_a_rejected_client_is_closed(rejected, told, reason):
    """A broker has answered the first request before it reads the second. Who closed at once would have the
    client send again what is in the log already."""
    asked, said = produce({"t": {0: GOOD}}), produced({"t": {0: accepted()}})
    assert (
        Conversation()
        >> client(asked, rejected)
        << to_broker(asked)
        << told
        << paused
        >> client(produce({"t": {0: GOOD}}))
        >> returned(said)
        << booked("accepted")
        << closed(reason)
    )


@pytest.mark.parametrize("end", [client_is_lost, broker_is_lost])
def test_a_connection_that_ends_while_a_rejection_waits_for_answers_is_closed_once(end):
    asked = request(HEARTBEAT)
    assert (
        Conversation()
        >> client(asked, request(9999))
        << to_broker(asked)
        << noted("client_rejected")
        << paused
        >> end
        << closed(CloseReason.PEER_CLOSED)
    )


@pytest.mark.parametrize(
    "say",
    [client(HTTP), client(request(HEARTBEAT)), broker(answer(HEARTBEAT)), client_is_lost, broker_is_lost],
)
def test_a_closed_session_says_nothing_more(say):
    conversation = Conversation() >> client_is_lost << closed(CloseReason.PEER_CLOSED)
    assert conversation >> at(NOW_MS + 1) >> say


# -- The broker's side ------------------------------------------------------------------------------

BAD_ANSWERS = {
    "the wrong correlation id": answer(HEARTBEAT, correlation_id=2),
    "no room for a correlation id": frame(b"123"),
    "a negative size": b"\xff\xff\xff\xff",
    "nothing": frame(b""),
}


@pytest.mark.parametrize("data", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
@pytest.mark.parametrize("asked", [request(HEARTBEAT), request(METADATA, 1)], ids=["relayed", "held"])
def test_an_answer_that_is_none_closes_the_session(asked, data):
    assert Conversation() >> forwarded(asked) >> broker(data) << closed(CloseReason.BAD_ANSWER)


def test_an_answer_that_nobody_asked_for_closes_the_session():
    assert Conversation() >> broker(answer(HEARTBEAT)) << closed(CloseReason.BAD_ANSWER)


@pytest.mark.parametrize(
    "data",
    [answer(METADATA, 1, b"\x00\x00\x00\x07"), struct.pack(">ii", 1001, 1)],
    ids=["of another layout", "above its limit"],
)
def test_an_answer_that_must_be_read_whole_and_cannot_be_closes_the_session(data):
    """A frame that streams through has no limit."""
    conversation = Conversation(view_of(share_answer=1000)) >> forwarded(request(METADATA, 1))
    assert conversation >> broker(data) << closed(CloseReason.BAD_ANSWER)


def test_a_damaged_request_that_a_thread_reads_closes_the_connection():
    """Nobody has read it on the event loop: it has too many partitions for that."""
    whole = produce({"t": dict.fromkeys(range(1_000), None)})
    session = Session(PEER, view_of())
    (judge, *_) = session.client_bytes(frame(whole[4:-500]), NOW_MS)
    (_, end) = session.judged(judge.job(), NOW_MS)
    assert end.reason is CloseReason.BAD_FRAME


# -- Versions that the broker does not take -----------------------------------------------------------


BAD = batch([NOW_MS + 2 * HOUR_MS])
ON_39 = {0: (0, 11), FETCH: (0, 17)}
ON_4 = {0: (0, 13), FETCH: (4, 18)}


def versions_told(offers, error_code=0, correlation_id=1):
    rows = b"".join(struct.pack(">3h", key, *versions) for key, versions in offers.items())
    return answer(API_VERSIONS, 0, struct.pack(">hi", error_code, len(offers)) + rows, correlation_id)


def session_told(offers, view=None, **options):
    session = Session(PEER, view or view_of(), uses_fast_path=True)
    session.client_bytes(request(API_VERSIONS, 0), NOW_MS)
    session.broker_bytes(versions_told(offers, **options), NOW_MS)
    return session


def closes(effects):
    return [each.reason for each in effects if isinstance(each, CloseSession)] == [
        CloseReason.UNSUPPORTED_REQUEST
    ]


@pytest.mark.parametrize("records", [GOOD, BAD], ids=["good", "bad"])
@pytest.mark.parametrize(
    ("offers", "version", "is_taken"),
    [
        (ON_39, 12, False),
        (ON_39, 11, True),
        (ON_39, 2, True),
        (ON_4, 2, False),
        (ON_4, 3, True),
        (ON_4, 12, True),
    ],
)
def test_a_version_that_the_broker_does_not_take_closes_the_connection(records, offers, version, is_taken):
    """Produce 12 with bad batches alone had an answer before a 3.9.1 broker, which closes."""
    session = session_told(offers)
    effects = session.client_bytes(produce({"t": {0: records}}, version=version, correlation_id=2), NOW_MS)
    assert closes(effects) is not is_taken
    assert any(isinstance(each, SendToBroker | SendToClient) for each in effects) is is_taken


def test_what_the_client_was_told_on_its_own_connection_goes_before_what_is_known_of_all():
    session = session_told(ON_39, replace(view_of(), produce_versions=(3, 13)))
    assert not closes(session.client_bytes(produce({"t": {0: GOOD}}, version=2, correlation_id=2), NOW_MS))


def test_a_client_that_does_not_ask_is_closed_where_no_broker_takes_its_version():
    asked = produce({"t": {0: BAD}}, version=12)
    view = replace(view_of(), produce_versions=(0, 11))
    assert (
        Conversation(view)
        >> client(asked)
        << noted("client_rejected")
        << closed(CloseReason.UNSUPPORTED_REQUEST)
    )


def test_an_answer_that_offers_nothing_but_another_try_says_nothing_of_produce():
    session = session_told({18: (0, 4)}, error_code=35)
    assert not closes(session.client_bytes(produce({"t": {0: GOOD}}, version=12, correlation_id=2), NOW_MS))


def test_the_fast_path_forwards_no_version_that_would_be_closed():
    """Also where it had passed before: a view that changes is told to it at once."""
    session = Session(PEER, view_of(), uses_fast_path=True)
    session.client_bytes(produce({"t": {0: GOOD}}, version=12, correlation_id=1), NOW_MS)
    requests = session.fast_path.requests
    again = produce({"t": {0: GOOD}}, version=12, correlation_id=2)
    assert requests.forward_read(again, NOW_MS) == len(again)
    session.apply_view(replace(view_of(), produce_versions=(0, 11)), NOW_MS)
    session.client_bytes(produce({"t": {0: GOOD}}, version=11, correlation_id=3), NOW_MS)
    assert requests.forward_read(again, NOW_MS) == 0
    (told, *_) = session.client_bytes(again, NOW_MS)
    assert told.facts["reason"] == "unsupported_request", "it closes once the earlier ones are answered"
