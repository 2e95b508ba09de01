"""SASL passes through; before the broker has accepted the peer nothing is judged and nothing slips by."""

import base64
import json
import re
import struct

import pytest

from tests.planted import traces
from tests.session.conversation import (
    NOW_MS,
    PEER,
    Conversation,
    Session,
    booked,
    broker,
    client,
    closed,
    noted,
    paused,
    resumed,
    sasl_failed,
    to_broker,
    to_client,
    view_of,
)
from tests.session.messages import (
    API_VERSIONS,
    HEARTBEAT,
    METADATA,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    accepted,
    answer,
    frame,
    produce,
    produced,
    request,
)
from tests.wire.batches import batch, unsigned
from tsproxy.model.kafka import ErrorCode
from tsproxy.session.effects import CloseReason, SendToBroker, SendToClient

GOOD, BAD = batch([NOW_MS]), batch([0])

SECRET = b"correct horse battery staple"
DASHED = SECRET.replace(b" ", b"-")


def locked():
    """A session whose broker wants SASL first."""
    return view_of(broker_needs_sasl=True)


def handshake(mechanism, version=1, correlation_id=10):
    body = struct.pack(">h", len(mechanism)) + mechanism.encode()
    return request(SASL_HANDSHAKE, version, body, correlation_id)


def shaken(error_code=0, version=1, correlation_id=10):
    return answer(SASL_HANDSHAKE, version, struct.pack(">hi", error_code, 0), correlation_id)


def authenticate(token, version=1, correlation_id=11):
    if version < 2:
        body = struct.pack(">i", len(token)) + token
    else:
        body = unsigned(len(token) + 1) + token + b"\x00"
    return request(SASL_AUTHENTICATE, version, body, correlation_id)


def authenticated(token=b"", error_code=0, version=1, correlation_id=11, text=b""):
    """The broker's answer to a token, with this error text (null if it is empty)."""
    code, lifetime = struct.pack(">h", error_code), struct.pack(">q", 60_000)
    if version < 2:
        said = struct.pack(">h", len(text) or -1) + text
        body = code + said + struct.pack(">i", len(token)) + token + (lifetime if version else b"")
    else:
        said = unsigned(len(text) + 1 if text else 0) + text
        body = code + said + unsigned(len(token) + 1) + token + lifetime + b"\x00"
    return answer(SASL_AUTHENTICATE, version, body, correlation_id)


def bearer(claims):
    """A token as OAUTHBEARER carries it; its signature is the broker's to check."""
    encoded = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    return b"n,,\x01auth=Bearer e30." + encoded + b"." + DASHED + b"\x01\x01"


EXCHANGES = {
    "PLAIN": ("PLAIN", [(b"\x00alice\x00" + SECRET, b"")], "User:alice"),
    "SCRAM-SHA-256": (
        "SCRAM-SHA-256",
        [(b"n,,n=alice,r=fyko", b"r=fyko3r,s=QSXC,i=4096"), (b"c=biws,r=fyko3r,p=" + SECRET, b"v=rmF9")],
        "User:alice",
    ),
    "SCRAM with an escaped name": (
        "SCRAM-SHA-512",
        [(b"n,,n=a=2Cb=3Dc,r=fyko", b"r=fyko3r,s=QSXC,i=4096"), (b"c=biws,p=" + SECRET, b"v=rmF9")],
        "User:a,b=c",
    ),
    "OAUTHBEARER": ("OAUTHBEARER", [(bearer({"sub": "alice"}), b"")], "User:alice"),
    "OAUTHBEARER with somebody else's token before it": (
        "OAUTHBEARER",
        [(bearer({"sub": "root"}).rstrip(b"\x01") + bearer({"sub": "alice"})[3:], b"")],
        "User:alice",
    ),
    "OAUTHBEARER with somebody else's token under another key": (
        "OAUTHBEARER",
        [
            (
                bearer({"sub": "root"}).rstrip(b"\x01").replace(b"auth", b"AUTH")
                + bearer({"sub": "alice"})[3:],
                b"",
            )
        ],
        "User:alice",
    ),
    "a delegation token, by its id": (
        "SCRAM-SHA-256",
        [
            (b"n,,n=c2VjcmV0,r=fyko,tokenauth=true", b"r=fyko3r,s=QSXC,i=4096"),
            (b"c=biws,r=fyko3r,p=" + SECRET, b"v=rmF9"),
        ],
        None,
    ),
    "OAUTHBEARER without a subject": ("OAUTHBEARER", [(bearer({"scope": "x"}), b"")], None),
    "OAUTHBEARER with claims that are none": ("OAUTHBEARER", [(bearer(["sub"]), b"")], None),
    "OAUTHBEARER that is no JWT": (
        "OAUTHBEARER",
        [(b"n,,\x01auth=Bearer " + DASHED + b"\x01\x01", b"")],
        None,
    ),
    "OAUTHBEARER with claims nested without end": (
        "OAUTHBEARER",
        [
            (
                b"n,,\x01auth=Bearer e30."
                + base64.urlsafe_b64encode(b"[" * 99_999)
                + b"."
                + DASHED
                + b"\x01",
                b"",
            )
        ],
        None,
    ),
    "GSSAPI": ("GSSAPI", [(b"\x60\x01", b"\x60\x02"), (b"", b"\x05\x04"), (SECRET, b"")], None),
}
"""mechanism, (the client's token, the broker's answer) step by step, the principal that is booked"""


