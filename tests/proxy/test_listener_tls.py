"""TLS on both sides of the proxy, between real sockets on both event loops."""

import contextlib
import socket
import ssl
from datetime import timedelta

import pytest

from tests.kit.client import connect
from tests.proxy.frames import answer, request
from tests.proxy.loops import on_both_loops
from tests.proxy.proxy_listeners import (
    HOST,
    ask,
    config_of,
    connections,
    echoing_broker,
    front_of,
    is_let_in,
    serving,
    tls_of,
    to_brokers,
)
from tests.proxy.world import World, until
from tsproxy.config.settings import UpstreamTls
from tsproxy.model.addresses import Address
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import client_context
from tsproxy.tls.contexts import upstream_context


@pytest.fixture(scope="module")
def server_identity(certificates):
    return certificates.issue("proxy")


@pytest.fixture(scope="module")
def client_tls(certificates):
    return client_context(certificates.certificate)


@contextlib.asynccontextmanager
async def before(broker, upstream_tls, world=None, tls=None):
    """An open listener in front of a broker that is called localhost."""
    config = config_of([Address("localhost", broker.port)])
    async with front_of(config, world or World(), tls=tls, upstream_tls=upstream_tls) as proxy_listener:
        yield proxy_listener


@contextlib.asynccontextmanager
async def both_sides(certificates, identity, answer_bytes=100):
    """The same with TLS to clients and to the broker."""
    async with (
        echoing_broker(tls_of(identity)(), answer_bytes) as broker,
        before(broker, to_brokers(certificates), tls=tls_of(identity)) as proxy_listener,
    ):
        yield proxy_listener


@on_both_loops
async def test_a_slow_client_behind_tls_on_both_sides_stops_its_broker_and_loses_nothing(
    certificates, server_identity, client_tls
):
    size = 40_000_000
    async with (
        both_sides(certificates, server_identity, size) as proxy_listener,
        await connect(proxy_listener.address, ssl=client_tls) as client,
    ):
        await client.write(request(5, 5_000_000))
        [relay] = proxy_listener.relays
        await until(lambda: relay.broker.transport and not relay.broker.transport.is_reading())

        assert relay.client.transport.get_write_buffer_size() < 2_000_000
        assert await client.gets(len(answer(5, size))) == answer(5, size)


ALERTS = (b"", b"\x15\x03\x03\x00\x02\x02\x46", b"\x15\x03\x01\x00\x02\x02\x46")


