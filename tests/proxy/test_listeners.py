"""Ports and where connections lead, between real sockets on both event loops."""

import asyncio
import contextlib
import resource
import socket
import time
from dataclasses import replace
from datetime import datetime
from ipaddress import IPv6Address
from pathlib import Path

import pytest
import structlog

from tests.kit.client import connect
from tests.proxy.frames import answer, request
from tests.proxy.loops import on_both_loops
from tests.proxy.proxy_listeners import (
    HOST,
    ask,
    before_broker,
    config_of,
    connections,
    dropping,
    echoing_broker,
    facts_of,
    front_of,
    serving,
)
from tests.proxy.running import rejects
from tests.proxy.world import PATIENCE_S, World, until
from tsproxy.clock import Clock
from tsproxy.cluster import upstream as upstream_room
from tsproxy.config.settings import ConnectionLimits
from tsproxy.model.addresses import Address
from tsproxy.model.policy import LimitsFrom, Mode, Policy
from tsproxy.model.view import Endpoint
from tsproxy.proxy.connections import listener as listener_room
from tsproxy.proxy.connections.relay import Relay
from tsproxy.proxy.limits.descriptors import raise_limit
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.ports import ListenError, Port, each_address
from tsproxy.testing.ports import free_ports

SYSTEM_ALLOWS = int(Path("/proc/sys/net/core/somaxconn").read_text())
"""Clients that may wait at one port to be accepted."""


@on_both_loops
async def test_a_port_is_reserved_at_once_and_rejects_until_it_is_opened():
    async with before_broker(opens=False) as (proxy_listener, broker):
        assert proxy_listener.address.port > 0
        assert rejects(proxy_listener.address)

        proxy_listener.apply_facts(facts_of({1: broker}))
        proxy_listener.open()

        assert await ask(proxy_listener.address) == answer(5)


@on_both_loops
async def test_a_brokers_port_is_open_before_its_address_is_in_the_view():
    async with before_broker() as (proxy_listener, broker):
        proxy_listener.apply_facts(facts_of({1: broker, 7: broker}))

        assert proxy_listener.endpoints.keys() == {1, 7}
        for endpoint in proxy_listener.endpoints.values():
            assert await ask(Address(endpoint.host, endpoint.port)) == answer(5)


async def test_an_ipv6_address_of_a_broker_has_brackets_in_the_log_and_on_the_page():
    async with before_broker("{ bind: '127.0.0.1:0', advertised_host: '::1' }") as (proxy_listener, broker):
        with structlog.testing.capture_logs() as logged:
            proxy_listener.apply_facts(facts_of({1: broker}))
        address = f"[::1]:{proxy_listener.endpoints[1].port}"
        assert [line["address"] for line in logged if line["event"] == "broker_served"] == [address]
        assert [each.served_at for each in proxy_listener.brokers] == [address]


def link_local():
    """A link-local address of this machine, with its zone."""
    for digits, *_, zone in map(str.split, Path("/proc/net/if_inet6").read_text().splitlines()):
        if (ip := IPv6Address(int(digits, 16))).is_link_local:
            return f"{ip}%{zone}"
    return pytest.skip("no interface has a link-local IPv6 address: ip -6 address add fe80::1/64 dev lo")


async def test_a_link_local_address_keeps_its_zone_for_the_ports_of_brokers_and_of_the_admin_pages():
    """Nothing can be bound to it without."""
    host = link_local()
    assert each_address(Address(host, 1)) == [Address(host, 1)]
    async with before_broker(f"{{ bind: '[{host}]:0', advertised_host: localhost }}") as (served, broker):
        served.apply_facts(facts_of({1: broker}))
        assert await ask(Address(host, served.endpoints[1].port)) == answer(5)


@on_both_loops
async def test_a_brokers_port_leads_to_where_the_broker_is_now():
    async with before_broker() as (proxy_listener, new):
        proxy_listener.apply_facts(facts_of({1: Address(HOST, free_ports(1)[0])}))
        before = proxy_listener.endpoints
        assert await ask(Address(HOST, before[1].port)) == b""

        proxy_listener.apply_facts(facts_of({1: new}))

        assert proxy_listener.endpoints == before
        assert await ask(Address(HOST, before[1].port)) == answer(5)


