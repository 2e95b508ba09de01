"""Whom a broker takes a client for, beside whom a session does that is fed the same bytes.

Each user may write to one topic alone (StandardAuthorizer), so that a batch for every topic tells the
broker's name for the client: that of the topic which took it.
"""

import asyncio
import base64
import hashlib
import hmac
import itertools
import struct
import time
from dataclasses import dataclass, replace

from tests.e2e.sasl import RawClient, connect
from tests.session.conversation import PEER, Session, view_of
from tests.session.messages import produce, request
from tests.wire.batches import batch, unsigned
from tsproxy.session.effects import CloseSession, Emit, SendToBroker
from tsproxy.wire import k00_produce

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "delegation.token.secret.key": "a-key-of-the-brokers",
}
CREATE_ACLS, CREATE_DELEGATION_TOKEN, ALTER_SCRAM = 30, 38, 51
_TOPIC, _LITERAL, _WRITE, _ALLOW = 2, 3, 4, 3
_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


class ClosedError(Exception):
    """The session closed the connection."""


class Watched(RawClient):
    """A connection to a broker that passes through a session, which books under some principal."""

    @classmethod
    async def to(cls, kafka, topics, tls=None, claim="sub"):
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        client = cls(*await asyncio.open_connection(host, int(port), ssl=tls))
        client._topics = topics
        view = replace(view_of(topics=topics, broker_needs_sasl=True), bearer_claim=claim)
        client._session = Session(PEER, view)
        client._booked = []
        client._ended = None
        return client

    async def frame(self, sent):
        self._take(self._session.client_bytes(sent, _now_ms()))
        if self._ended is not None:
            raise ClosedError(self._ended)
        payload = await self._answer()
        self._take(self._session.broker_bytes(struct.pack(">i", len(payload)) + payload, _now_ms()))
        return payload

    def _take(self, effects):
        for effect in effects:
            if isinstance(effect, SendToBroker):
                self._writer.write(effect.data)
            elif isinstance(effect, Emit):
                self._booked.append(effect.outcome.peer.principal)
            elif isinstance(effect, CloseSession):
                self._ended = effect.text

    async def _answer(self):
        size = struct.unpack(">i", await self._reader.readexactly(4))[0]
        return await self._reader.readexactly(size)

    async def names(self):
        """(the topic that the broker lets it write to, the principal that the session books)."""
        self._booked.clear()
        asked = produce({topic: {0: batch([_now_ms()])} for topic in self._topics}, version=8)
        answered = k00_produce.read_response(8, (await self.frame(asked))[4:])
        codes = {topic.name: topic.partitions[0].error_code for topic in answered.topics}
        assert set(codes.values()) <= {0, 29}, codes
        [mine] = [topic for topic, code in codes.items() if code == 0]
        [principal] = set(self._booked)
        return mine, principal


def _now_ms():
    return time.time_ns() // 1_000_000


# -- SCRAM -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScramFirst:
    """The client's first message in its pieces; `extensions` as (key, value), in their order."""

    name: str
    extensions: tuple[tuple[str, str], ...] = ()
    authzid: str = ""
    reserved: str = ""
    nonce: str = "fyko-d2lbbFgONRv9qkxdawL"
    order: tuple[str, ...] = ()
    """Each key once, as the broker signs them."""

    def orders(self):
        """The same in every order in which a broker may write its extensions anew: that of a map of Java's,
        which is another one in each process (`Map.copyOf`)."""
        keys = sorted({key for key, _ in self.extensions})
        return [replace(self, order=order) for order in itertools.permutations(keys)]

    def message(self):
        authzid = f"a={self.authzid}" if self.authzid else ""
        written = "".join(f",{key}={value}" for key, value in self.extensions)
        return f"n,{authzid},{self.reserved}n={self.name},r={self.nonce}{written}".encode()

    def signed(self):
        """`ScramMessages.ClientFirstMessage.clientFirstMessageBare`: of each key the last value."""
        values = dict(self.extensions)
        written = "".join(f",{key}={values[key]}" for key in self.order or values)
        return f"n={self.name},r={self.nonce}{written}"


async def scram(mechanism, first, password, *, behind=""):
    """`behind`: extensions of the last message, which nobody signs, such as `,n=admin`."""
    digest = _HASHES[mechanism]
    challenge = (yield first.message()).decode()
    facts = dict(piece.split("=", 1) for piece in challenge.split(","))
    salt, iterations = base64.b64decode(facts["s"]), int(facts["i"])
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)
    key = _mac(digest, salted, "Client Key")
    bare = f"c=biws,r={facts['r']}"
    signature = _mac(digest, hashlib.new(digest, key).digest(), f"{first.signed()},{challenge},{bare}")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
    yield f"{bare}{behind},p={proof}".encode()


def _mac(digest, key, text):
    return hmac.digest(key, text.encode(), digest)


# -- What the kit's administration does not know -------------------------------------------------------


async def allow(kafka, writers):
    """`writers`: who may write to each topic. Each topic is there, and its rule in force."""
    node = kafka.node(kafka.node_ids[0])
    for topic in writers:
        await kafka.create_topic(topic)
    body = struct.pack(">i", len(writers)) + b"".join(
        struct.pack(">b", _TOPIC)
        + _text(topic)
        + struct.pack(">b", _LITERAL)
        + _text(f"User:{user}")
        + _text("*")
        + struct.pack(">bb", _WRITE, _ALLOW)
        for topic, user in writers.items()
    )
    admin = await connect(f"{node.host}:{node.internal_port}")
    answer = await admin.ask(CREATE_ACLS, 1, body)
    admin.close()
    assert answer == struct.pack(">ii", 0, len(writers)) + bytes(4 * len(writers)), (
        answer
    )  # no error, no text


async def add_scram_user(kafka, name, password, mechanism="SCRAM-SHA-256"):
    """A user whose name the storage tool's arguments could not hold."""
    node, salt = kafka.node(kafka.node_ids[0]), b"0123456789abcdef"
    salted = hashlib.pbkdf2_hmac(_HASHES[mechanism], password.encode(), salt, 4096)
    number = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}[mechanism]
    body = b"\x01\x02" + _compact(name.encode()) + struct.pack(">bi", number, 4096)
    body += _compact(salt) + _compact(salted) + b"\x00\x00"
    admin = await connect(f"{node.host}:{node.internal_port}")
    answer = await admin.frame(request(ALTER_SCRAM, 0, body))
    admin.close()
    no_error = struct.pack(">ibi", 1, 0, 0) + b"\x02" + _compact(name.encode()) + b"\x00\x00"
    assert answer.startswith(no_error), answer


async def delegation_token(client):
    """(id, hmac as a password) of a token for the user whose connection this is (KIP-48)."""
    answer = await client.ask(CREATE_DELEGATION_TOKEN, 1, struct.pack(">iq", 0, 3_600_000))
    (error_code,) = struct.unpack_from(">h", answer)
    assert error_code == 0, error_code
    at = 2
    for _ in ("type", "name"):
        at += 2 + struct.unpack_from(">h", answer, at)[0]
    at += 24
    (length,) = struct.unpack_from(">h", answer, at)
    token_id = answer[at + 2 : at + 2 + length].decode()
    at += 2 + length
    (length,) = struct.unpack_from(">i", answer, at)
    return token_id, base64.b64encode(answer[at + 4 : at + 4 + length]).decode()


def _text(text):
    return struct.pack(">h", len(text)) + text.encode()


def _compact(data):
    return unsigned(len(data) + 1) + data
