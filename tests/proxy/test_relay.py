"""A relay between real sockets: order, memory and endings, on both event loops."""

import asyncio
import contextlib
import hashlib
import socket
import struct

import pytest

from tests.proxy.frames import API_VERSIONS, answer, request
from tests.proxy.loops import on_both_loops
from tests.proxy.running import HOST
from tests.proxy.wire import MIB, is_reading, unsent_bytes, wire
from tests.proxy.world import PATIENCE_S, until
from tests.session.logins import handshake, shaken
from tsproxy.cluster.upstream import Upstream
from tsproxy.model.addresses import Address
from tsproxy.model.view import Endpoint, View
from tsproxy.proxy.connections.back_pressure import HIGH_WATER_BYTES
from tsproxy.proxy.connections.protocol import RelayProtocol
from tsproxy.session.session import Session

READ_BYTES = 256 * 1024
"""The most bytes that one read of either loop brings."""


@on_both_loops
async def test_requests_and_answers_pass_as_they_came():
    async with wire() as the:
        await the.asks(request(1) + request(2))
        await the.is_told(answer(1) + answer(2))

    assert the.world.metric('tsproxy_bytes_total{direction="from_client"}') == len(request(1)) * 2
    assert the.world.metric('tsproxy_bytes_total{direction="from_broker"}') == len(answer(1)) * 2


@on_both_loops
async def test_what_a_client_sends_before_the_broker_is_connected_arrives_in_order():
    """uvloop reads before it can be told not to: what came then goes first."""
    first, second = request(1) + request(2), request(3)
    async with wire(accepted=False) as the:
        await the.client_sends(first)
        await the.accept()
        await the.client_sends(second)
        await the.connect()

        assert await the.broker_gets(len(first + second)) == first + second


@on_both_loops
async def test_what_a_client_sends_before_the_broker_is_connected_is_bounded():
    async with wire(connected=False) as the:
        blast = asyncio.create_task(the.client_sends(request(1, 7 * MIB) * 8))
        await until(lambda: not is_reading(the.relay.client))

        assert the.relay.held_bytes <= 2 * READ_BYTES
        await the.connect()
        digest = hashlib.sha256(await the.broker_gets(8 * len(request(1, 7 * MIB)))).digest()
        assert digest == hashlib.sha256(request(1, 7 * MIB) * 8).digest()
        await blast


@on_both_loops
async def test_a_broker_that_reads_slowly_stops_its_client_and_loses_nothing():
    frames = [request(n, 200_000) for n in range(200)]
    async with wire() as the:
        blast = asyncio.create_task(the.client_sends(b"".join(frames)))
        await until(lambda: not is_reading(the.relay.client))

        held = unsent_bytes(the.relay.broker)
        assert held <= HIGH_WATER_BYTES + READ_BYTES + len(frames[0])
        assert not blast.done()
        received = await the.broker_gets(sum(map(len, frames)))
        assert hashlib.sha256(received).digest() == hashlib.sha256(b"".join(frames)).digest()
        await blast
        await until(lambda: is_reading(the.relay.client))


@on_both_loops
async def test_a_client_that_reads_slowly_stops_its_broker_and_loses_nothing():
    large = answer(1, 40 * MIB)
    async with wire() as the:
        await the.asks(request(1))
        blast = asyncio.create_task(the.broker_sends(large))
        await until(lambda: not is_reading(the.relay.broker))

        assert unsent_bytes(the.relay.client) <= HIGH_WATER_BYTES + READ_BYTES
        assert not blast.done()
        received = await the.client_gets(len(large))
        assert hashlib.sha256(received).digest() == hashlib.sha256(large).digest()
        await blast
        await until(lambda: is_reading(the.relay.broker))


@on_both_loops
async def test_a_client_that_never_reads_its_local_answers_is_not_read_either():
    """Answers made here never pass the broker: its slowness cannot hold them back."""
    async with wire() as the:
        unsupported = request(0, 1, API_VERSIONS, 99)
        blast = asyncio.create_task(the.client_sends(unsupported * 500_000))
        await until(lambda: not is_reading(the.relay.client))

        assert unsent_bytes(the.relay.client) <= HIGH_WATER_BYTES + 16 * READ_BYTES
        assert not blast.done()
        await the.client_gets(MIB)
        blast.cancel()


@on_both_loops
async def test_what_a_client_sent_before_it_went_reaches_the_broker():
    """As a kernel would have delivered it: fire-and-forget producers send and close."""
    frames = request(1, 5 * MIB)
    async with wire() as the:
        received = asyncio.create_task(the.broker_gets(len(frames)))
        await the.client_sends(frames)
        the.client.close()

        assert await received == frames
        await the.broker_sends(answer(1))
        assert await the.broker_sees_end()


@on_both_loops
async def test_a_client_that_comes_and_goes_without_a_word_leaves_nothing_behind():
    async with wire(connected=False) as the:
        the.client.close()
        await asyncio.sleep(0)
        await the.connect()

        assert await the.broker_sees_end()
        the.broker.close()
        await until(the.ended.is_set)


@on_both_loops
async def test_what_a_broker_sent_before_it_went_reaches_the_client():
    large = answer(1, 5 * MIB)
    async with wire() as the:
        await the.asks(request(1))
        received = asyncio.create_task(the.client_gets_rest())
        await the.broker_sends(large)
        the.broker.close()

        assert await received == large


@on_both_loops
async def test_a_broker_that_resets_the_connection_ends_the_clients():
    async with wire() as the:
        await the.client_sends(request(1))
        the.broker.close()  # with the request unread: a reset

        assert await the.client_sees_end()


