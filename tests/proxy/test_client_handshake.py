"""The proxy learns about a client before it connects to a broker for it, between real sockets."""

import asyncio
import contextlib
import select
import socket
import ssl

import pytest

from tests.kit.client import connect
from tests.proxy.frames import answer, request
from tests.proxy.loops import on_both_loops
from tests.proxy.proxy_listeners import (
    HOST,
    ask,
    before_broker,
    config_of,
    echoing_broker,
    facts_of,
    front_of,
    serving,
)
from tests.proxy.test_proxy_protocol import header, tcp4, tcp6
from tests.proxy.world import PATIENCE_S, World, until
from tsproxy.clock import Clock
from tsproxy.config.settings import ConnectionLimits
from tsproxy.model.view import Endpoint
from tsproxy.proxy.connections.client_handshake import _exactly
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.reload.certificates import Sources
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import client_context

HOSTS = ["localhost", "kafka.test", "*.kafka.test"]


@pytest.fixture(scope="module")
def proxy_identity(certificates):
    return certificates.issue("proxy-of-arrival", hosts=HOSTS)


def tls_front(broker, identity, world, *, more="", brokers="", ca=None):
    """A listener with TLS: `more` goes into the listener's tls section, `brokers` beside it."""
    authority = f", client_ca: '{ca}'" if ca else ""
    tls = f"certificate: '{identity.certificate}', key: '{identity.key}'{authority}{more}"
    listener = f"{{ bind: '127.0.0.1:0', advertised_host: kafka.test, tls: {{ {tls} }}{brokers} }}"
    config = config_of([broker], listener)
    context = Sources("listeners.default.tls", config.listeners[0].tls).make()
    return front_of(config, world, tls=lambda: context)


def client_of(certificates, name=None):
    return client_context(certificates.certificate, name and certificates.issue(name))


BY_HOST = ", brokers: { host: 'B{node_id}.kafka.test' }"


@on_both_loops
async def test_brokers_share_one_port_and_are_told_apart_by_the_name_that_is_asked_for(
    certificates, proxy_identity
):
    tls = client_of(certificates)
    async with (
        echoing_broker(answer_bytes=100) as first,
        echoing_broker(answer_bytes=101) as second,
        echoing_broker(answer_bytes=102) as any_broker,
        tls_front(any_broker, proxy_identity, World(), brokers=BY_HOST) as proxy_listener,
    ):
        proxy_listener.apply_facts(facts_of({1: first, 22: second}))
        port = proxy_listener.address.port

        assert proxy_listener.endpoints == {
            1: Endpoint("b1.kafka.test", port),
            22: Endpoint("b22.kafka.test", port),
        }
        answers = {"b1": 100, "B1": 100, "b22": 101, "bootstrap": 102, "b01": 102, "b": 102, "bx": 102}
        for name, size in answers.items():
            got = await ask_whole(proxy_listener.address, tls, f"{name}.kafka.test", size)
            assert got == answer(5, size), name


async def ask_whole(address, tls, host, size):
    async with await connect(address, ssl=tls, server_hostname=host) as client:
        client.send(request(5))
        return await client.gets(len(answer(5, size)))


@on_both_loops
async def test_a_broker_that_is_not_known_leads_nowhere_rather_than_to_another_one(
    certificates, proxy_identity
):
    world = World()
    async with (
        echoing_broker() as broker,
        tls_front(broker, proxy_identity, world, brokers=BY_HOST) as proxy_listener,
    ):
        proxy_listener.apply_facts(facts_of({1: broker}))
        assert await ask(proxy_listener.address, client_of(certificates), "b7.kafka.test") == b""
        assert world.logged.of("session_closed")[0]["text"] == "no broker is known"


