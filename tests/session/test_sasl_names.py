"""A principal is who the broker authenticated, or nobody: what each mechanism's messages name.

Source: `ScramMessages.ClientFirstMessage`, `ScramExtensions`, `Utils.parseMap`, `ScramFormatter.username`,
`PlainSaslServer`, `OAuthBearerClientInitialResponse`, `SaslServerAuthenticator`. Who a real broker takes the
same clients for is in `tests/e2e/test_principals.py`.
"""

import base64
import json
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.conversation import NOW_MS, PEER, Session
from tests.session.messages import frame, produce
from tests.session.test_sasl import authenticate, authenticated, handshake, locked, shaken
from tests.wire.batches import batch
from tsproxy.session.effects import Emit
from tsproxy.session.sasl_names import bearer_name, plain_name, scram_name

JAVAS_BLANKS = "".join(map(chr, range(33)))
SERVER_FIRST, SERVER_FINAL = b"r=abcdef,s=QSXC,i=4096", b"v=rmF9"
CLIENT_FINAL = b"c=biws,r=abcdef,p=cHJvb2Y="
INVALID_TOKEN = b'{"status":"invalid_token"}'


def jwt(claims, signature=b"c2ln"):
    """A JWT of these claims, which may be a text as well."""
    text = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    return b"e30." + base64.urlsafe_b64encode(text).rstrip(b"=") + b"." + signature


def initial(token, head=b"n,,", tail=b"\x01"):
    """OAUTHBEARER's initial response."""
    return head + b"\x01auth=Bearer " + token + b"\x01" + tail


class Client:
    """One client of one session, and the broker that answers it as it is told to."""

    def __init__(self, peer=PEER, is_raw=False, view=None):
        self._session = Session(peer, view or locked())
        self._is_raw = is_raw

    def exchange(self, mechanism, *steps):
        version = 0 if self._is_raw else 1
        self._step(handshake(mechanism, version), shaken(version=version))
        for token, told in steps:
            if self._is_raw:
                self._step(frame(token), frame(told))
            else:
                self._step(authenticate(token), authenticated(told))
        return self

    @property
    def principal(self):
        """Under which the session books a batch that it rejects."""
        effects = self._session.client_bytes(produce({"t": {0: batch([0])}}), NOW_MS)
        [outcome] = [effect.outcome for effect in effects if isinstance(effect, Emit)]
        return outcome.peer.principal

    def _step(self, sent, said):
        self._session.client_bytes(sent, NOW_MS)
        self._session.broker_bytes(said, NOW_MS)


def scram(first, final=CLIENT_FINAL, mechanism="SCRAM-SHA-256"):
    return mechanism, (first, SERVER_FIRST), (final, SERVER_FINAL)


SCRAM_FIRSTS = {
    b"n,,n=alice,r=abc": "alice",
    b"n,a=alice,n=alice,r=abc": "alice",
    b"n,a=a=2Cb,n=a=2Cb,r=abc": None,  # the broker compares it as it came: it rejects this
    b"n,a=bob,n=alice,r=abc": None,  # rejected as well
    b"n,,m=ext,n=alice,r=abc": "alice",
    b"n,,n=a=2Cb=3Dc,r=abc": "a,b=c",
    b"n,,n=a=3D2Cb,r=abc": "a=2Cb",
    b"n,,n=a=2cb,r=abc": None,
    b"n,,n=a=,r=abc": None,
    b"n,,n=a=3,r=abc": None,
    b"n,,n=al ice,r=abc": "al ice",
    b"n,,n=al\nice,r=abc": "al\nice",
    b"n,,n=alice,r=abc,ext=x=y": "alice",
    b"n,,n=alice,r=abc,n=bob": "alice",
    b"n,,n=alice,r=abc,TOKENAUTH=true": "alice",
    b"n,,n=alice,r=abc,tokenauth=false": "alice",
    b"n,,n=alice,r=abc,tokenauth=yes": "alice",
    b"n,,n=alice,r=abc,tokenauth=true": None,
    b"n,,n=alice,r=abc,tokenauth=TRUE": None,
    b"n,,n=alice,r=abc,tokenauth=true,tokenauth=false": "alice",
    b"n,,n=alice,r=abc,tokenauth=false,tokenauth=tRue": None,
    b"n,,n=alice,r=abc,tokenauth=true,x=tokenauth=false": None,
    b"n,,n=alice,r=abc,xtokenauth=true": "alice",
    b"n,,n=alice,r=abc,tokenauth=true ": "alice",  # `Boolean.parseBoolean` knows no blanks
    b"n,,n=tokenauth=true,r=abc": None,
    b"n,,n=alice,r=tokenauth=true": "alice",
    b"n,,n=alice,r=abc,": None,
    b"n,,n=alice,r=abc,tokenauth=": None,
    b"n,,n=alice,r=abc,=true": None,
    b"n,,n=alice,r=abc,e1=true": None,
    b"n,,n=alice,r=": None,
    b"n,,n=,r=abc": None,
    b"n,,n=alice": None,
    b"n,,r=abc,n=alice": None,
    b"y,,n=alice,r=abc": None,
    b"p=tls-unique,,n=alice,r=abc": None,
    b"n=alice,r=abc": None,
    b"n,,n=al\x00ice,r=abc": None,
    b"n,,n=alic\xc3\xa9,r=abc": None,
    b"n,,n=alice,r=a c": None,
    b"n,,n=alice,r=abc\n": None,
    b"": None,
}
"""The broker's reading of them: pattern by pattern, by its own classes."""


