"""Whom a broker takes a client for, beside whom a session does that is fed the same bytes.

Each user may write to one topic alone (StandardAuthorizer), so that a batch for every topic tells the
broker's name for the client: that of the topic which took it.
"""

import asyncio
import base64
import struct
import time
from dataclasses import replace

from confluent_kafka.admin import AclOperation

from tests.kit.admin import grant, right
from tests.kit.client import RawClient
from tests.session.conversation import PEER, Session, view_of
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.session.effects import CloseSession, Emit, SendToBroker
from tsproxy.wire import k00_produce

CREATE_DELEGATION_TOKEN = 38


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
        payload = await self.read()
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

    async def names(self):
        """(whose topic the broker lets it write to, the principal that the session books). None: nobody's."""
        self._booked.clear()
        asked = produce({topic: {0: batch([_now_ms()])} for topic in self._topics}, version=8)
        answered = k00_produce.read_response(8, (await self.frame(asked))[4:])
        codes = {topic.name: topic.partitions[0].error_code for topic in answered.topics}
        assert set(codes.values()) <= {0, 29}, codes
        owners = [self._topics[topic] for topic, code in codes.items() if code == 0]
        assert len(owners) <= 1, owners
        [principal] = set(self._booked)
        return owners[0] if owners else None, principal


async def names(kafka, topics, mechanism, exchange, *, is_raw=False, claim="sub"):
    """(the broker's name, the session's principal) after this exchange; None where the broker rejected."""
    client = await Watched.to(kafka, topics, claim=claim)
    try:
        assert (await client.handshake(mechanism, 0 if is_raw else 1))[0] == 0
        if is_raw:
            await client.authenticate_raw(exchange)
        elif (await client.authenticate(exchange))[0] != 0:
            return None
        return await client.names()
    except (asyncio.IncompleteReadError, ConnectionError, ClosedError):
        return None
    finally:
        client.close()


def _now_ms():
    return time.time_ns() // 1_000_000


# -- What the kit's administration does not know -------------------------------------------------------


async def allow(kafka, writers):
    """`writers`: who may write to each topic. Each topic is there, and its rule in force."""
    for topic in writers:
        await kafka.create_topic(topic)
    rights = (right(AclOperation.WRITE, topic, user=user) for topic, user in writers.items())
    await grant(kafka, *rights)


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