async def test_no_byte_beyond_a_header_that_comes_in_pieces_is_read():
    """The rest would be lacking at the beginning of the TLS handshake, or of the first request."""
    sender, receiver = socket.socketpair()
    with sender, receiver:
        receiver.setblocking(False)
        reading = asyncio.create_task(_exactly(receiver, 4))
        waiting = select.poll()  # a run has more than the 1,024 descriptors that select() takes
        waiting.register(receiver, select.POLLIN)
        sender.send(b"he")
        await until(lambda: not waiting.poll(0))
        sender.send(b"ad and more")
        assert await reading == b"head"
        assert receiver.recv(100) == b" and more"


async def principal_at(proxy_listener, tls):
    """Who the client of a new connection is taken for."""
    async with await connect(proxy_listener.address, ssl=tls):
        [relay] = await until(lambda: [relay for relay in proxy_listener.relays if relay.broker.is_open])
    await until(lambda: not proxy_listener.relays)
    return relay.peer.principal


@on_both_loops
async def test_a_client_is_who_its_certificate_says(certificates, proxy_identity):
    ca = certificates.certificate
    async with (
        echoing_broker() as broker,
        tls_front(broker, proxy_identity, World(), ca=ca, more=", client_auth: requested") as proxy_listener,
    ):
        assert await principal_at(proxy_listener, client_of(certificates, "etl")) == "User:CN=etl"
        assert await principal_at(proxy_listener, client_of(certificates)) is None


@on_both_loops
async def test_a_certificates_subject_is_mapped_as_kafka_maps_it(certificates, proxy_identity):
    rules = ", principal_mapping: ['RULE:^CN=(app-.*)$/$1/U', 'RULE:^CN=(etl)$/batch-$1/']"
    world = World()
    ca = certificates.certificate
    async with (
        echoing_broker() as broker,
        tls_front(broker, proxy_identity, world, ca=ca, more=rules) as proxy_listener,
    ):
        assert await principal_at(proxy_listener, client_of(certificates, "app-1")) == "User:APP-1"
        assert await principal_at(proxy_listener, client_of(certificates, "etl")) == "User:batch-etl"

        with contextlib.suppress(ConnectionError, ssl.SSLError):
            assert await ask(proxy_listener.address, client_of(certificates, "nobody")) == b""
        [line] = await until(lambda: world.logged.of("principal_not_mapped"))
        assert "'CN=nobody'" in line["error"]
        await until(lambda: not proxy_listener.relays)


TRUSTED = "proxy_protocol: { from: [127.0.0.1] }"
PROXIED = f"{{ bind: '127.0.0.1:0', {TRUSTED} }}"
FROM_ELSEWHERE = "{ bind: '127.0.0.1:0', proxy_protocol: { from: [10.0.0.0/8, '2001:db8::/32'] } }"


async def addressed(proxy_listener, first):
    """The address that a connection is taken for which begins with these bytes."""
    async with await connect(proxy_listener.address) as client:
        await client.write(first[:5])  # the header may come in pieces, and data with it
        assert await client.frame(first[5:] + request(5)) == answer(5)[4:]
        [relay] = proxy_listener.relays
    await until(lambda: not proxy_listener.relays)
    return relay.peer.client_address, relay.peer.client_port


@on_both_loops
async def test_behind_a_load_balancer_the_client_is_known_by_its_own_address():
    async with serving(listener=PROXIED) as proxy_listener:
        assert await addressed(proxy_listener, tcp4("192.0.2.7", 4711)) == ("192.0.2.7", 4711)
        assert await addressed(proxy_listener, tcp6("2001:db8::7", 4711)) == ("2001:db8::7", 4711)
        assert (await addressed(proxy_listener, header(0, 0, b"")))[0] == HOST


@on_both_loops
async def test_the_header_stands_before_the_tls_handshake(certificates, proxy_identity):
    world = World()
    async with (
        echoing_broker() as broker,
        tls_front(broker, proxy_identity, world, brokers=f", {TRUSTED}") as proxy_listener,
        await connect(proxy_listener.address) as client,
    ):
        client.send(tcp4("192.0.2.7"))
        await client.start_tls(client_of(certificates))
        assert await client.frame(request(5)) == answer(5)[4:]
        assert [relay.peer.client_address for relay in proxy_listener.relays] == ["192.0.2.7"]