@pytest.mark.parametrize(("first", "name"), SCRAM_FIRSTS.items())
def test_a_scram_name_is_read_as_the_broker_reads_it_or_not_at_all(first, name):
    assert Client().exchange(*scram(first)).principal == (name and f"User:{name}")


SECOND_MESSAGES = [
    b"c=biws,r=abcdef,n=admin,p=cHJvb2Y=",
    b"n,,n=admin,r=abcdef",
    b"n=admin",
    b"c=biws,r=abcdef,tokenauth=true,p=cHJvb2Y=",
]
FIRST_MESSAGES = {
    b"n,,n=mallory,r=abc,TOKENAUTH=true": "User:mallory",
    b"n,,n=mallory,r=abc,tokenauth=true,tokenauth=false": "User:mallory",
    b"n,,n=dG9rZW4,r=abc,tokenauth=true": None,
    b"n,,n=mallory,r=abc": "User:mallory",
    b"not a first message": None,
}


@pytest.mark.parametrize("is_raw", [False, True])
@pytest.mark.parametrize("final", SECOND_MESSAGES)
@pytest.mark.parametrize(("first", "principal"), FIRST_MESSAGES.items())
def test_scrams_second_message_names_nobody(first, principal, final, is_raw):
    """Its extensions are no part of what is signed: whoever writes them would choose the principal."""
    client = Client(is_raw=is_raw).exchange(*scram(first, final, "SCRAM-SHA-512"))
    assert client.principal == principal


PLAIN_TOKENS = {
    b"\x00alice\x00secret": "alice",
    b"alice\x00alice\x00secret": "alice",
    b"root\x00alice\x00secret": None,
    b"\x00alice\x00secret\x00": None,
    b"\x00alice\x00": None,
    b"\x00\x00secret": None,
    b"alice\x00secret": None,
    "\x00älice\x00secret".encode(): "älice",
    b"\x00al\xffice\x00secret": None,
    b"\x00al\xed\xa0\x80ice\x00secret": None,
}


@pytest.mark.parametrize(("token", "name"), PLAIN_TOKENS.items())
def test_a_plain_name_is_read_as_the_broker_reads_it_or_not_at_all(token, name):
    assert Client().exchange("PLAIN", (token, b"")).principal == (name and f"User:{name}")


ALICES, ROOTS = jwt({"sub": "alice"}), jwt({"sub": "root"})
BEARER_TOKENS = {
    initial(ALICES): "alice",
    initial(ALICES, b"n,a=alice,"): "alice",
    initial(
        ALICES, b"n,a=root,"
    ): None,  # who the broker takes it for is told by another claim, if it takes it
    initial(ALICES).replace(b"Bearer ", b"bEARER   "): "alice",
    initial(ALICES).replace(b"Bearer ", b"Bearer\t"): None,
    initial(ALICES).replace(b"Bearer ", b"Basic "): None,
    initial(ALICES).replace(b"auth", b"Auth"): None,
    initial(ALICES, tail=b""): None,
    initial(ALICES, b"n,"): None,
    initial(ALICES, b"y,,"): None,
    initial(ALICES, b""): None,
    initial(ALICES, tail=b"traceId=1\x01\x01"): "alice",
    initial(ALICES, tail=b"trace-id=1\x01\x01"): None,
    initial(ALICES, tail=b"traceId=\x01\x01"): None,
    initial(ALICES, tail=b"traceId=\xc3\xa9\x01\x01"): None,
    initial(ROOTS, tail=b"auth=Bearer " + ALICES + b"\x01\x01"): "alice",
    initial(ALICES, tail=b"auth=nothing\x01\x01"): None,
    initial(ALICES + b"="): None,
    initial(ALICES + b".more"): None,
    initial(ALICES.rpartition(b".")[0]): None,
    initial(b"opaque"): None,
    initial(jwt({"sub": "alice"}, b"")): "alice",  # unsecured: the broker's own business
    initial(jwt({"sub": ""})): None,
    initial(jwt({"sub": " alice"})): None,  # one of Kafka's validators trims it, the other does not
    initial(jwt({"sub": "!alice!"})): "!alice!",  # the first character that is no blank of Java's
    initial(jwt({"sub": "alice\n"})): None,
    initial(jwt({"sub": True})): None,
    initial(jwt({"sub": None})): None,
    initial(jwt({"sub": ["alice"]})): None,
    initial(jwt({"sub": "älice"})): "älice",
    initial(jwt(b'{"\\u0073ub":"alice"}')): "alice",
    initial(jwt(b'{"sub":"root","sub":"alice"}')): None,
    initial(jwt(b'{"sub":"root","\\u0073ub":"alice"}')): None,
    initial(jwt(b'{"sub":"alice"}{"sub":"root"}')): None,
    initial(jwt(b'{"sub":"\\ud800"}')): None,
    initial(jwt(b'{"sub":"\xff"}')): None,
    initial(jwt('{"sub":"alice"}'.encode("utf-16"))): None,
    initial(jwt(b"\xef\xbb\xbf" + b'{"sub":"alice"}')): None,
    initial(jwt(b'["sub"]')): None,
    initial(jwt(b"")): None,
    initial(b"e30.A.c2ln"): None,
    initial(jwt({"sub": "alice", "padding": "x" * 100_000})): None,
}