@on_both_loops
async def test_a_broker_that_is_gone_keeps_its_port_says_since_when_and_is_forgotten_with_its_cluster():
    async with before_broker() as (proxy_listener, broker):

        def gone():
            return {
                each.node_id: (each.gone_since, each.port_is_free_after) for each in proxy_listener.brokers
            }

        proxy_listener.apply_facts(facts_of({1: broker, 2: broker}))
        assert gone() == {1: (None, None), 2: (None, None)}
        proxy_listener.apply_facts(facts_of({1: broker}))
        assert proxy_listener.endpoints.keys() == {1, 2}
        since, free_after = gone()[2]
        assert datetime.fromisoformat(since).timestamp() == pytest.approx(time.time(), abs=60)
        assert free_after == "a restart of the proxy"

        proxy_listener.apply_facts(facts_of({1: broker, 2: broker}))
        assert gone() == {1: (None, None), 2: (None, None)}

        proxy_listener.apply_facts(replace(facts_of({3: broker}), cluster_id="another"))
        assert gone() == {3: (None, None)}
        assert proxy_listener.endpoints.keys() == {3}


@on_both_loops
async def test_a_client_that_vanishes_is_noticed_within_two_minutes():
    """NAT and load balancers forget a silent connection after four minutes or more, without a word."""
    async with before_broker() as (proxy_listener, broker):
        proxy_listener.apply_facts(facts_of({1: broker}))
        options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE)]
        options += [
            (socket.IPPROTO_TCP, getattr(socket, f"TCP_KEEP{name}")) for name in ("IDLE", "INTVL", "CNT")
        ]
        async with await connect(proxy_listener.address) as client:
            await client.frame(request(5))
            [relay] = proxy_listener.relays
            inside = relay.client.transport.get_extra_info("socket")
            is_on, idle_s, every_s, most = (inside.getsockopt(*option) for option in options)

    assert is_on
    assert idle_s + every_s * most <= 120


@on_both_loops
async def test_sessions_can_tell_that_the_rules_have_not_changed():
    """They compare the objects: rules of custom code, and a thousand others, cannot be compared for each."""
    views, broker = [], Address(HOST, free_ports(1)[0])
    async with front_of(config_of([broker]), World(), opens=False) as proxy_listener:
        for change in (
            lambda: proxy_listener.apply_facts(facts_of({1: broker})),
            lambda: proxy_listener.apply_facts(facts_of({1: broker, 2: broker})),
            lambda: proxy_listener.offer((3, 12)),
            lambda: proxy_listener.suspend(True),
            lambda: proxy_listener.apply(config_of([broker])),
        ):
            change()
            views.append(proxy_listener._views.view)
    policies = [view.policy for view in views]
    assert policies[0] is policies[1] is policies[2]
    assert [policy.is_suspended for policy in policies] == [False, False, False, True, True]
    assert policies[4] is not policies[3]
    assert len({id(view.limits) for view in views[:4]}) == 1


@pytest.mark.parametrize("other", [Policy(mode=Mode.OFF), Policy(limits_from=LimitsFrom.CONFIG)])
async def test_sessions_wait_for_limits_just_while_the_policy_in_force_asks_for_them(other):
    """They learnt it with the next refresh, and judged by limits that nobody had read."""
    config = config_of([Address(HOST, free_ports(1)[0])])
    async with front_of(config, World(), opens=False) as proxy_listener:
        proxy_listener.apply_facts(replace(facts_of({}), reads_limits=True))
        for policy, waits in ((config.policy, True), (other, False), (config.policy, True)):
            proxy_listener.apply(replace(config, policy=policy))
            assert proxy_listener._views.view.reads_limits is waits