NOT_WHOLE, NOT_TRUSTED = "closed before its PROXY protocol header was whole", "is not the load balancer's"
REJECTED_HEADERS = {
    "kafka": (PROXIED, request(5), "no PROXY protocol header"),
    "version 1": (PROXIED, b"PROXY TCP4 192.0.2.7 198.51.100.1 1 2\r\n", "version 2, but one of version 1"),
    "cut short": (PROXIED, tcp4()[:20], NOT_WHOLE),
    "nothing": (PROXIED, b"", NOT_WHOLE),
    "PROXY of a stranger": (FROM_ELSEWHERE, tcp4("10.1.2.3"), NOT_TRUSTED),
    "LOCAL of a stranger": (FROM_ELSEWHERE, header(0, 0, b""), NOT_TRUSTED),
    "kafka of a stranger": (FROM_ELSEWHERE, request(5), NOT_TRUSTED),
}


@on_both_loops
@pytest.mark.parametrize(("listener", "first", "text"), REJECTED_HEADERS.values(), ids=list(REJECTED_HEADERS))
async def test_without_a_header_of_the_load_balancer_nobody_is_let_in(listener, first, text):
    """haproxy's proxy-protocol.txt, 2: the receiver must only take the header from those that it trusts."""
    world = World()
    async with serving(world, listener=listener) as proxy_listener:
        async with await connect(proxy_listener.address) as client, asyncio.timeout(PATIENCE_S):
            client.send(first)
            if listener is PROXIED:
                client.ends()
            assert await client.rest() == b""
        [line] = await until(lambda: world.logged.of("proxy_header_rejected"))
        assert line["client"] == HOST
        assert text in line["error"]
        await until(lambda: not proxy_listener.relays)
        counted = 'tsproxy_sessions_closed_total{listener="default",reason="proxy_header_rejected"}'
        assert world.metric(counted) == 1


async def test_who_is_trusted_changes_with_a_reload():
    async with before_broker(FROM_ELSEWHERE) as (proxy_listener, broker):
        proxy_listener.apply(config_of([broker], PROXIED))
        assert await addressed(proxy_listener, tcp4("192.0.2.7", 4711)) == ("192.0.2.7", 4711)


MOMENTS = {"nothing": b"", "a part of the header": tcp4()[:20], "the header": tcp4()}
"""The bytes that a client has sent when a reload comes."""
REFUSING = {"the address": ("10.0.0.0/8", "DEFAULT"), "the principal": ("127.0.0.1", "RULE:^CN=(app)$/$1/")}
"""The reason why the new configuration refuses a client that the old one refuses by its certificate."""


@pytest.mark.parametrize("sent", MOMENTS.values(), ids=list(MOMENTS))
@pytest.mark.parametrize(("trusted", "rule"), REFUSING.values(), ids=list(REFUSING))
async def test_a_client_that_two_configurations_refuse_is_not_let_in_by_half_of_each(
    certificates, proxy_identity, tmp_path, sent, trusted, rule
):
    """A reload brought the partner's authority with the rules for its principals. A client that was connected
    before showed the partner's certificate after it, and was taken for a principal by the old rules."""
    partner = CertificateAuthority(tmp_path)
    tls = client_context(certificates.certificate, partner.issue("partner"))
    context = {}

    def configured(authority, trusted, rule):
        keys = f"certificate: '{proxy_identity.certificate}', key: '{proxy_identity.key}'"
        mapped = f"client_ca: '{authority.certificate}', principal_mapping: ['{rule}']"
        more = f"tls: {{ {keys}, {mapped} }}, proxy_protocol: {{ from: [{trusted}] }}"
        config = config_of([broker], f"{{ bind: '127.0.0.1:0', {more} }}")
        context["now"] = Sources("listeners.default.tls", config.listeners[0].tls).make()
        return config

    async def is_let_in(client, rest):
        async with client:
            client.send(rest)
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await client.start_tls(tls)
                return await client.frame(request(5))

    async with (
        echoing_broker() as broker,
        front_of(
            configured(certificates, "127.0.0.1", "DEFAULT"), World(), tls=lambda: context["now"]
        ) as proxy_listener,
    ):
        early = await connect(proxy_listener.address)
        await until(lambda: proxy_listener.relays)
        await early.write(sent)
        assert not await is_let_in(await connect(proxy_listener.address), tcp4())
        proxy_listener.apply(configured(partner, trusted, rule))
        assert not await is_let_in(await connect(proxy_listener.address), tcp4())
        assert not await is_let_in(early, tcp4().removeprefix(sent))


