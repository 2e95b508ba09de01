"""Ports, TLS and where connections lead, between real sockets on both event loops."""

import asyncio
import contextlib
import socket
import ssl
from pathlib import Path
from unittest.mock import Mock

import pytest
import structlog

from tests.proxy.frames import answer, request
from tests.proxy.loops import on_both_loops
from tests.proxy.proxy_listeners import HOST, ask, config_of, echoing_broker, facts_of, front_of
from tests.proxy.running import rejects
from tests.proxy.world import World, until
from tsproxy.clock import Clock
from tsproxy.config.settings import ConnectionLimits, ListenerTls, UpstreamTls
from tsproxy.model.addresses import Address
from tsproxy.model.view import Endpoint
from tsproxy.proxy.connections.relay import Relay
from tsproxy.proxy.limits.descriptors import raise_limit
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.ports import ListenError, Port
from tsproxy.testing.ports import free_ports
from tsproxy.tls.contexts import server_context, upstream_context

SYSTEM_ALLOWS = int(Path("/proc/sys/net/core/somaxconn").read_text())
"""Clients that may wait at one port to be accepted."""


@on_both_loops
async def test_a_port_is_reserved_at_once_and_rejects_until_it_is_opened():
    async with echoing_broker() as broker, front_of(config_of([broker]), World()) as proxy_listener:
        assert proxy_listener.address.port > 0
        assert rejects(proxy_listener.address.host, proxy_listener.address.port)

        proxy_listener.apply_facts(facts_of({1: broker}))
        proxy_listener.open()

        assert await ask(proxy_listener.address) == answer(5)


@on_both_loops
async def test_a_brokers_port_is_open_before_its_address_is_in_the_view():
    async with echoing_broker() as broker, front_of(config_of([broker]), World()) as proxy_listener:
        proxy_listener.apply_facts(facts_of({1: broker, 7: broker}))

        assert proxy_listener.endpoints.keys() == {1, 7}
        for endpoint in proxy_listener.endpoints.values():
            assert await ask(Address(endpoint.host, endpoint.port)) == answer(5)


@on_both_loops
async def test_a_brokers_port_leads_to_where_the_broker_is_now():
    async with echoing_broker() as new, front_of(config_of([new]), World()) as proxy_listener:
        proxy_listener.apply_facts(facts_of({1: Address(HOST, free_ports(1)[0])}))
        before = proxy_listener.endpoints
        assert await ask(Address(HOST, before[1].port)) == b""

        proxy_listener.apply_facts(facts_of({1: new}))

        assert proxy_listener.endpoints == before
        assert await ask(Address(HOST, before[1].port)) == answer(5)


@on_both_loops
async def test_sessions_can_tell_that_the_rules_have_not_changed():
    """They compare the objects: rules of custom code, and a thousand others, cannot be compared for each."""
    relay, views = Mock(Relay), []
    relay.apply_view.side_effect = lambda view, _: views.append(view)
    broker = Address(HOST, free_ports(1)[0])
    async with front_of(config_of([broker]), World()) as proxy_listener:
        proxy_listener.relays.add(relay)
        proxy_listener.apply_facts(facts_of({1: broker}))
        proxy_listener.apply_facts(facts_of({1: broker, 2: broker}))
        proxy_listener.offer((3, 12))
        proxy_listener.suspend(True)
        proxy_listener.apply(config_of([broker]))
        proxy_listener.relays.clear()
    policies = [view.policy for view in views]
    assert policies[0] is policies[1] is policies[2]
    assert [policy.is_suspended for policy in policies] == [False, False, False, True, True]
    assert policies[4] is not policies[3]
    assert len({id(view.limits) for view in views[:4]}) == 1


@on_both_loops
async def test_a_broker_that_is_gone_keeps_its_port():
    async with echoing_broker() as broker, front_of(config_of([broker]), World()) as proxy_listener:
        proxy_listener.apply_facts(facts_of({1: broker, 2: broker}))
        proxy_listener.apply_facts(facts_of({1: broker}))

        assert proxy_listener.endpoints.keys() == {1, 2}