@on_both_loops
async def test_a_connection_that_ends_gives_back_the_memory_of_its_unfinished_request():
    """At once, even if the client stays and says nothing: the next connection reads into it."""
    async with wire() as the:
        await the.client_sends(request(1) + b"\x00\x0f\x00\x00" + b"\x00\x00\x00\x09" + bytes(100_000))
        await the.broker_gets(len(request(1)))
        await until(lambda: the.relay.client.kept == 100_008)
        assert the.world.buffers.spare(1) is None

        await the.broker_sends(b"\xff\xff\xff\xff no answer")
        assert await the.client_sees_end()
        assert the.relay.client.kept == 0
        assert the.world.buffers.spare(1) is not None


@on_both_loops
async def test_a_broker_connection_that_is_made_and_then_given_up_leaves_nothing_behind(monkeypatch):
    """The time for connecting is over in the same turn of the loop. uvloop closes what it has made without a
    word to its protocol."""
    async with wire(connected=False) as the, asyncio.timeout(PATIENCE_S):
        broker, made = the.relay.broker, RelayProtocol.connection_made

        async def connect():
            address = Address(*server.getsockname())
            await Upstream(None).connect([address], broker, broker.disown)

        def made_too_late(protocol, transport):
            made(protocol, transport)
            connecting.cancel()

        monkeypatch.setattr(RelayProtocol, "connection_made", made_too_late)
        with socket.create_server((HOST, 0)) as server:
            connecting = asyncio.create_task(connect())
            with contextlib.suppress(asyncio.CancelledError):
                await connecting
            assert broker.transport is None
            the.relay.gave_up()
            assert await the.client_sees_end()
            the.client.close()
            await the.ended.wait()
    assert not broker.is_open


@on_both_loops
@pytest.mark.parametrize("error", [ValueError, SystemExit])
async def test_a_mistake_in_the_core_ends_its_session_loudly_and_no_other(monkeypatch, error):
    async with wire() as other, wire() as the:

        def crash(self, event, now_ms, monotonic_ms):
            raise error("what the client sent: hunter2")

        with monkeypatch.context() as patched:
            patched.setattr(Session, "feed", crash)
            await the.client_sends(request(1, 1, API_VERSIONS, 4))
            assert await the.client_sees_end()
        assert await the.broker_sees_end()
        [line] = the.world.logged.of("session_crashed")
        assert line["error"] == error.__name__
        assert any("crash" in frame for frame in line["frames"])
        assert "hunter2" not in str(the.world.logged.lines)
        closed = 'tsproxy_sessions_closed_total{listener="default",reason="internal_error"}'
        assert the.world.metric(closed) == 1
        await other.asks(request(1))


@on_both_loops
async def test_a_session_that_waits_for_its_broker_pauses_its_client_and_goes_on_afterwards():
    """SASL goes step by step: what a client pipelines behind a step waits."""
    async with wire() as the:
        await the.asks(handshake("PLAIN"))
        await until(lambda: not is_reading(the.relay.client))
        await the.broker_sends(shaken())

        await until(lambda: is_reading(the.relay.client))


def metadata_of(node_id, host="broker.internal", port=9092, correlation_id=1):
    """A Metadata v0 answer with one broker and no topic."""
    node = struct.pack(">ih", node_id, len(host)) + host.encode() + struct.pack(">i", port)
    payload = struct.pack(">ii", correlation_id, 1) + node + struct.pack(">i", 0)
    return struct.pack(">i", len(payload)) + payload


METADATA = 3
SERVED = View(endpoints={7: Endpoint("proxy.test", 9199)})


@contextlib.asynccontextmanager
async def naming_a_node(*further):
    """A wire on which the broker names node 7, and then gives these answers."""
    async with wire() as the:
        await the.client_sends(request(1, api_key=METADATA, api_version=0) + request(2) * len(further))
        await the.broker_sends(metadata_of(7) + b"".join(further))
        yield the


@on_both_loops
async def test_an_answer_waits_until_the_node_that_it_names_is_served():
    async with naming_a_node(answer(2)) as the:
        await until(lambda: the.world.nodes == [7])
        assert not is_reading(the.relay.broker)

        the.views.renew(SERVED)

        told = metadata_of(7, "proxy.test", 9199) + answer(2)
        assert await the.client_gets(len(told)) == told
        assert is_reading(the.relay.broker)


@on_both_loops
async def test_an_answer_leaves_out_a_node_that_nobody_serves_and_counts(monkeypatch):
    monkeypatch.setattr("tsproxy.session.answers.NODE_WAIT_MS", 50)
    async with naming_a_node() as the:
        nobody = struct.pack(">iiii", 12, 1, 0, 0)
        assert await the.client_gets(len(nobody)) == nobody
        assert the.world.metric("tsproxy_address_unmapped_total") == 1
        the.views.renew(SERVED)  # too late, and harmless


@on_both_loops
async def test_a_muted_client_is_not_read_for_as_long_and_then_it_is():
    """KIP-219: what it is owed still goes to it."""
    async with wire() as the:
        the.relay.throttled(50)
        assert not is_reading(the.relay.client)
        the.relay.throttled(100)  # the later one counts
        await the.client_sends(request(1))
        await until(lambda: is_reading(the.relay.client))
        assert await the.broker_gets(len(request(1))) == request(1)
        await the.is_told(answer(1))

        the.relay.throttled(60_000)
        the.relay.drain()
        assert await the.client_sees_end()
    assert the.world.metric("tsproxy_throttle_seconds_total") == pytest.approx(60.15)
