"""SASL passes through. Before the broker has accepted the peer, nothing is judged and nothing slips by; then
its principal is who the broker authenticated, or nobody.
"""

import re
import struct
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planted import traces
from tests.session.conversation import (
    NOW_MS,
    PEER,
    Conversation,
    Expected,
    Session,
    booked,
    broker,
    broker_is_lost,
    client,
    client_is_lost,
    closed,
    forwarded,
    noted,
    paused,
    relayed,
    resumed,
    returned,
    to_broker,
    to_client,
    view_of,
)
from tests.session.logins import (
    DASHED,
    EXCHANGES,
    PLAIN,
    RAW,
    SECRET,
    authenticate,
    authenticated,
    handshake,
    initial,
    jwt,
    locked,
    log_in,
    login,
    scram,
    shaken,
)
from tests.session.messages import (
    API_VERSIONS,
    FETCH,
    HEARTBEAT,
    METADATA,
    accepted,
    answer,
    frame,
    produce,
    produced,
    request,
)
from tests.session.names import ADMINS, BY_BROKERS_ALONE, NAMES
from tests.wire.batches import batch
from tsproxy.model.kafka import ErrorCode
from tsproxy.session.effects import CloseReason, Emit, NoteOld, SaslFailed, SendToBroker, SendToClient
from tsproxy.session.sasl_names import bearer_name, plain_name, scram_name

GOOD, BAD = batch([NOW_MS]), batch([0])
REJECTED = 58
INVALID_TOKEN = b'{"status":"invalid_token"}'
JAVAS_BLANKS = "".join(map(chr, range(33)))


def failed(mechanism="PLAIN", error="SASL_AUTHENTICATION_FAILED"):
    return Expected(SaslFailed, {"mechanism": mechanism, "error": error})


UNSUPPORTED = failed("other", "UNSUPPORTED_SASL_MECHANISM")


def logged_in(exchange=PLAIN, version=1):
    """Each step goes on as it came, and so does its answer. The client is not read meanwhile."""
    conversation = Conversation(locked())
    for sent, said in login(*exchange, version):
        conversation = conversation.in_step(sent, said, resumed)
    return conversation


def shook(mechanism, version=1):
    return logged_in((mechanism, []), version)


def rejects(conversation, asked):
    """No answer, no decision, no topic is asked for: a broker closes without a word."""
    rejected = conversation >> client(asked) << noted("client_rejected")
    return rejected << closed(CloseReason.UNSUPPORTED_REQUEST)


def principal_of(session):
    """Under which it books a batch that it rejects."""
    effects = session.client_bytes(produce({"t": {0: BAD}}), NOW_MS)
    [outcome] = [effect.outcome for effect in effects if isinstance(effect, Emit)]
    return outcome.peer.principal


def principal_after(*exchanges, version=1, peer=PEER, view=None):
    session = Session(peer, view or locked())
    for exchange in exchanges:
        log_in(session, *exchange, version)
    return principal_of(session)


# -- Before acceptance ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [produce({"t": {0: GOOD}}), produce({"t": {0: BAD}}), request(METADATA, 1), request(9999)],
    ids=["good produce", "bad produce", "metadata", "unknown"],
)
@pytest.mark.parametrize("is_shaken", [False, True])
def test_nothing_but_sasl_passes_before_the_peer_is_accepted(asked, is_shaken):
    assert rejects(shook("PLAIN") if is_shaken else Conversation(locked()), asked)


def test_api_versions_passes_before_the_peer_is_accepted():
    asked = request(API_VERSIONS, 0)
    said = answer(API_VERSIONS, 0, struct.pack(">hi3h", 0, 1, 17, 0, 1))
    conversation = Conversation(locked()) >> relayed(asked, said)
    for step in login(*PLAIN):
        conversation = conversation.in_step(*step, resumed)
    assert conversation


def test_gssapi_by_raw_tokens_is_rejected_at_once_and_not_left_hanging():
    """The broker does not answer its last token, and the proxy would wait for that."""
    text = "GSSAPI by SaslHandshake version 0: use a client that sends SaslAuthenticate (Kafka 1.0)"
    assert (
        Conversation(locked())
        >> client(handshake("GSSAPI", version=0))
        << noted("client_rejected")
        << closed(CloseReason.UNSUPPORTED_REQUEST, text=text)
    )