async def test_a_header_that_does_not_come_is_not_waited_for_for_ever():
    world = World(limits=ProcessLimits(ConnectionLimits(handshake_ms=50), Clock()))
    async with serving(world, listener=PROXIED) as proxy_listener:
        async with await connect(proxy_listener.address) as client:
            assert await client.rest() == b""
        [line] = world.logged.of("proxy_header_rejected")
        assert "no PROXY protocol header within" in line["error"]
        assert world.metric('tsproxy_limits_total{limit="handshake"}') == 1


async def test_the_steps_of_a_handshake_share_one_time_limit(certificates, proxy_identity, monkeypatch):
    """A client that took its time for each of them had three times as long."""
    loop, left_s, patience_s, pause_s = asyncio.get_running_loop(), [], 3_600, 0.2
    accept = loop.connect_accepted_socket

    async def spied(*arguments, **named):
        left_s.append(named["ssl_handshake_timeout"])
        return await accept(*arguments, **named)

    monkeypatch.setattr(loop, "connect_accepted_socket", spied)
    limits = ProcessLimits(ConnectionLimits(handshake_ms=1_000 * patience_s), Clock())
    async with (
        echoing_broker() as broker,
        tls_front(broker, proxy_identity, World(limits=limits), brokers=f", {TRUSTED}") as proxy_listener,
        await connect(proxy_listener.address) as client,
    ):
        await until(lambda: proxy_listener.relays)
        for step in (tcp4("192.0.2.7"), b"\x16"):
            await asyncio.sleep(pause_s)
            client.send(step)
        await until(lambda: left_s)
    assert left_s[0] <= patience_s - 1.5 * pause_s


COMES = [("192.0.2.7", True), ("192.0.2.8", True), ("192.0.2.7", False)]
"""The address of a client, and whether it is let in."""


@on_both_loops
async def test_behind_a_load_balancer_each_client_has_its_own_limit():
    world = World(limits=ProcessLimits(ConnectionLimits(connections_per_address=1), Clock()))
    async with serving(world, listener=PROXIED) as proxy_listener:
        async with contextlib.AsyncExitStack() as stack:
            for address, is_let_in in COMES:
                client = await stack.enter_async_context(await connect(proxy_listener.address))
                with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                    assert await client.frame(tcp4(address) + request(5)) == answer(5)[4:]
                    assert is_let_in
            [line] = world.logged.of("connection_rejected")
            assert (line["client"], line["limit"]) == ("192.0.2.7", "connections_per_address")
        await until(lambda: not proxy_listener.relays)
        assert await addressed(proxy_listener, tcp4("192.0.2.7", 4711)) == ("192.0.2.7", 4711)


@on_both_loops
async def test_clients_that_begin_no_tls_take_no_place_of_their_load_balancer(certificates, proxy_identity):
    limits = ProcessLimits(ConnectionLimits(connections_per_address=1), Clock())
    async with (
        echoing_broker() as broker,
        tls_front(broker, proxy_identity, World(limits=limits), brokers=f", {TRUSTED}") as proxy_listener,
        contextlib.AsyncExitStack() as stack,
    ):
        for address in ("192.0.2.7", "192.0.2.8", "192.0.2.9"):
            client = await stack.enter_async_context(await connect(proxy_listener.address))
            client.send(tcp4(address))
            await until(lambda it=address: it in limits._connections.values())
