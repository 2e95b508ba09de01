"""Logins: what a client sends in each mechanism, and what a broker answers that accepts it."""

import base64
import json
import struct

from tests.session.conversation import NOW_MS, view_of
from tests.session.messages import SASL_AUTHENTICATE, SASL_HANDSHAKE, answer, frame, request
from tests.wire.batches import unsigned

SECRET = b"correct horse battery staple"
DASHED = SECRET.replace(b" ", b"-")

RAW = None
"""In place of a version of SaslAuthenticate: tokens without a header, after SaslHandshake version 0."""

SERVER_FIRST, SERVER_FINAL = b"r=fyko3r,s=QSXC,i=4096", b"v=rmF9"


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


def login(mechanism, tokens, version=1):
    """(what the client sends, what the broker answers) step by step; `tokens` are both sides' tokens."""
    if version is RAW:
        raw = [(frame(token), frame(told)) for token, told in tokens]
        return [(handshake(mechanism, 0), shaken(version=0)), *raw]
    steps = [(authenticate(token, version), authenticated(told, version=version)) for token, told in tokens]
    return [(handshake(mechanism), shaken()), *steps]


def log_in(session, mechanism, tokens, version=1):
    """Returns all effects of the login."""
    effects = []
    for sent, said in login(mechanism, tokens, version):
        effects += session.client_bytes(sent, NOW_MS)
        effects += session.broker_bytes(said, NOW_MS)
    return effects


def jwt(claims, signature=b"c2ln"):
    """A JWT of these claims, which may be a text as well. Its signature is the broker's to check."""
    text = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    return b"eyJhbGciOiJub25lIn0." + base64.urlsafe_b64encode(text).rstrip(b"=") + b"." + signature


def initial(token, head=b"n,,", tail=b"\x01"):
    """OAUTHBEARER's initial response."""
    return head + b"\x01auth=Bearer " + token + b"\x01" + tail


def scram(first, final=b"c=biws,r=fyko3r,p=" + SECRET, mechanism="SCRAM-SHA-256"):
    return mechanism, [(first, SERVER_FIRST), (final, SERVER_FINAL)]


EXCHANGES = {
    "PLAIN": ("PLAIN", [(b"\x00alice\x00" + SECRET, b"")]),
    "SCRAM-SHA-256": scram(b"n,,n=alice,r=fyko"),
    "a delegation token, by its id": scram(b"n,,n=c2VjcmV0,r=fyko,tokenauth=true", mechanism="SCRAM-SHA-512"),
    "OAUTHBEARER": ("OAUTHBEARER", [(initial(jwt({"sub": "alice"}, DASHED)), b"")]),
    "OAUTHBEARER that is no JWT": ("OAUTHBEARER", [(initial(DASHED), b"")]),
    "GSSAPI": ("GSSAPI", [(b"\x60\x01", b"\x60\x02"), (b"", b"\x05\x04"), (SECRET, b"")]),
    "a mechanism that nobody knows": ("AWS_MSK_IAM", [(SECRET, b'{"version":"2020_10_22"}')]),
}
"""The mechanism, and the tokens of client and broker step by step."""

PLAIN = EXCHANGES["PLAIN"]