STEPS = {
    "handshake": (handshake("PLAIN"), shaken()),
    "rejected handshake": (handshake("NONE"), shaken(33), UNSUPPORTED),
    "challenged token": (authenticate(b"\x60\x01"), authenticated(b"\x60\x02")),
    "rejected token": (authenticate(b"\x60\x01"), authenticated(error_code=REJECTED), failed("GSSAPI")),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_no_request_slips_by_behind_a_step_that_has_not_accepted_the_peer(step):
    asked, said, *told = step
    conversation = shook("GSSAPI") >> client(asked, produce({"t": {0: BAD}})) << to_broker(asked) << paused
    conversation = conversation >> client(produce({"t": {0: GOOD}})) >> returned(said)
    assert conversation << tuple(told) << noted("client_rejected") << closed(CloseReason.UNSUPPORTED_REQUEST)


def test_a_request_behind_the_last_step_is_judged_when_the_peer_is_accepted():
    last, said = authenticate(b"\x00alice\x00pw"), authenticated()
    assert (
        shook("PLAIN")
        >> client(last, produce({"t": {0: GOOD}}))
        << to_broker(last)
        << paused
        >> broker(said)
        << to_broker(produce({"t": {0: GOOD}}))
        << to_client(said)
        << resumed
    )


CHALLENGES = {
    "PLAIN": b"more",
    "SCRAM-SHA-256": b"r=fyko3r,s=QSXC,i=4096",
    "SCRAM-SHA-512": b"e=other-error",
    "OAUTHBEARER": INVALID_TOKEN,
    "GSSAPI": b"\x60\x02",
}


@pytest.mark.parametrize(("mechanism", "told"), CHALLENGES.items())
def test_a_challenge_is_no_acceptance(mechanism, told):
    assert rejects(logged_in((mechanism, [(b"n,,n=alice,r=fyko", told)])), produce({"t": {0: BAD}}))


def test_a_rejected_handshake_v0_takes_no_raw_tokens():
    conversation = Conversation(locked()).in_step(handshake("NONE", 0), shaken(33, 0), UNSUPPORTED, resumed)
    assert conversation.in_step(handshake("PLAIN"), shaken(), resumed)


# -- After acceptance -------------------------------------------------------------------------------


def test_a_peer_may_authenticate_again_between_its_requests():
    """KIP-368: the exchange stands among other requests, and its lockstep holds what comes behind it."""
    asked = produce({"t": {0: GOOD}}, correlation_id=1)
    own = produced({"t": {0: accepted()}}, correlation_id=1)
    later = request(HEARTBEAT, correlation_id=20)
    assert (
        logged_in()
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
    "the handshake": ([], handshake("NONE"), shaken(33), UNSUPPORTED),
    "the token": (
        [(handshake("PLAIN"), shaken())],
        authenticate(b"\0bob\0password"),
        authenticated(error_code=REJECTED),
        failed(),
    ),
}


@pytest.mark.parametrize("behind", [produce({"t": {0: BAD}}), produce({"t": {0: GOOD}}), request(HEARTBEAT)])
@pytest.mark.parametrize("renewal", RENEWALS_THAT_FAIL.values(), ids=RENEWALS_THAT_FAIL)
def test_behind_a_renewal_that_fails_nothing_is_forwarded_judged_or_booked(renewal, behind):
    """KIP-368: the broker closes. Until it does, no request of that client counts any more."""
    conversation, (steps, sent, said, told) = logged_in(), renewal
    for step in steps:
        conversation = conversation.in_step(*step, resumed)
    conversation = conversation >> client(sent, behind) << to_broker(sent) << paused
    assert conversation >> returned(said) << told << closed(CloseReason.SASL_FAILED)


def test_a_broker_without_renewals_says_so_and_the_session_goes_on():
    later, said = request(HEARTBEAT, correlation_id=20), shaken(ErrorCode.ILLEGAL_SASL_STATE)
    assert (
        logged_in()
        >> client(handshake("PLAIN"), later)
        << to_broker(handshake("PLAIN"))
        << paused
        >> broker(said)
        << to_broker(later)
        << to_client(said)
        << resumed
        >> client_is_lost
        << closed(CloseReason.PEER_CLOSED)
    )


# -- Logins that fail: each is told once, by its mechanism and the broker's error ------------------------

WRONG = {
    "PLAIN": b"\x00alice\x00" + SECRET,
    "SCRAM-SHA-256": b"n,,n=alice,r=abc",
    "SCRAM-SHA-512": b"n,,n=alice,r=abc",
    "OAUTHBEARER": b"\x01",
    "GSSAPI": b"\x60\x01",
    "AWS_MSK_IAM": SECRET,
}

each_end = pytest.mark.parametrize("ends", [broker_is_lost, client_is_lost])


@each_end
@pytest.mark.parametrize(("mechanism", "token"), WRONG.items(), ids=WRONG)
def test_a_rejected_token_is_told_with_its_answer_and_is_why_the_session_ends(mechanism, token, ends):
    step = authenticate(token), authenticated(error_code=REJECTED)
    conversation = shook(mechanism).in_step(*step, failed(mechanism), resumed)
    assert conversation >> ends << closed(CloseReason.SASL_FAILED)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("mechanism", WRONG)
def test_the_brokers_text_about_a_rejected_login_reaches_the_client_alone(mechanism, version):
    """It may quote what the client sent: a validator of tokens is the cluster's own code."""
    said = authenticated(b"quoted: " + SECRET, REJECTED, version, text=b"invalid: " + SECRET)
    session = shook(mechanism).session
    effects = session.client_bytes(authenticate(WRONG[mechanism] + SECRET, version), NOW_MS)
    effects += session.broker_bytes(said, NOW_MS) + session.client_lost()
    passed = [effect for effect in effects if isinstance(effect, SendToClient)]
    assert b"".join(effect.data for effect in passed) == said
    assert [effect.error for effect in effects if isinstance(effect, SaslFailed)] == [
        "SASL_AUTHENTICATION_FAILED"
    ]
    told = b"".join(told_of(effect) for effect in effects if effect not in passed)
    assert traces(told, {"secret": SECRET}) == []


@pytest.mark.parametrize(("code", "error"), [(33, "UNSUPPORTED_SASL_MECHANISM"), (999, "error 999")])
@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(("name", "told"), [("SCRAM-SHA-512", "SCRAM-SHA-512"), ("a password", "other")])
def test_a_rejected_mechanism_is_told_each_time_by_a_name_of_a_closed_list(version, name, told, code, error):
    conversation = Conversation(locked())
    for _ in range(2):
        said = shaken(code, version)
        conversation = conversation.in_step(handshake(name, version), said, failed(told, error), resumed)
    assert conversation >> broker_is_lost << closed(CloseReason.SASL_FAILED)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_raw_token_that_a_broker_answers_by_closing_is_told(mechanism):
    """Handshake v0: a broker has no other way to reject. A client that goes meanwhile has not failed."""
    token, error = frame(WRONG[mechanism]), failed(mechanism, "the broker closed instead of an answer")
    for end, told in (
        (broker_is_lost, (error, closed(CloseReason.SASL_FAILED))),
        (client_is_lost, (closed(CloseReason.PEER_CLOSED),)),
    ):
        assert shook(mechanism, RAW) >> forwarded(token) << paused >> end << told


@each_end
def test_an_exchange_that_nobody_goes_on_with_has_not_failed(ends):
    mechanism, tokens = EXCHANGES["SCRAM-SHA-256"]
    assert logged_in((mechanism, tokens[:1])) >> ends << closed(CloseReason.PEER_CLOSED)


@each_end
def test_a_bearer_that_goes_after_the_text_that_rejects_its_token_has_failed(ends):
    """RFC 7628: the answer has no error code; clients need not ask for one."""
    told = failed("OAUTHBEARER", "the broker rejected the token")
    conversation = logged_in(("OAUTHBEARER", [(b"forged", INVALID_TOKEN)]))
    assert conversation >> ends << told << closed(CloseReason.SASL_FAILED)


def test_a_bearer_with_a_second_and_better_token_has_not_failed():
    tokens = [(b"forged", INVALID_TOKEN), *EXCHANGES["OAUTHBEARER"][1]]
    assert logged_in(("OAUTHBEARER", tokens)) >> client_is_lost << closed(CloseReason.PEER_CLOSED)


# -- Secrets ----------------------------------------------------------------------------------------


def told_of(effect):
    """Everything that an effect says, but for what it sends to the broker."""
    return b"" if isinstance(effect, SendToBroker) else repr(effect).encode()


@pytest.mark.parametrize("version", [RAW, 1])
@pytest.mark.parametrize("exchange", EXCHANGES.values(), ids=EXCHANGES)
def test_a_secret_is_in_nothing_but_what_goes_to_the_broker(exchange, version):
    session = Session(PEER, locked())
    effects = log_in(session, *exchange, version)
    effects += session.client_bytes(produce({"t": {0: BAD}, "new": {0: GOOD}}), NOW_MS)
    effects += session.client_bytes(request(9999), NOW_MS) + session.client_lost()
    sent = b"".join(effect.data for effect in effects if isinstance(effect, SendToBroker))
    told = b"".join(told_of(effect) for effect in effects)
    assert (SECRET in sent or DASHED in sent) == (version == 1 or exchange[0] != "GSSAPI")
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


NOT_BEFORE_A_LOGIN = {
    b"\x00al\x00pw": "not a request,",
    b"\x00\x00alice\x00secret": "Produce",
    b"\x00alice\x00secret": "an unknown API",
    b"\x00a\x00" + SECRET: "an unknown API",
    b"\x7f\xff\x00\x00" + SECRET: "an unknown API",
}


@pytest.mark.parametrize(("token", "read_as"), NOT_BEFORE_A_LOGIN.items())
def test_a_token_where_a_request_is_due_is_rejected_without_a_number_made_of_it(token, read_as):
    """A client that leaves out the handshake: its token reads as API key, version, sizes."""
    session = Session(PEER, locked())
    effects = session.client_bytes(frame(token), NOW_MS)
    shown = re.findall(r"\d+", str([effect for effect in effects if not isinstance(effect, SendToBroker)]))

    assert effects[-1].text == f"{read_as} before authentication"
    assert shown == []


# -- Names: a token's, as the broker reads it, or none ------------------------------------------------

FINALS = [
    b"c=biws,r=abcdef,p=cHJvb2Y=",
    b"c=biws,r=abcdef,n=admin,p=cHJvb2Y=",
    b"n,,n=admin,r=abcdef",
    b"n=admin",
    b"c=biws,r=abcdef,tokenauth=true,p=cHJvb2Y=",
]
"""Second messages of SCRAM. Nobody signs their extensions, so these must not choose the principal."""


@pytest.mark.parametrize("version", [RAW, 1])
@pytest.mark.parametrize("mechanism", NAMES)
def test_a_name_is_read_as_the_broker_reads_it_or_not_at_all(mechanism, version):
    nobody = BY_BROKERS_ALONE if mechanism == "OAUTHBEARER" else ()
    for token, name in {**NAMES[mechanism], **dict.fromkeys(nobody)}.items():
        for final in FINALS if mechanism.startswith("SCRAM") else [b""]:
            exchange = scram(token, final, mechanism) if final else (mechanism, [(token, b"")])
            assert principal_after(exchange, version=version) == (name and f"User:{name}"), token[:200]


LOGINS = [(name, v) for name in EXCHANGES for v in (RAW, 0, 1, 2) if (name, v) != ("GSSAPI", RAW)]


@pytest.mark.parametrize(("name", "version"), LOGINS)
def test_an_accepted_peer_is_judged_under_its_name(name, version):
    is_named = name in ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER")
    session = logged_in(EXCHANGES[name], version).session
    principal = "User:alice" if is_named else None
    assert principal_of(session) == principal
    noted = session.client_bytes(request(FETCH, 3, body=bytes(60)), NOW_MS)  # a version that Kafka 4 lacks
    assert [note.request.peer.principal for note in noted if isinstance(note, NoteOld)] == [principal]


FORGED = initial(ADMINS), INVALID_TOKEN


@pytest.mark.parametrize("version", [RAW, 1])
@pytest.mark.parametrize(
    ("token", "principal"), [(initial(jwt({"sub": "mallory"})), "User:mallory"), (initial(b"opaque"), None)]
)
def test_a_bearers_name_is_that_of_the_token_which_was_accepted(token, principal, version):
    """RFC 7628: a token that will not do is answered with a text, and the server takes another one."""
    assert principal_after(("OAUTHBEARER", [FORGED, (token, b"")]), version=version) == principal


@pytest.mark.parametrize(("claim", "name"), [("sub", "root"), ("client_id", "mallory"), ("none", None)])
def test_a_bearers_name_is_in_the_claim_that_brokers_go_by(claim, name):
    exchange = "OAUTHBEARER", [(initial(jwt({"sub": "root", "client_id": "mallory"})), b"")]
    view = replace(locked(), bearer_claim=claim)
    assert principal_after(exchange, view=view) == (name and f"User:{name}")


# -- Whose certificate was shown, and who was somebody before ----------------------------------------

SHOWN = replace(PEER, principal="User:CN=gateway")
TOKEN = EXCHANGES["a delegation token, by its id"]


@pytest.mark.parametrize("name", ["GSSAPI", "a delegation token, by its id", "a mechanism that nobody knows"])
def test_who_logged_in_without_a_name_that_can_be_read_is_not_its_certificate(name):
    """`DefaultKafkaPrincipalBuilder`: after SASL the principal is SASL's, whatever certificate was shown."""
    assert principal_after(EXCHANGES[name], peer=SHOWN) is None


def test_a_certificate_names_who_has_not_logged_in_where_no_login_is_wanted():
    assert principal_after(peer=SHOWN, view=view_of()) == "User:CN=gateway"


ALICE, BOB = scram(b"n,,n=alice,r=abc"), scram(b"n,,n=bob,r=abc")
RENEWALS = {
    "as itself": (ALICE, ALICE, "User:alice"),
    "by a token": (ALICE, TOKEN, None),
    "after a token": (TOKEN, ALICE, "User:alice"),
    "as another, which no broker takes": (ALICE, BOB, None),
    "as another by another mechanism": (ALICE, ("PLAIN", [(b"\x00bob\x00pw", b"")]), None),
    "after half an exchange": (("SCRAM-SHA-256", BOB[1][:1]), PLAIN, "User:alice"),
}


@pytest.mark.parametrize(("first", "second", "principal"), RENEWALS.values(), ids=RENEWALS)
def test_a_session_that_is_renewed_has_no_name_of_before(first, second, principal):
    """KIP-368: a broker takes the same principal by the same mechanism, or closes."""
    assert principal_after(first, second) == principal


# -- Whatever comes ----------------------------------------------------------------------------------

PIECES = [
    b"n,",
    b",",
    b"=",
    b"n=alice",
    b"a=alice",
    b"r=abc",
    b"m=x",
    b",tokenauth=",
    b"true",
    b"=2C",
    b"=3D",
    b"\x00",
    b"\x01",
    b"auth=",
    b"Bearer ",
    jwt({"sub": "alice"}),
    b".",
    b"\xff",
    b"\xed\xa0\x80",
]
TOKENS = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=12).map(b"".join)


