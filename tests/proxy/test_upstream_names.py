"""A name service that fails: brokers are reached at the addresses that they had."""

import asyncio
import socket
import struct
from dataclasses import replace

import pytest
import structlog
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError

from tests.kit.broker import ScriptedBroker
from tests.proxy.loops import on_both_loops
from tests.proxy.proxy_listeners import dropping, tls_of, to_brokers
from tests.proxy.world import until
from tsproxy.cluster import upstream as upstream_room
from tsproxy.cluster.admin_connection import connected, open_connection
from tsproxy.cluster.kafka_producer import connected_producer
from tsproxy.cluster.upstream import Upstream, UpstreamError
from tsproxy.config.settings import Upstream as UpstreamSettings
from tsproxy.model.addresses import Address

PATIENCE_S = 3.0


def never_answering(host, port):
    """As a process that is stopped: the system accepts for it."""
    return socket.create_server((host, port), backlog=100)


class Names:
    """The name service of a loop."""

    def __init__(self, loop, monkeypatch):
        self._ask, self.error, self.is_silent = loop.getaddrinfo, None, False
        monkeypatch.setattr(loop, "getaddrinfo", self.getaddrinfo)

    async def getaddrinfo(self, host, port, **options):
        if host == "broker" and self.is_silent:
            await asyncio.Event().wait()
        if host == "broker" and self.error is not None:
            raise socket.gaierror(self.error, "no name")
        return await self._ask("127.0.0.1" if host == "broker" else host, port, **options)


@pytest.fixture
async def broker():
    """The address of a server that answers, by its name."""
    async with ScriptedBroker() as server:
        yield [Address("broker", server.port)]


@pytest.fixture
async def names(monkeypatch):
    return Names(asyncio.get_running_loop(), monkeypatch)


@pytest.fixture
def upstream():
    return Upstream(None)


async def test_a_known_broker_is_reached_while_no_name_server_answers(broker, names, upstream):
    names.error = socket.EAI_AGAIN
    with pytest.raises(UpstreamError, match="no name"):
        await upstream.connect(broker, asyncio.Protocol())
    names.error = None
    assert await upstream.connect(broker, asyncio.Protocol()) == broker[0]
    assert upstream.warnings() == []
    names.error = socket.EAI_AGAIN
    await upstream.connect(broker, asyncio.Protocol())
    assert upstream.unresolved == broker
    [warning] = upstream.warnings()
    assert warning.startswith("no name server answers for broker: ")
    names.error = None
    await upstream.connect(broker, asyncio.Protocol())
    assert upstream.warnings() == []


async def test_a_known_broker_is_reached_while_name_servers_are_silent(broker, names, upstream, monkeypatch):
    """A resolver tries them for longer than a connection may take: no new client was served."""
    assert await upstream.connect(broker, asyncio.Protocol()) == broker[0]
    names.is_silent = True
    with monkeypatch.context() as impatient:
        impatient.setattr(upstream_room, "LAST_NAME_S", 0.01)
        assert await upstream.connect(broker, asyncio.Protocol()) == broker[0]
    assert upstream.unresolved == broker
    names.is_silent = False
    assert await upstream.connect(broker, asyncio.Protocol()) == broker[0]
    assert upstream.warnings() == []


async def test_silent_name_servers_are_named_where_no_address_is_known(broker, names, upstream, monkeypatch):
    monkeypatch.setattr(upstream_room, "NAME_S", 0.01)
    names.is_silent = True
    with pytest.raises(UpstreamError, match="no name server has answered"):
        await upstream.connect(broker, asyncio.Protocol())
    assert upstream.unresolved


async def test_each_address_of_a_name_is_tried(broker, upstream, monkeypatch):
    class Reached(asyncio.Protocol):
        def connection_made(self, transport):
            hosts.append(transport.get_extra_info("peername")[0])

    async def several(_, port, **__):
        return [(0, 0, 0, "", (host, port)) for host in ("127.0.0.2", "127.0.0.1")]

    hosts = []
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", several)
    await upstream.connect(broker, Reached())
    assert hosts == ["127.0.0.1"]


