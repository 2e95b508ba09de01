"""A login that failed is logged once: its mechanism and the broker's error, and no word of it."""

import struct

import pytest

from tests.planted import traces
from tests.session.conversation import (
    NOW_MS,
    Conversation,
    Expected,
    broker,
    broker_is_lost,
    client,
    client_is_lost,
    closed,
    paused,
    resumed,
    to_broker,
    to_client,
)
from tests.session.messages import METADATA, frame, request
from tests.session.test_sasl import (
    EXCHANGES,
    accept,
    authenticate,
    authenticated,
    handshake,
    locked,
    shaken,
    told_of,
)
from tsproxy.session.effects import CloseReason, SaslFailed, SendToClient

SECRET = b"correct horse battery staple"
REJECTED = 58
INVALID_TOKEN = b'{"status":"invalid_token"}'


def failed(mechanism, error):
    return Expected(SaslFailed, {"mechanism": mechanism, "error": error})


def rejected(conversation, sent, said, *told):
    """A step that the broker answers so."""
    conversation = (
        conversation >> client(sent) << to_broker(sent) << paused >> broker(said) << to_client(said)
    )
    for expected in told:
        conversation = conversation << expected
    return conversation << resumed


WRONG = {
    "PLAIN": b"\x00alice\x00" + SECRET,
    "SCRAM-SHA-256": b"n,,n=alice,r=abc",
    "SCRAM-SHA-512": b"n,,n=alice,r=abc",
    "OAUTHBEARER": b"\x01",
    "GSSAPI": b"\x60\x01",
    "AWS_MSK_IAM": SECRET,
}


@pytest.mark.parametrize("ends", [broker_is_lost, client_is_lost])
@pytest.mark.parametrize(("mechanism", "token"), WRONG.items(), ids=WRONG)
def test_a_rejected_token_is_told_with_its_answer_and_is_why_the_session_ends(mechanism, token, ends):
    conversation = accept(Conversation(locked()), mechanism, [], 1)
    error = failed(mechanism, "SASL_AUTHENTICATION_FAILED")
    conversation = rejected(conversation, authenticate(token), authenticated(error_code=REJECTED), error)
    assert conversation >> ends << closed(CloseReason.SASL_FAILED)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("mechanism", WRONG)
def test_the_brokers_text_about_a_rejected_login_reaches_the_client_alone(mechanism, version):
    """It may quote what the client sent: a validator of tokens is the cluster's own code."""
    said = authenticated(b"quoted: " + SECRET, REJECTED, version, text=b"invalid: " + SECRET)
    session = accept(Conversation(locked()), mechanism, [], 1).session
    effects = session.client_bytes(authenticate(WRONG[mechanism] + SECRET, version), NOW_MS)
    effects += session.broker_bytes(said, NOW_MS) + session.client_lost()
    passed = [each for each in effects if isinstance(each, SendToClient)]
    assert b"".join(each.data for each in passed) == said
    assert [each.error for each in effects if isinstance(each, SaslFailed)] == ["SASL_AUTHENTICATION_FAILED"]
    told = b"".join(told_of(each) for each in effects if each not in passed)
    assert traces(told, {"secret": SECRET}) == []


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(("name", "told"), [("SCRAM-SHA-512", "SCRAM-SHA-512"), ("a password", "other")])
def test_a_rejected_mechanism_is_told_by_a_name_of_a_closed_list(version, name, told):
    sent, said = handshake(name, version), shaken(33, version)
    conversation = rejected(Conversation(locked()), sent, said, failed(told, "UNSUPPORTED_SASL_MECHANISM"))
    assert conversation >> broker_is_lost << closed(CloseReason.SASL_FAILED)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_raw_token_that_a_broker_answers_by_closing_is_told(mechanism):
    """Handshake v0: a broker has no other way to reject."""
    token = frame(WRONG[mechanism])
    assert (
        accept_raw(mechanism)
        >> client(token)
        << to_broker(token)
        << paused
        >> broker_is_lost
        << failed(mechanism, "the broker closed instead of an answer")
        << closed(CloseReason.SASL_FAILED)
    )


def accept_raw(mechanism):
    sent, said = handshake(mechanism, 0), shaken(version=0)
    return rejected(Conversation(locked()), sent, said)


def test_a_client_that_goes_while_the_broker_thinks_has_not_failed():
    token = frame(WRONG["PLAIN"])
    assert (
        accept_raw("PLAIN")
        >> client(token)
        << to_broker(token)
        << paused
        >> client_is_lost
        << closed(CloseReason.PEER_CLOSED)
    )


@pytest.mark.parametrize("ends", [broker_is_lost, client_is_lost])
def test_an_exchange_that_nobody_goes_on_with_has_not_failed(ends):
    steps = EXCHANGES["SCRAM-SHA-256"][1][:1]
    assert (
        accept(Conversation(locked()), "SCRAM-SHA-256", steps, 1) >> ends << closed(CloseReason.PEER_CLOSED)
    )


@pytest.mark.parametrize("ends", [broker_is_lost, client_is_lost])
def test_a_bearer_that_goes_after_the_text_that_rejects_its_token_has_failed(ends):
    """RFC 7628: the answer has no error code; clients need not ask for one."""
    conversation = accept(Conversation(locked()), "OAUTHBEARER", [(b"forged", INVALID_TOKEN)], 1)
    told = failed("OAUTHBEARER", "the broker rejected the token")
    assert conversation >> ends << told << closed(CloseReason.SASL_FAILED)


def test_a_bearer_with_a_second_and_better_token_has_not_failed():
    steps = [(b"forged", INVALID_TOKEN), *EXCHANGES["OAUTHBEARER"][1]]
    conversation = accept(Conversation(locked()), "OAUTHBEARER", steps, 1)
    assert conversation >> client_is_lost << closed(CloseReason.PEER_CLOSED)


def test_a_renewal_that_is_rejected_is_told():
    """KIP-368: such a client loses a connection that worked."""
    conversation = accept(Conversation(locked()), *EXCHANGES["PLAIN"][:2], 1)
    conversation = accept(conversation, "PLAIN", [], 1)
    error = failed("PLAIN", "SASL_AUTHENTICATION_FAILED")
    sent, said = authenticate(WRONG["PLAIN"]), authenticated(error_code=REJECTED)
    conversation = conversation >> client(sent) << to_broker(sent) << paused
    assert conversation >> broker(said) << to_client(said) << error << closed(CloseReason.SASL_FAILED)


def test_a_renewal_where_the_broker_knows_none_is_no_failure():
    """ILLEGAL_SASL_STATE (34), and the connection goes on."""
    conversation = accept(Conversation(locked()), *EXCHANGES["PLAIN"][:2], 1)
    conversation = rejected(conversation, handshake("PLAIN"), shaken(34))
    asked = request(METADATA, 1, struct.pack(">i", 0))
    conversation = conversation >> client(asked) << to_broker(asked)
    assert conversation >> client_is_lost << closed(CloseReason.PEER_CLOSED)


def test_each_login_that_fails_is_told_once():
    conversation = Conversation(locked())
    for _ in range(2):
        conversation = rejected(
            conversation, handshake("X"), shaken(33), failed("other", "UNSUPPORTED_SASL_MECHANISM")
        )
    assert conversation >> broker_is_lost << closed(CloseReason.SASL_FAILED)