@on_both_loops
@pytest.mark.parametrize(
    ("sent", "named"), [(request(5), "plain"), (b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n", "an HTTP request")]
)
async def test_a_client_without_tls_on_a_tls_port_is_named_and_harms_nobody(
    server_identity, client_tls, sent, named
):
    world = World()
    async with serving(world, tls=tls_of(server_identity)) as proxy_listener:
        async with await connect(proxy_listener.address) as client:
            client.send(sent)
            assert await client.rest() in ALERTS

        [line] = await until(lambda: world.logged.of("tls_handshake_failed"))
        assert named in line["error"]
        assert line["client"] == HOST
        assert world.metric('tsproxy_tls_handshakes_failed_total{listener="default"}') == 1
        assert await ask(proxy_listener.address, client_tls) == answer(5)


@on_both_loops
async def test_a_tls_client_on_a_plain_port_gets_a_readable_line(client_tls):
    world = World()
    async with serving(world) as proxy_listener:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await ask(proxy_listener.address, client_tls)

        [line] = await until(lambda: world.logged.of("client_rejected"))
        assert "TLS" in line["detail"]


@on_both_loops
async def test_where_certificates_are_required_only_clients_with_one_are_let_in(
    certificates, server_identity
):
    world = World()
    tls = tls_of(server_identity, certificates.certificate, "required")
    async with serving(world, tls=tls) as proxy_listener:
        without = client_context(certificates.certificate)
        # TLS 1.3 clients learn of it after the handshake, at their first read.
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            assert await ask(proxy_listener.address, without) == b""
        [line] = await until(lambda: world.logged.of("tls_handshake_failed"))
        assert "showed no certificate" in line["error"]

        shown = client_context(certificates.certificate, certificates.issue("client-of-listeners"))
        assert await ask(proxy_listener.address, shown) == answer(5)


@on_both_loops
async def test_a_broker_that_cannot_be_trusted_is_not_talked_to(certificates, tmp_path_factory):
    other = CertificateAuthority(tmp_path_factory.mktemp("other"), "somebody else")
    world = World()
    async with (
        echoing_broker(tls_of(other.issue("broker"))()) as broker,
        before(broker, to_brokers(certificates), world) as proxy_listener,
    ):
        assert await ask(proxy_listener.address) == b""
        [line] = world.logged.of("session_closed")
        assert "certificate was rejected" in line["text"]


@on_both_loops
async def test_without_an_authority_in_the_file_those_of_the_system_are_trusted(certificates, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.certificate))
    of_the_system = upstream_context(UpstreamTls())
    monkeypatch.delenv("SSL_CERT_FILE")
    of_another = upstream_context(UpstreamTls())
    async with echoing_broker(tls_of(certificates.issue("trusted-by-the-system"))()) as broker:
        for context, expected in ((of_the_system, answer(5)), (of_another, b"")):
            async with before(broker, lambda made=context: made) as proxy_listener:
                assert await ask(proxy_listener.address) == expected


@on_both_loops
@pytest.mark.parametrize("advertised", ["localhost", HOST])
async def test_a_broker_must_have_the_name_that_it_advertises(certificates, advertised):
    """Another broker's certificate is no better than a stranger's, though the authority is the same."""
    to_broker, world = to_brokers(certificates), World()
    for hosts, expected in (([advertised], answer(5)), (["b2.kafka.test"], b"")):
        broker_tls = tls_of(certificates.issue(f"named-{hosts[0]}", hosts))()
        async with echoing_broker(broker_tls) as broker:
            config = config_of([Address(advertised, broker.port)])
            async with front_of(config, world, upstream_tls=to_broker) as proxy_listener:
                assert await ask(proxy_listener.address) == expected
    [line] = world.logged.of("session_closed")
    assert "certificate was rejected" in line["text"]


@on_both_loops
async def test_brokers_that_ask_for_a_certificate_are_shown_the_proxys(certificates):
    identity = certificates.issue("shown-to-brokers")
    broker_tls = tls_of(certificates.issue("asking"), certificates.certificate, "required")()
    async with echoing_broker(broker_tls) as broker:
        for shown, expected in ((identity, answer(5)), (None, b"")):
            async with before(broker, to_brokers(certificates, shown)) as proxy_listener:
                assert await ask(proxy_listener.address) == expected


@on_both_loops
async def test_a_client_that_only_looks_at_a_tls_port_leaves_nothing_behind(server_identity):
    world = World()
    async with serving(world, tls=tls_of(server_identity)) as proxy_listener:
        socket.create_connection((HOST, proxy_listener.address.port)).close()

        await until(lambda: world.logged.of("tls_handshake_failed"))
        await until(lambda: not proxy_listener.relays)
        assert not any(connections(world).values())
        assert proxy_listener._context.results.lately() == []


@on_both_loops
async def test_a_client_that_does_not_trust_the_certificate_is_counted_although_it_says_nothing(
    server_identity,
):
    """Python's asyncio closes without an alert."""
    world = World()
    async with serving(world, tls=tls_of(server_identity)) as proxy_listener:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await ask(proxy_listener.address, ssl.create_default_context())

        await until(lambda: world.logged.of("tls_handshake_failed"))
        [counted] = proxy_listener._context.results.lately()
        assert (counted.result, counted.connections) == ("handshake_failed", 1)


@on_both_loops
@pytest.mark.parametrize("shown", ["nothing", "another authority's", "an expired one", "an unmapped one"])
async def test_a_client_whose_certificate_is_rejected_is_counted_as_that(
    certificates, server_identity, tmp_path, shown
):
    """The listener's own certificate is not to blame."""
    made = {
        "nothing": lambda: None,
        "another authority's": lambda: CertificateAuthority(tmp_path, "somebody else").issue("stranger"),
        "an expired one": lambda: certificates.issue("late-client", starts=timedelta(days=-3)),
        "an unmapped one": lambda: certificates.issue("unmapped-client"),
    }
    files = f"certificate: '{server_identity.certificate}', key: '{server_identity.key}'"
    checks = f"client_ca: '{certificates.certificate}', principal_mapping: ['RULE:^CN=(app)$/$1/']"
    listener = f"{{ bind: '{HOST}:0', tls: {{ {files}, {checks} }} }}"
    tls = tls_of(server_identity, certificates.certificate, "required")
    async with serving(listener=listener, tls=tls) as proxy_listener:
        assert not await is_let_in(
            proxy_listener.address, client_context(certificates.certificate, made[shown]())
        )
        [counted] = await until(proxy_listener._context.results.lately)
        assert (counted.result, counted.connections) == ("certificate_rejected", 1)