@pytest.mark.parametrize(("token", "name"), BEARER_TOKENS.items(), ids=range(len(BEARER_TOKENS)))
def test_a_bearers_name_is_read_as_the_broker_reads_it_or_not_at_all(token, name):
    assert Client().exchange("OAUTHBEARER", (token, b"")).principal == (name and f"User:{name}")


@pytest.mark.parametrize("is_raw", [False, True])
def test_a_bearers_name_is_that_of_the_token_which_was_accepted(is_raw):
    """RFC 7628: a token that will not do is answered with a text, and the server takes another one."""
    forged, own = (initial(ROOTS), INVALID_TOKEN), (initial(jwt({"sub": "mallory"})), b"")
    client = Client(is_raw=is_raw).exchange("OAUTHBEARER", forged, own)
    assert client.principal == "User:mallory"


@pytest.mark.parametrize(("claim", "name"), [("sub", "root"), ("client_id", "mallory"), ("none", None)])
def test_a_bearers_name_is_in_the_claim_that_brokers_go_by(claim, name):
    client = Client(view=replace(locked(), bearer_claim=claim))
    token = initial(jwt({"sub": "root", "client_id": "mallory"}))
    assert client.exchange("OAUTHBEARER", (token, b"")).principal == (name and f"User:{name}")


def test_a_token_without_a_name_leaves_none_of_the_one_before_it():
    forged, own = (initial(ROOTS), INVALID_TOKEN), (initial(b"opaque"), b"")
    assert Client().exchange("OAUTHBEARER", forged, own).principal is None


# -- Whose certificate was shown, and who was somebody before ----------------------------------------

SHOWN = replace(PEER, principal="User:CN=gateway")

NAMELESS = {
    "GSSAPI": ("GSSAPI", (b"\x60\x01", b"\x60\x02"), (b"", b"\x05\x04"), (b"\x01", b"")),
    "a delegation token": scram(b"n,,n=dG9rZW4,r=abc,tokenauth=true"),
    "a mechanism that nobody knows": ("AWS_MSK_IAM", (b"signed", b'{"version":"2020_10_22"}')),
    "an opaque token": ("OAUTHBEARER", (initial(b"opaque"), b"")),
}


@pytest.mark.parametrize("exchange", NAMELESS.values(), ids=NAMELESS)
def test_who_logged_in_without_a_name_that_can_be_read_is_not_its_certificate(exchange):
    """`DefaultKafkaPrincipalBuilder`: after SASL the principal is SASL's, whatever certificate was shown."""
    assert Client(SHOWN).exchange(*exchange).principal is None


def test_a_certificate_names_who_has_not_logged_in_where_no_login_is_wanted():
    session = Session(SHOWN, replace(locked(), broker_needs_sasl=False))
    effects = session.client_bytes(produce({"t": {0: batch([0])}}), NOW_MS)
    [outcome] = [effect.outcome for effect in effects if isinstance(effect, Emit)]
    assert outcome.peer.principal == "User:CN=gateway"


ALICE, BOB = scram(b"n,,n=alice,r=abc"), scram(b"n,,n=bob,r=abc")
RENEWALS = {
    "as itself": (ALICE, ALICE, "User:alice"),
    "by a token": (ALICE, NAMELESS["a delegation token"], None),
    "after a token": (NAMELESS["a delegation token"], ALICE, "User:alice"),
    "as another, which no broker takes": (ALICE, BOB, None),
    "as another by another mechanism": (ALICE, ("PLAIN", (b"\x00bob\x00pw", b"")), None),
}


@pytest.mark.parametrize(("first", "second", "principal"), RENEWALS.values(), ids=RENEWALS)
def test_a_session_that_is_renewed_has_no_name_of_before(first, second, principal):
    """KIP-368: a broker takes the same principal by the same mechanism, or closes."""
    assert Client().exchange(*first).exchange(*second).principal == principal


def test_a_token_after_another_handshake_is_read_by_the_newer_mechanism():
    client = Client().exchange("SCRAM-SHA-256", (b"n,,n=root,r=abc", SERVER_FIRST))
    assert client.exchange("PLAIN", (b"\x00alice\x00pw", b"")).principal == "User:alice"


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
    ALICES,
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