BY_RAW_TOKENS = {name: each for name, each in EXCHANGES.items() if name != "GSSAPI"}
"""The exchanges after SaslHandshake v0. GSSAPI's would never end."""


def accept(conversation, mechanism, steps, version):
    """Walk through an exchange; every step goes in lockstep."""
    conversation = (
        conversation
        >> client(handshake(mechanism))
        << to_broker(handshake(mechanism))
        << paused
        >> broker(shaken())
        << to_client(shaken())
        << resumed
    )
    for token, told in steps:
        sent, said = authenticate(token, version), authenticated(told, version=version)
        conversation = (
            conversation
            >> client(sent)
            << to_broker(sent)
            << paused
            >> broker(said)
            << to_client(said)
            << resumed
        )
    return conversation


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize(("mechanism", "steps", "principal"), EXCHANGES.values(), ids=EXCHANGES)
def test_an_accepted_peer_is_judged_under_its_name(mechanism, steps, principal, version):
    conversation = accept(Conversation(locked()), mechanism, steps, version)
    asked = produce({"t": {0: GOOD, 1: BAD}})
    own = produced({"t": {0: accepted()}})
    conversation = (
        conversation
        >> client(asked)
        << to_broker(produce({"t": {0: GOOD}}))
        << booked("rejected", partition=1)
    )
    _, emitted = conversation.session.broker_bytes(own, NOW_MS)
    assert emitted.outcome.peer.principal == principal


@pytest.mark.parametrize(("mechanism", "steps", "principal"), BY_RAW_TOKENS.values(), ids=BY_RAW_TOKENS)
def test_raw_tokens_of_handshake_v0_pass_without_a_header(mechanism, steps, principal):
    conversation = (
        Conversation(locked())
        >> client(handshake(mechanism, 0))
        << to_broker(handshake(mechanism, 0))
        << paused
        >> broker(shaken(version=0))
        << to_client(shaken(version=0))
        << resumed
    )
    for token, told in steps:
        conversation = (
            conversation
            >> client(frame(token))
            << to_broker(frame(token))
            << paused
            >> broker(frame(told))
            << to_client(frame(told))
            << resumed
        )
    *_, emitted = conversation.session.client_bytes(produce({"t": {0: BAD}}), NOW_MS)
    assert emitted.outcome.peer.principal == principal


# -- Before acceptance ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [produce({"t": {0: GOOD}}), produce({"t": {0: BAD}}), request(METADATA, 1), request(9999)],
    ids=["good produce", "bad produce", "metadata", "unknown"],
)
@pytest.mark.parametrize("is_shaken", [False, True])
def test_nothing_but_sasl_passes_before_the_peer_is_accepted(asked, is_shaken):
    """No answer, no decision, no topic asked for: a broker closes without a word."""
    conversation = accept(Conversation(locked()), "PLAIN", [], 1) if is_shaken else Conversation(locked())
    assert (
        conversation >> client(asked) << noted("client_rejected") << closed(CloseReason.UNSUPPORTED_REQUEST)
    )


def test_api_versions_passes_before_the_peer_is_accepted():
    asked = request(API_VERSIONS, 0)
    said = answer(API_VERSIONS, 0, struct.pack(">hi3h", 0, 1, 17, 0, 1))
    conversation = Conversation(locked()) >> client(asked) << to_broker(asked)
    assert accept(conversation >> broker(said) << to_client(said), *EXCHANGES["PLAIN"][:2], 1)


FAILED = (sasl_failed,)
STEPS = {
    "handshake": (handshake("PLAIN"), shaken(), ()),
    "rejected handshake": (handshake("NONE"), shaken(33), FAILED),
    "challenged token": (authenticate(b"\x60\x01"), authenticated(b"\x60\x02"), ()),
    "rejected token": (authenticate(b"\x00alice\x00no"), authenticated(error_code=58), FAILED),
}


def test_gssapi_by_raw_tokens_is_rejected_at_once_and_not_left_hanging():
    """The broker does not answer its last token, and the proxy would wait for that."""
    asked = handshake("GSSAPI", version=0)
    text = "GSSAPI by SaslHandshake version 0: use a client that sends SaslAuthenticate (Kafka 1.0)"
    assert (
        Conversation(locked())
        >> client(asked)
        << noted("client_rejected")
        << closed(CloseReason.UNSUPPORTED_REQUEST, text=text)
    )