@on_both_loops
async def test_ports_follow_from_node_ids_and_advertised_hosts_from_the_configuration():
    first, *_ = free_ports(1)
    listener = f"{{ bind: '127.0.0.1:0', advertised_host: kafka.test, brokers: {{ ports_from: {first} }} }}"
    async with echoing_broker() as broker, front_of(config_of([broker], listener), World()) as proxy_listener:
        proxy_listener.apply_facts(facts_of({0: broker}))

        assert proxy_listener.endpoints == {0: Endpoint("kafka.test", first)}


@on_both_loops
async def test_a_node_beyond_the_range_of_ports_is_not_served_and_told_once():
    listener = "{ bind: '127.0.0.1:0', brokers: { count: 3 } }"
    with structlog.testing.capture_logs() as logs:
        async with (
            echoing_broker() as broker,
            front_of(config_of([broker], listener), World()) as proxy_listener,
        ):
            proxy_listener.apply_facts(facts_of({2: broker, 3: broker}))
            proxy_listener.apply_facts(facts_of({2: broker, 3: broker, 1: broker}))

            assert proxy_listener.endpoints.keys() == {1, 2}
    told = [line for line in logs if line["event"] == "broker_not_served"]
    assert [line["node_id"] for line in told] == [3]
    assert "the 3 from 0 to 2" in told[0]["error"]


@on_both_loops
async def test_a_node_whose_port_is_taken_is_served_when_the_port_is_free_again():
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        listener = f"{{ bind: '127.0.0.1:0', brokers: {{ ports_from: {port - 1}, count: 2 }} }}"
        async with (
            echoing_broker() as broker,
            front_of(config_of([broker], listener), World()) as proxy_listener,
        ):
            with structlog.testing.capture_logs() as logs:
                proxy_listener.apply_facts(facts_of({1: broker}))
            assert proxy_listener.endpoints == {}
            assert [line["event"] for line in logs] == ["broker_not_served"]
            assert "another program listens there" in logs[0]["error"]

            taken.close()
            proxy_listener.apply_facts(facts_of({1: broker}))

            assert proxy_listener.endpoints == {1: Endpoint(HOST, port)}


@on_both_loops
async def test_bootstrapping_goes_to_the_next_upstream_where_one_is_down():
    async with echoing_broker() as broker:
        dead = Address(HOST, free_ports(1)[0])
        async with front_of(config_of([dead, broker]), World()) as proxy_listener:
            proxy_listener.open()

            assert [await ask(proxy_listener.address) for _ in range(4)] == [answer(5)] * 4


@on_both_loops
async def test_with_all_upstreams_down_a_client_is_accepted_and_closed_and_the_log_says_why():
    dead = Address(HOST, free_ports(1)[0])
    world = World()
    async with front_of(config_of([dead]), world) as proxy_listener:
        proxy_listener.open()

        assert await ask(proxy_listener.address) == b""
        assert await ask(proxy_listener.address) == b""
        lines = world.logged.of("session_closed")
        assert lines[0]["reason"] == "upstream_unavailable"
        assert lines[0]["text"].startswith(f"{dead}: ")
        assert "rejected" in lines[0]["text"].lower() or "connect" in lines[0]["text"].lower()
        await until(lambda: not any(connections(world).values()))


@on_both_loops
async def test_an_upstream_whose_name_no_dns_can_have_is_told_like_any_other():
    world = World()
    nowhere = Address("a" * 70 + ".test", 9092)
    async with front_of(config_of([nowhere]), world) as proxy_listener:
        proxy_listener.open()

        assert await ask(proxy_listener.address) == b""
        assert world.logged.of("session_closed")[0]["text"] == f"{nowhere}: not a host name"