@on_both_loops
@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("silent", [dropping, never_answering])
async def test_an_address_of_a_name_that_is_silent_does_not_hide_the_next_one(
    monkeypatch, certificates, silent, is_tls
):
    """It used up the time, for clients and for each of the proxy's own connections, each time."""

    def several(name, *arguments):
        hosts = ("127.0.0.2", "127.0.0.1") if name == "localhost" else (name,)
        return [row for host in hosts for row in ask(host, *arguments)]

    def versions(question):
        seen.append(question.client_id)
        return question.answer(struct.pack(">hi3h", 0, 1, 0, 0, 13))  # Produce

    ask, seen = socket.getaddrinfo, []
    monkeypatch.setattr("socket.getaddrinfo", several)
    monkeypatch.setattr(upstream_room, "CONNECT_S", PATIENCE_S)
    ours, theirs = to_brokers(certificates), tls_of(certificates.issue("broker"))()
    tls = ours if is_tls else None
    async with ScriptedBroker(otherwise=versions, tls=theirs if is_tls else None) as server:
        with silent("127.0.0.2", server.port):
            broker = Address("localhost", server.port)
            assert await Upstream(tls).connect([broker], asyncio.Protocol()) == broker
            async with connected(broker, tls() if tls else None, None) as own:
                assert own.serves_clients
            with pytest.raises(KafkaError):  # it gets as far as its first question
                async with connected_producer(UpstreamSettings([broker]), tls, "own producer"):
                    pass
            assert b"own producer" in seen


async def test_a_login_may_take_longer_than_a_silence(monkeypatch):
    class SlowTokens(AbstractTokenProvider):
        async def token(self):
            await until(lambda: loop.time() > silence_over_s)
            return "token"

    async def several(_, port, **__):
        return [(0, 0, 0, "", (host, port)) for host in ("127.0.0.1", "127.0.0.2")]  # nobody is at the second

    loop = asyncio.get_running_loop()
    silence_over_s = loop.time() + PATIENCE_S / 2  # two addresses share the time
    monkeypatch.setattr(loop, "getaddrinfo", several)
    monkeypatch.setattr(upstream_room, "CONNECT_S", PATIENCE_S)
    answers = {
        18: lambda question: question.answer(struct.pack(">hi6h", 0, 2, 17, 0, 1, 36, 0, 0)),
        17: lambda question: question.answer(struct.pack(">hih11s", 0, 1, 11, b"OAUTHBEARER")),
        36: lambda question: question.answer(struct.pack(">hhi", 0, -1, 0)),
    }
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}
    async with ScriptedBroker(answers) as server:
        tokens = {"sasl_oauth_token_provider": SlowTokens()}
        connection = await open_connection("broker", server.port, **login, **tokens)
        assert connection.connected()
        await connection.close()


async def test_a_name_is_logged_once_whatever_other_brokers_are_reached_meanwhile(broker, names, upstream):
    """Each client made a line: it bootstraps at an address, and then connects to a name."""
    bootstrap = [replace(broker[0], host="127.0.0.1")]
    await upstream.connect(broker, asyncio.Protocol())
    names.error = socket.EAI_AGAIN
    with structlog.testing.capture_logs() as lines:
        for _ in range(3):
            await upstream.connect(bootstrap, asyncio.Protocol())
            await upstream.connect(broker, asyncio.Protocol())
    assert [line["event"] for line in lines] == ["broker_name_not_resolved"]


async def test_a_name_that_nobody_asks_for_any_more_is_not_warned_of_for_ever(
    broker, names, upstream, monkeypatch
):
    names.error = socket.EAI_AGAIN
    with pytest.raises(UpstreamError):
        await upstream.connect(broker, asyncio.Protocol())
    assert upstream.unresolved
    monkeypatch.setattr("tsproxy.cluster.upstream.REMEMBERED_S", 0)
    assert not upstream.unresolved


async def test_a_name_that_does_not_exist_is_not_tried_at_its_old_address(broker, names, upstream):
    """Somebody else may have that address now."""
    await upstream.connect(broker, asyncio.Protocol())
    names.error = socket.EAI_NONAME
    with pytest.raises(UpstreamError, match="no name"):
        await upstream.connect(broker, asyncio.Protocol())