@pytest.mark.parametrize(("asked", "said", "told"), STEPS.values(), ids=STEPS)
def test_no_request_slips_by_behind_a_step_that_has_not_accepted_the_peer(asked, said, told):
    conversation = accept(Conversation(locked()), "GSSAPI", [], 1)
    conversation = (
        conversation
        >> client(asked, produce({"t": {0: BAD}}))
        << to_broker(asked)
        << paused
        >> client(produce({"t": {0: GOOD}}))
        >> broker(said)
        << to_client(said)
    )
    for expected in told:
        conversation = conversation << expected
    assert conversation << noted("client_rejected") << closed(CloseReason.UNSUPPORTED_REQUEST)


def test_a_request_behind_the_last_step_is_judged_when_the_peer_is_accepted():
    last, said = authenticate(b"\x00alice\x00pw"), authenticated()
    conversation = accept(Conversation(locked()), "PLAIN", [], 1)
    assert (
        conversation
        >> client(last, produce({"t": {0: GOOD}}))
        << to_broker(last)
        << paused
        >> broker(said)
        << to_broker(produce({"t": {0: GOOD}}))
        << to_client(said)
        << resumed
    )


@pytest.mark.parametrize(
    ("mechanism", "told"),
    [
        ("PLAIN", b"more"),
        ("SCRAM-SHA-256", b"r=fyko3r,s=QSXC,i=4096"),
        ("SCRAM-SHA-512", b"e=other-error"),
        ("OAUTHBEARER", b'{"status":"invalid_token"}'),
        ("GSSAPI", b"\x60\x02"),
    ],
)
def test_a_challenge_is_no_acceptance(mechanism, told):
    steps = [(b"n,,n=alice,r=fyko", told)]
    conversation = accept(Conversation(locked()), mechanism, steps, 1)
    assert (
        conversation
        >> client(produce({"t": {0: BAD}}))
        << noted("client_rejected")
        << closed(CloseReason.UNSUPPORTED_REQUEST)
    )


def test_the_first_answer_without_error_accepts_a_peer_whose_mechanism_nobody_knows():
    """Nothing says how many steps it has; AWS_MSK_IAM, for one, has a single one and a long answer."""
    steps = [(b"signed", b'{"version":"2020_10_22"}')]
    asked = request(HEARTBEAT)
    assert accept(Conversation(locked()), "AWS_MSK_IAM", steps, 1) >> client(asked) << to_broker(asked)


def test_a_rejected_peer_is_not_accepted():
    sent, said = authenticate(b"\x00alice\x00wrong"), authenticated(error_code=58)
    conversation = (
        accept(Conversation(locked()), "PLAIN", [], 1)
        >> client(sent)
        << to_broker(sent)
        << paused
        >> broker(said)
        << to_client(said)
        << sasl_failed
        << resumed
    )
    assert (
        conversation
        >> client(produce({"t": {0: BAD}}))
        << noted("client_rejected")
        << closed(CloseReason.UNSUPPORTED_REQUEST)
    )


def test_a_rejected_handshake_v0_takes_no_raw_tokens():
    asked, said = handshake("NONE", 0), shaken(33, 0)
    again = handshake("PLAIN", 1)
    assert (
        Conversation(locked())
        >> client(asked)
        << to_broker(asked)
        << paused
        >> broker(said)
        << to_client(said)
        << sasl_failed
        << resumed
        >> client(again)
        << to_broker(again)
        << paused
    )


# -- After acceptance -------------------------------------------------------------------------------


def test_where_the_broker_needs_no_sasl_everybody_is_accepted():
    asked = request(HEARTBEAT)
    assert Conversation(view_of()) >> client(asked) << to_broker(asked)


def test_a_peer_may_authenticate_again_between_its_requests():
    """KIP-368: the exchange stands among other requests, and its lockstep holds what comes behind it."""
    asked = produce({"t": {0: GOOD}}, correlation_id=1)
    own = produced({"t": {0: accepted()}}, correlation_id=1)
    later = request(HEARTBEAT, correlation_id=20)
    conversation = accept(Conversation(locked()), *EXCHANGES["PLAIN"][:2], 1)
    assert (
        conversation
        >> client(asked, handshake("PLAIN"), later)
        << to_broker(asked, handshake("PLAIN"))
        << paused
        >> broker(own, shaken())
        << to_broker(later)
        << to_client(own, shaken())
        << booked("accepted")
        << resumed
    )


RENEWALS_THAT_FAIL = {
    "the handshake": ([], handshake("NONE"), shaken(33)),
    "the token": (
        [(handshake("PLAIN"), shaken())],
        authenticate(b"\0bob\0password"),
        authenticated(error_code=58),
    ),
}