def connections(world):
    """Open connections by state."""
    states = ("connecting", "relaying", "finishing", "closing")
    return {s: world.metric(f'tsproxy_connections{{listener="default",state="{s}"}}') for s in states}


@on_both_loops
async def test_open_connections_are_counted_up_and_down():
    world = World()
    async with echoing_broker() as broker, front_of(config_of([broker]), world) as proxy_listener:
        proxy_listener.open()
        _, writer = await asyncio.open_connection(proxy_listener.address.host, proxy_listener.address.port)
        await until(lambda: connections(world)["relaying"] == 1)
        assert sum(connections(world).values()) == 1
        writer.close()

        await until(lambda: not any(connections(world).values()))


@pytest.fixture(scope="module")
def server_identity(certificates):
    return certificates.issue("proxy")


@pytest.fixture(scope="module")
def client_tls(certificates):
    return ssl.create_default_context(cafile=certificates.certificate)


def tls_of(identity, client_ca=None, client_auth="none"):
    context = server_context(
        ListenerTls(
            certificate=identity.certificate, key=identity.key, client_ca=client_ca, client_auth=client_auth
        )
    )
    return lambda: context


def to_brokers(certificates, identity=None):
    shown = (identity.certificate, identity.key) if identity else ()
    context = upstream_context(UpstreamTls(certificates.certificate, *shown))
    return lambda: context


@on_both_loops
async def test_tls_on_both_sides_passes_the_same_bytes(certificates, server_identity, client_tls):
    broker_identity = certificates.issue("broker-of-listeners")
    broker_tls = tls_of(broker_identity)()
    to_broker = to_brokers(certificates)
    async with echoing_broker(broker_tls) as broker:
        config = config_of([Address("localhost", broker.port)])
        async with front_of(
            config, World(), tls=tls_of(server_identity), upstream_tls=to_broker
        ) as proxy_listener:
            proxy_listener.open()

            assert await ask(proxy_listener.address, client_tls) == answer(5)


@on_both_loops
async def test_large_frames_pass_through_tls_on_both_sides_whole(certificates, server_identity, client_tls):
    broker_tls = tls_of(server_identity)()
    to_broker = to_brokers(certificates)
    large = request(5, 5_000_000)
    async with echoing_broker(broker_tls) as broker:
        config = config_of([Address("localhost", broker.port)])
        async with front_of(
            config, World(), tls=tls_of(server_identity), upstream_tls=to_broker
        ) as proxy_listener:
            proxy_listener.open()
            reader, writer = await asyncio.open_connection(
                proxy_listener.address.host,
                proxy_listener.address.port,
                ssl=client_tls,
                server_hostname="localhost",
            )
            for _ in range(4):
                writer.write(large)
            await writer.drain()

            assert await reader.readexactly(4 * len(answer(5))) == 4 * answer(5)
            writer.close()


@on_both_loops
async def test_a_slow_client_behind_tls_stops_its_broker_and_loses_nothing(
    certificates, server_identity, client_tls
):
    to_broker = to_brokers(certificates)
    large = answer(5, 40_000_000)
    async with (
        echoing_broker(tls_of(server_identity)(), 40_000_000) as broker,
        front_of(
            config_of([Address("localhost", broker.port)]),
            World(),
            tls=tls_of(server_identity),
            upstream_tls=to_broker,
        ) as proxy_listener,
    ):
        proxy_listener.open()
        reader, writer = await asyncio.open_connection(
            proxy_listener.address.host,
            proxy_listener.address.port,
            ssl=client_tls,
            server_hostname="localhost",
        )
        writer.write(request(5))
        [relay] = proxy_listener.relays
        await until(lambda: relay.broker.transport and not relay.broker.transport.is_reading())

        assert relay.client.transport.get_write_buffer_size() < 2_000_000
        assert await reader.readexactly(len(large)) == large
        writer.close()