async def test_sessions_read_names_and_mask_addresses_as_the_file_says():
    listener, broker = "{{ bind: '127.0.0.1:0', addresses_in_configs: {} }}", Address(HOST, free_ports(1)[0])
    for word, masks in (("mask", True), ("pass", False)):
        config = config_of([broker], listener.format(word))
        config = replace(config, upstream=replace(config.upstream, bearer_claim=word))
        async with front_of(config, World(), opens=False) as proxy_listener:
            proxy_listener.apply_facts(facts_of({1: broker}))
            view = proxy_listener._views.view
            assert (view.masks_addresses, view.bearer_claim) == (masks, word)


@on_both_loops
async def test_ports_follow_from_node_ids_and_advertised_hosts_from_the_configuration():
    first, *_ = free_ports(1)
    brokers = f"brokers: {{ ports_from: {first}, first_id: 1001 }}"
    listener = f"{{ bind: '127.0.0.1:0', advertised_host: kafka.test, {brokers} }}"
    async with before_broker(listener) as (proxy_listener, broker):
        proxy_listener.apply_facts(facts_of({1001: broker}))

        assert proxy_listener.endpoints == {1001: Endpoint("kafka.test", first)}


@on_both_loops
async def test_a_node_beyond_the_range_of_ports_is_not_served_and_told_once():
    listener = "{ bind: '127.0.0.1:0', brokers: { count: 3 } }"
    with structlog.testing.capture_logs() as logs:
        async with before_broker(listener) as (proxy_listener, broker):
            proxy_listener.apply_facts(facts_of({2: broker, 3: broker}))
            proxy_listener.apply_facts(facts_of({2: broker, 3: broker, 1: broker}))

            assert proxy_listener.endpoints.keys() == {1, 2}
    told = [line for line in logs if line["event"] == "broker_not_served"]
    assert [line["node_id"] for line in told] == [3]
    for part in ("the 3 from 0 to 2", "first_id to the lowest node id", "brokers.host"):
        assert part in told[0]["error"]


@on_both_loops
async def test_a_node_whose_port_is_taken_is_served_when_the_port_is_free_again():
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        listener = f"{{ bind: '127.0.0.1:0', brokers: {{ ports_from: {port - 1}, count: 2 }} }}"
        async with before_broker(listener) as (proxy_listener, broker):
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
            assert [await ask(proxy_listener.address) for _ in range(4)] == [answer(5)] * 4


@on_both_loops
async def test_bootstrapping_goes_to_any_broker_that_is_known_where_each_upstream_is_down():
    async with echoing_broker() as broker:
        dead = Address(HOST, free_ports(1)[0])
        async with front_of(config_of([dead]), World()) as proxy_listener:
            proxy_listener.apply_facts(facts_of({1: dead, 2: broker}))
            assert await ask(proxy_listener.address) == answer(5)


@on_both_loops
async def test_bootstrap_servers_that_are_silent_are_asked_after_brokers_that_are_not(monkeypatch):
    """Each took 10 s of each client's time, and clients give up."""
    monkeypatch.setattr(upstream_room, "NEXT_ADDRESS_S", 0.2)
    with dropping("127.0.0.2") as first, dropping("127.0.0.3") as second:
        async with echoing_broker() as broker, front_of(config_of([first, second]), World()) as listener:
            listener.apply_facts(facts_of({1: broker}))
            assert await ask(listener.address) == answer(5)
            with monkeypatch.context() as patient:
                patient.setattr(upstream_room, "NEXT_ADDRESS_S", 10 * PATIENCE_S)
                assert [await ask(listener.address) for _ in range(3)] == [answer(5)] * 3


@on_both_loops
async def test_a_client_waits_for_brokers_that_are_all_silent_no_longer_than_clients_do(monkeypatch):
    """It took 10 s for each broker of the cluster."""
    monkeypatch.setattr(upstream_room, "NEXT_ADDRESS_S", 0.2)
    monkeypatch.setattr(upstream_room, "LAST_ADDRESS_S", 0.5)
    world = World()
    with dropping("0.0.0.0") as silent:
        async with front_of(config_of([silent]), world) as listener:
            listener.apply_facts(facts_of({n: replace(silent, host=f"127.0.1.{n}") for n in range(200)}))
            assert await ask(listener.address) == b""
    [line] = world.logged.of("session_closed")
    assert line["text"].count("no answer within 0.2 s") == 3


