"""Whom the broker has not accepted yet may send little: three APIs, half a mebibyte a frame."""

import struct

import pytest

from tests.session.conversation import NOW_MS, PEER, Conversation, Session, client, closed, noted, view_of
from tests.session.logins import PLAIN, handshake, log_in, shaken
from tests.session.messages import API_VERSIONS, METADATA, PRODUCE, SASL_AUTHENTICATE, SASL_HANDSHAKE, frame
from tsproxy.session.effects import CloseReason, CloseSession, PauseClient, SendToBroker

MIB = 1024 * 1024
SASL_FRAME = 512 * 1024
"""As a broker's default of `sasl.server.max.receive.size`."""
FETCH, CREATE_TOPICS, OFFSET_COMMIT = 1, 19, 8


def stranger(**limits):
    return Session(PEER, view_of(broker_needs_sasl=True, **limits), uses_fast_path=True)


def accepted():
    session = stranger()
    log_in(session, *PLAIN)
    return session


def beginning(size, api_key):
    """The first six bytes of a frame."""
    return struct.pack(">ih", size, api_key)


def ending(effects):
    return next((effect.reason for effect in effects if isinstance(effect, CloseSession)), None)


@pytest.mark.parametrize("api_key", [PRODUCE, FETCH, METADATA, OFFSET_COMMIT, CREATE_TOPICS, 32767, -1])
def test_a_strangers_frame_is_rejected_by_its_api_key_before_it_is_collected(api_key):
    session = stranger()
    effects = session.client_bytes(beginning(10_000, api_key), NOW_MS)

    assert ending(effects) is CloseReason.UNSUPPORTED_REQUEST
    assert session.client_bytes(bytes(MIB), NOW_MS) == []


def handshaken():
    """A stranger whose next bytes are a token without a header."""
    session = stranger()
    session.client_bytes(handshake("PLAIN", 0), NOW_MS)
    session.broker_bytes(shaken(version=0), NOW_MS)
    return session


FRAMES = {
    **{f"API {key}": (stranger, key) for key in (API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE)},
    **{f"a renewal, API {key}": (accepted, key) for key in (SASL_HANDSHAKE, SASL_AUTHENTICATE)},
    "a raw token": (handshaken, 0),
}


@pytest.mark.parametrize(("session", "api_key"), FRAMES.values(), ids=FRAMES)
def test_a_strangers_frame_has_the_limit_that_a_broker_gives_it_and_so_has_a_renewal(session, api_key):
    """`sasl.server.max.receive.size`: 524288, the size prefix not counted."""
    for size, reason in ((SASL_FRAME, None), (SASL_FRAME + 1, CloseReason.FRAME_TOO_LARGE)):
        assert ending(session().client_bytes(beginning(size, api_key), NOW_MS)) is reason


def test_a_smaller_limit_of_the_operators_holds_for_strangers_too():
    effects = stranger(other_frame=2_000).client_bytes(beginning(2_001, SASL_AUTHENTICATE), NOW_MS)

    assert ending(effects) is CloseReason.FRAME_TOO_LARGE


def test_of_a_frame_that_is_too_large_a_stranger_is_shown_no_number():
    """It may be a token that lacks its header."""
    text = (
        "a frame above the 524288 bytes that are allowed before authentication (sasl.server.max.receive.size)"
    )

    assert (
        Conversation(view_of(broker_needs_sasl=True))
        >> client(beginning(0x20202020, API_VERSIONS))
        << noted("client_rejected", facts={"reason": "frame_too_large", "detail": text})
        << closed(CloseReason.FRAME_TOO_LARGE)
    )


def test_a_session_holds_no_more_of_a_strangers_than_one_frame_and_one_read():
    """While a step of the exchange waits for the broker, nothing more is taken, and the client is paused."""
    session, read = stranger(), bytes(256 * 1024)
    effects = session.client_bytes(
        handshake("PLAIN") + frame(b"\x00\x24\x00\x01" + bytes(SASL_FRAME - 4)), NOW_MS
    )

    assert [type(effect) for effect in effects] == [SendToBroker, PauseClient]
    session.client_bytes(read, NOW_MS)
    assert session.held_bytes <= 4 + SASL_FRAME + len(read) + session._state.slots.held_bytes


def test_the_fast_path_is_closed_to_strangers_and_keeps_nothing_of_theirs():
    session = stranger()
    requests = session.fast_path.requests

    assert not requests.is_open
    assert not requests.awaits_more(beginning(100, API_VERSIONS))
    session.client_bytes(beginning(100, API_VERSIONS), NOW_MS)
    assert session.take_unparsed() == b""