@on_both_loops
async def test_a_plain_client_on_a_tls_port_gets_a_readable_line_and_harms_nobody(
    server_identity, client_tls
):
    world = World()
    async with (
        echoing_broker() as broker,
        front_of(config_of([broker]), world, tls=tls_of(server_identity)) as proxy_listener,
    ):
        proxy_listener.open()
        with contextlib.suppress(ConnectionError):
            assert await ask(proxy_listener.address) in (
                b"",
                b"\x15\x03\x03\x00\x02\x02\x46",
                b"\x15\x03\x01\x00\x02\x02\x46",
            )

        [line] = await until(lambda: world.logged.of("tls_handshake_failed"))
        assert "plain" in line["error"]
        assert line["client"] == HOST
        assert world.metric('tsproxy_tls_handshakes_failed_total{listener="default"}') == 1
        assert await ask(proxy_listener.address, client_tls) == answer(5)


@on_both_loops
async def test_an_http_request_on_a_tls_port_is_named(server_identity):
    world = World()
    async with (
        echoing_broker() as broker,
        front_of(config_of([broker]), world, tls=tls_of(server_identity)) as proxy_listener,
    ):
        proxy_listener.open()
        reader, writer = await asyncio.open_connection(HOST, proxy_listener.address.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        [line] = await until(lambda: world.logged.of("tls_handshake_failed"))
        assert "an HTTP request" in line["error"]


@on_both_loops
async def test_a_tls_client_on_a_plain_port_gets_a_readable_line(client_tls):
    world = World()
    async with echoing_broker() as broker, front_of(config_of([broker]), world) as proxy_listener:
        proxy_listener.open()
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
    async with echoing_broker() as broker, front_of(config_of([broker]), world, tls=tls) as proxy_listener:
        proxy_listener.open()
        without = ssl.create_default_context(cafile=certificates.certificate)
        # TLS 1.3 clients learn of it after the handshake, at their first read.
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            assert await ask(proxy_listener.address, without) == b""
        [line] = await until(lambda: world.logged.of("tls_handshake_failed"))
        assert "showed no certificate" in line["error"]

        identity = certificates.issue("client-of-listeners")
        shown = ssl.create_default_context(cafile=certificates.certificate)
        shown.load_cert_chain(identity.certificate, identity.key)
        assert await ask(proxy_listener.address, shown) == answer(5)


@on_both_loops
async def test_a_broker_that_cannot_be_trusted_is_not_talked_to(certificates, tmp_path_factory):
    from tsproxy.testing.certificates import CertificateAuthority

    other = CertificateAuthority(tmp_path_factory.mktemp("other"), "somebody else")
    broker_tls = tls_of(other.issue("broker"))()
    to_broker = to_brokers(certificates)
    world = World()
    async with echoing_broker(broker_tls) as broker:
        config = config_of([Address("localhost", broker.port)])
        async with front_of(config, world, upstream_tls=to_broker) as proxy_listener:
            proxy_listener.open()

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
        config = config_of([Address("localhost", broker.port)])
        for context, expected in ((of_the_system, answer(5)), (of_another, b"")):
            async with front_of(config, World(), upstream_tls=lambda made=context: made) as proxy_listener:
                proxy_listener.open()
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
                proxy_listener.open()
                assert await ask(proxy_listener.address) == expected
    [line] = world.logged.of("session_closed")
    assert "certificate was rejected" in line["text"]


@on_both_loops
async def test_brokers_that_ask_for_a_certificate_are_shown_the_proxys(certificates):
    identity = certificates.issue("shown-to-brokers")
    broker_tls = tls_of(certificates.issue("asking"), certificates.certificate, "required")()
    async with echoing_broker(broker_tls) as broker:
        config = config_of([Address("localhost", broker.port)])
        for shown, expected in ((identity, answer(5)), (None, b"")):
            to_broker = to_brokers(certificates, shown)
            async with front_of(config, World(), upstream_tls=to_broker) as proxy_listener:
                proxy_listener.open()
                assert await ask(proxy_listener.address) == expected


@on_both_loops
async def test_a_client_that_only_looks_at_a_tls_port_leaves_nothing_behind(server_identity):
    world = World()
    async with (
        echoing_broker() as broker,
        front_of(config_of([broker]), world, tls=tls_of(server_identity)) as proxy_listener,
    ):
        proxy_listener.open()
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
    async with (
        echoing_broker() as broker,
        front_of(config_of([broker]), world, tls=tls_of(server_identity)) as proxy_listener,
    ):
        proxy_listener.open()
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await ask(proxy_listener.address, ssl.create_default_context())

        await until(lambda: world.logged.of("tls_handshake_failed"))
        [counted] = proxy_listener._context.results.lately()
        assert (counted.result, counted.connections) == ("handshake_failed", 1)


@on_both_loops
async def test_clients_that_come_all_at_once_are_let_in_a_few_a_turn():
    """Clients that were there before have their turns in between."""
    clients, accepted, a_turn = 20, [], []

    def let_in(connection, *_):
        accepted.append(connection)
        return True

    port = Port(Address(HOST, 0), let_in)
    port.open()
    with contextlib.ExitStack() as ends:
        for _ in range(clients):
            ends.enter_context(socket.create_connection((HOST, port.address.port)))
        while len(accepted) < clients:
            before = len(accepted)
            await asyncio.sleep(0)
            a_turn.append(len(accepted) - before)
        port.close()
        for connection in accepted:
            connection.close()
    assert max(a_turn) <= 4


@on_both_loops
async def test_clients_of_one_address_that_are_turned_away_do_not_keep_others_waiting():
    """A hundred took 25 turns, and one address may fill the queue again and again."""
    many = 100
    world = World(limits=ProcessLimits(ConnectionLimits(connections_per_address=2), Clock()))
    async with echoing_broker() as broker, front_of(config_of([broker]), world) as proxy_listener:
        proxy_listener.apply_facts(facts_of({1: broker}))
        proxy_listener.open()
        with contextlib.ExitStack() as ends:
            for _ in range(many):
                ends.enter_context(socket.create_connection((HOST, proxy_listener.address.port)))
            place = HOST, proxy_listener.address.port
            ends.enter_context(socket.create_connection(place, source_address=("127.0.0.9", 0)))
            turns = 0
            while "127.0.0.9" not in world.limits.by_address:
                await asyncio.sleep(0)
                turns += 1
            await until(lambda: all(relay.broker_address for relay in proxy_listener.relays))
    assert turns < 10


async def test_as_many_clients_wait_to_be_accepted_as_the_system_allows():
    """Further ones would be dropped, and try again after a second or more."""
    most = min(2_000, SYSTEM_ALLOWS)
    assert (raise_limit(most + 200) or 0) > most + 100, "the system grants too few open files"
    port = Port(Address(HOST, 0), lambda connection, *_: connection.close())
    port.open()
    with contextlib.ExitStack() as ends:
        for _ in range(most):
            ends.enter_context(socket.create_connection((HOST, port.address.port), timeout=0.5))
        port.close()


def test_a_port_in_use_is_told_with_what_to_do():
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        address = Address(HOST, taken.getsockname()[1])

        with pytest.raises(ListenError, match=rf"cannot listen on {address}: another program listens there"):
            Port(address, lambda *_: None)


@pytest.mark.parametrize(
    ("address", "advice"),
    [
        (Address("192.0.2.1", 1234), "no interface of this machine has that address"),
        (Address("no-such-host.invalid", 1234), "cannot listen on no-such-host.invalid:1234: "),
    ],
)
def test_an_address_that_is_not_ours_is_told_with_what_to_do(address, advice):
    with pytest.raises(ListenError, match=advice):
        Port(address, lambda *_: None)