@pytest.mark.parametrize("behind", [produce({"t": {0: BAD}}), produce({"t": {0: GOOD}}), request(HEARTBEAT)])
@pytest.mark.parametrize(("steps", "sent", "said"), RENEWALS_THAT_FAIL.values(), ids=RENEWALS_THAT_FAIL)
def test_behind_a_renewal_that_fails_nothing_is_forwarded_judged_or_booked(steps, sent, said, behind):
    """KIP-368: the broker closes. Until it does, no request of that client counts any more."""
    conversation = accept(Conversation(locked()), *EXCHANGES["PLAIN"][:2], 1)
    for asked, answered in steps:
        conversation = (
            conversation
            >> client(asked)
            << to_broker(asked)
            << paused
            >> broker(answered)
            << to_client(answered)
            << resumed
        )
    assert (
        conversation
        >> client(sent, behind)
        << to_broker(sent)
        << paused
        >> broker(said)
        << to_client(said)
        << sasl_failed
        << closed(CloseReason.SASL_FAILED)
    )


def test_a_broker_without_renewals_says_so_and_the_session_goes_on():
    later, said = request(HEARTBEAT, correlation_id=20), shaken(ErrorCode.ILLEGAL_SASL_STATE)
    conversation = accept(Conversation(locked()), *EXCHANGES["PLAIN"][:2], 1)
    assert (
        conversation
        >> client(handshake("PLAIN"), later)
        << to_broker(handshake("PLAIN"))
        << paused
        >> broker(said)
        << to_broker(later)
        << to_client(said)
        << resumed
    )


# -- Secrets ----------------------------------------------------------------------------------------


def told_of(effect):
    """Everything that an effect says, but for what it sends to the broker."""
    return b"" if isinstance(effect, SendToBroker) else repr(effect).encode()


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(("mechanism", "steps", "principal"), EXCHANGES.values(), ids=EXCHANGES)
def test_a_secret_is_in_nothing_but_what_goes_to_the_broker(mechanism, steps, principal, version):
    session = Session(PEER, locked())
    effects = session.client_bytes(handshake(mechanism, version), NOW_MS)
    effects += session.broker_bytes(shaken(version=version), NOW_MS)
    for token, told in steps:
        effects += session.client_bytes(authenticate(token) if version else frame(token), NOW_MS)
        effects += session.broker_bytes(authenticated(told) if version else frame(told), NOW_MS)
    effects += session.client_bytes(produce({"t": {0: BAD}, "new": {0: GOOD}}), NOW_MS)
    effects += session.client_bytes(request(9999), NOW_MS) + session.client_lost()
    sent = b"".join(effect.data for effect in effects if isinstance(effect, SendToBroker))
    told = b"".join(told_of(effect) for effect in effects)
    assert (SECRET in sent or DASHED in sent) == (version == 1 or mechanism != "GSSAPI")
    assert traces(told, {"password": SECRET, "token": DASHED}) == []


@pytest.mark.parametrize(
    "token",
    [SECRET, SECRET[:3], b"\xff" + SECRET, b"\x00\x00\x00\x05" + SECRET, b"\x00\xff\xff\xff" + SECRET],
)
def test_a_token_without_its_length_shows_nothing_of_itself(token):
    """A client that forgets the length in front: what was read as one is part of the token."""
    session = Session(PEER, locked())
    session.client_bytes(handshake("PLAIN", 0), NOW_MS)
    session.broker_bytes(shaken(version=0), NOW_MS)
    effects = session.client_bytes(token, NOW_MS) + session.client_bytes(SECRET, NOW_MS)
    told = b"".join(told_of(effect) for effect in effects)
    head = int.from_bytes(token[:4], "big", signed=True)
    shown = [SECRET[:4], SECRET[:4].hex(" ").encode(), str(head).encode()]
    assert not [text for text in shown if text in told]
    assert not [effect for effect in effects if isinstance(effect, SendToClient)]


RAW_TOKENS = [b"\x00al\x00pw", b"\x00alice\x00secret", b"\x00a\x00" + SECRET, b"\x7f\xff\x00\x00" + SECRET]


@pytest.mark.parametrize("token", RAW_TOKENS)
def test_a_token_where_a_request_is_due_is_rejected_without_a_number_made_of_it(token):
    """A client that leaves out the handshake: its token reads as API key, version, sizes."""
    session = Session(PEER, locked())
    effects = session.client_bytes(frame(token), NOW_MS)
    shown = re.findall(r"\d+", str([effect for effect in effects if not isinstance(effect, SendToBroker)]))

    assert effects
    assert effects[-1].text in (
        "not a request, before authentication",
        "Produce before authentication",
        "an unknown API before authentication",
    )
    assert shown == []