@given(token=TOKENS)
def test_any_token_has_a_name_that_can_be_written_down_or_none(token):
    for read in (plain_name, scram_name, bearer_name):
        name = read(token)
        assert name is None or name.encode()


CLAIMS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(claims=st.dictionaries(st.sampled_from(["sub", "Sub", "x"]) | st.text(max_size=3), CLAIMS))
def test_a_bearer_is_whom_its_subject_says_without_blanks_or_nobody(claims):
    subject = claims.get("sub")
    is_name = isinstance(subject, str) and subject and subject == subject.strip(JAVAS_BLANKS)
    assert bearer_name(initial(jwt(claims))) == (subject if is_name else None)


# -- Before authentication, nobody may make the proxy work or remember ---------------------------------

MIB = 1 << 20
LARGE = {
    "bearer: nothing but separators": (bearer_name, b"n,,\x01" + b"\x01" * MIB),
    "bearer: pairs": (bearer_name, b"n,,\x01" + b"a=b\x01" * (MIB // 4) + b"\x01"),
    "bearer: tokens": (bearer_name, b"n,,\x01" + b"auth=Bearer a.b.c\x01" * (MIB // 18) + b"\x01"),
    "bearer: dots": (bearer_name, b"n,,\x01auth=Bearer " + b"." * MIB + b"\x01\x01"),
    "bearer: claims": (bearer_name, initial(jwt(b'{"sub":"alice","x":[' + b"{}," * (MIB // 4) + b"1]}"))),
    "scram: commas": (scram_name, b"n,,n=a,r=a" + b"," * MIB),
    "scram: extensions": (scram_name, b"n,,n=a,r=a" + b",a=b" * (MIB // 4)),
    "scram: tokens": (scram_name, b"n,,n=a,r=a" + b",tokenauth=true" * (MIB // 15)),
    "scram: escapes": (scram_name, b"n,,n=" + b"=2C" * (MIB // 3) + b",r=a"),
    "plain: separators": (plain_name, b"\x00" * MIB),
}


@pytest.mark.parametrize(("read", "token"), LARGE.values(), ids=LARGE)
def test_no_object_is_made_for_each_piece_of_a_token(read, token):
    """8 MiB of separators were 578 MiB of tuples."""
    tracemalloc.start()
    try:
        read(token)
        assert tracemalloc.get_traced_memory()[1] <= 8 * len(token)
    finally:
        tracemalloc.stop()