@on_both_loops
async def test_no_broker_is_connected_for_a_client_that_has_left_without_a_byte(monkeypatch):
    """Its connection stayed for minutes. Bytes of a client that has left may be records with acks=0."""
    monkeypatch.setattr(listener_room, "LOOK_S", 0.05)
    monkeypatch.setattr(upstream_room, "CONNECT_S", 10 * PATIENCE_S)
    has_left, looks = Relay.client_has_left, []

    def seen(relay):
        looks.append(relay)
        return has_left(relay)

    monkeypatch.setattr(Relay, "client_has_left", seen)
    with dropping("127.0.0.2") as silent:
        async with front_of(config_of([silent]), World()) as listener:
            left = []
            for sent in (request(5), b""):
                _, writer = await asyncio.open_connection(HOST, listener.address.port)
                writer.write(sent)
                await writer.drain()
                writer.close()
                await until(lambda: listener.relays)
                left.append({*listener.relays})
            await until(lambda: listener.relays == left[0])
            looks.clear()
            await until(lambda: len(looks) > 1)
            assert listener.relays == left[0]


@on_both_loops
async def test_a_client_whose_connecting_is_given_up_at_once_is_closed():
    """uvloop did not say that the connection is lost, and the relay stayed for ever."""
    with dropping("127.0.0.2") as silent:
        async with front_of(config_of([silent]), World()) as listener, await connect(listener.address):
            await until(lambda: any(relay.client.transport for relay in listener.relays))
            listener.stop_accepting()
            await listener.stop_connecting()
            for relay in [*listener.relays]:
                relay.abort()
            await until(lambda: not listener.relays)


@on_both_loops
async def test_a_client_stays_while_no_descriptor_is_free():
    """Who looks whether it has left must not need one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with dropping("127.0.0.2") as silent:
        async with front_of(config_of([silent]), World()) as listener:
            _, writer = await asyncio.open_connection(HOST, listener.address.port)
            await until(lambda: listener.relays)
            [relay] = listener.relays
            await until(lambda: relay.client.transport)
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
            try:
                assert not relay.client_has_left()
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            writer.close()


@on_both_loops
@pytest.mark.parametrize(
    ("dead", "cause"),
    [(Address(HOST, free_ports(1)[0]), "connect"), (Address("a" * 70 + ".test", 9092), "not a host name")],
    ids=["nobody listens", "a name that no DNS can have"],
)
async def test_with_all_upstreams_down_a_client_is_accepted_and_closed_and_the_log_says_why(dead, cause):
    world = World()
    async with front_of(config_of([dead]), world) as proxy_listener:
        assert await ask(proxy_listener.address) == b""
        assert await ask(proxy_listener.address) == b""
        line = world.logged.of("session_closed")[0]
        assert line["reason"] == "upstream_unavailable"
        assert line["text"].startswith(f"{dead}: ")
        assert cause in line["text"].lower()
        await until(lambda: not any(connections(world).values()))


@on_both_loops
async def test_open_connections_are_counted_up_and_down():
    world = World()
    async with serving(world) as proxy_listener:
        async with await connect(proxy_listener.address):
            await until(lambda: connections(world)["relaying"] == 1)
            assert sum(connections(world).values()) == 1

        await until(lambda: not any(connections(world).values()))


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
    async with before_broker(world=world) as (proxy_listener, broker):
        proxy_listener.apply_facts(facts_of({1: broker}))
        with contextlib.ExitStack() as ends:
            for _ in range(many):
                ends.enter_context(socket.create_connection((HOST, proxy_listener.address.port)))
            place = HOST, proxy_listener.address.port
            ends.enter_context(socket.create_connection(place, source_address=("127.0.0.9", 0)))
            turns = 0
            while "127.0.0.9" not in world.limits.admission.by_address:
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
