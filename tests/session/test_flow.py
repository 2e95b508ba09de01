"""Answers leave in the order of their requests; what may stream streams; no more is in flight than may be."""

import struct

import pytest

from tests.session.conversation import (
    HOUR_MS,
    NOW_MS,
    PEER,
    Conversation,
    Session,
    booked,
    broker,
    client,
    closed,
    forwarded,
    paused,
    resumed,
    returned,
    to_broker,
    to_client,
    view_becomes,
    view_of,
)
from tests.session.messages import (
    API_VERSIONS,
    FETCH,
    HEARTBEAT,
    answer,
    out_of_range,
    produce,
    produced,
    rejected,
    request,
)
from tests.wire.batches import batch
from tsproxy.session.effects import CloseReason, SendToClient

GOOD = batch([NOW_MS])
BAD = batch([NOW_MS + 2 * HOUR_MS])
REJECTED = rejected(out_of_range(NOW_MS + 2 * HOUR_MS))


# -- Order ------------------------------------------------------------------------------------------


def test_an_answer_that_waits_is_held_memory_until_its_turn_comes():
    ours = produced({"t": {0: REJECTED}}, correlation_id=2)
    session = Session(PEER, view_of())
    session.client_bytes(request(HEARTBEAT) + produce({"t": {0: BAD}}, correlation_id=2), NOW_MS)
    assert session.held_bytes == len(ours) + session._state.slots.held_bytes
    session.broker_bytes(answer(HEARTBEAT), NOW_MS)
    assert session.held_bytes == 0


# -- Streaming and holding --------------------------------------------------------------------------


def test_a_relayed_answer_streams_through_however_large_it_is():
    """A gigabyte is announced; what has come of it is passed on, and nothing is kept."""
    asked = request(FETCH, 4)
    head = struct.pack(">ii", 1 << 30, 1)
    session = Session(PEER, view_of(share_answer=1000))
    session.client_bytes(asked, NOW_MS)
    assert session.broker_bytes(head, NOW_MS) == [SendToClient(head)]
    for _ in range(64):
        assert session.broker_bytes(b"x" * 65536, NOW_MS) == [SendToClient(b"x" * 65536)]


def test_a_streamed_answer_begins_only_when_it_is_known_to_be_the_right_one():
    asked, said = request(FETCH, 4), answer(FETCH, 4, bytes(9))
    assert (
        Conversation()
        >> forwarded(asked)
        >> broker(said[:7])
        >> broker(said[7:8])
        << to_client(said[:8])
        >> returned(said[8:])
    )


# -- In flight --------------------------------------------------------------------------------------

BEATS = [request(HEARTBEAT, correlation_id=i) for i in range(4)]
TOLD = [answer(HEARTBEAT, correlation_id=i) for i in range(4)]


def test_a_local_answer_counts_as_in_flight_while_it_waits():
    first, second = request(HEARTBEAT), produce({"t": {0: BAD}}, correlation_id=2)
    assert (
        Conversation(view_of(in_flight_requests=2))
        >> client(first, second)
        << to_broker(first)
        << booked("rejected")
        << paused
    )


def test_a_paused_session_that_closes_does_not_resume():
    asked = request(HEARTBEAT)
    assert (
        Conversation(view_of(in_flight_requests=1))
        >> client(asked, request(9999, correlation_id=2))
        << to_broker(asked)
        << paused
        >> broker(answer(HEARTBEAT, correlation_id=99))
        << closed(CloseReason.BAD_ANSWER)
    )


def test_a_larger_limit_holds_as_soon_as_the_view_says_so():
    assert (
        Conversation(view_of(in_flight_requests=1))
        >> client(*BEATS)
        << to_broker(BEATS[0])
        << paused
        >> view_becomes(view_of(in_flight_requests=10))
        >> broker(TOLD[0])
        << to_broker(*BEATS[1:])
        << to_client(TOLD[0])
        << resumed
    )


# -- ApiVersions ------------------------------------------------------------------------------------

VERSIONS_ASKED = b"\x05libx\x041.2\x00"
"""Client software name and version, and no tags."""

UNSUPPORTED = b"\x00\x23" + b"\x00\x00\x00\x01" + b"\x00\x12\x00\x00\x00\x05"
"""Error 35 and the versions of key 18, as Kafka's own classes write it."""


@pytest.mark.parametrize("version", [6, 7, 99, 32767, -1])
def test_an_api_versions_that_we_do_not_speak_is_answered_here(version):
    """A broker reads no further than the header, and answers v0 with error 35: the client asks again."""
    header = struct.pack(">hhih", API_VERSIONS, version, 1, 3) + b"app"
    payload = header + (b"\x00" if version >= 3 else b"") + b"whatever"
    again = request(API_VERSIONS, 4, VERSIONS_ASKED, correlation_id=2)
    assert (
        Conversation()
        >> client(struct.pack(">i", len(payload)) + payload)
        << to_client(answer(API_VERSIONS, 0, UNSUPPORTED))
        >> forwarded(again)
    )


def test_the_client_software_is_remembered_with_each_batch():
    """KIP-511: what the client says of itself in ApiVersions v3 and later."""
    versions = request(API_VERSIONS, 3, VERSIONS_ASKED)
    asked = produce({"t": {0: BAD}}, correlation_id=2, client_id="orders")
    *_, rejected = Session(PEER, view_of()).client_bytes(versions + asked, NOW_MS)
    peer = rejected.outcome.peer
    assert (peer.client_software, peer.client_id) == ("libx/1.2", "orders")
