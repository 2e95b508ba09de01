"""Brokers go; upstreams that can never answer. The proxy says so, and soon."""

import asyncio
import socket
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from itertools import pairwise

import structlog

from tests.config.files import config_of
from tests.kit.clocks import MovedClock
from tests.kit.tasks import beside
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.cluster.admin_connection import AdminConnection
from tsproxy.config.settings import Upstream
from tsproxy.model.addresses import Address
from tsproxy.proxy.brokers.discovery import CHANGED_LATELY_MS, Cluster
from tsproxy.proxy.brokers.own_addresses import listener_at, own_listener
from tsproxy.proxy.brokers.reachability import AGAIN_MS, answers
from tsproxy.testing.ports import free_ports


async def test_an_upstream_that_does_not_answer_is_told_of_again_every_five_minutes():
    clock = MovedClock()
    upstream = Upstream((Address("127.0.0.1", free_ports(1)[0]),), refresh_ms=30_000)
    with structlog.testing.capture_logs() as logs:
        async with beside(Cluster(upstream, None, clock, lambda _: None).run()):
            await until(lambda: logs)
            clock.passed_ms += AGAIN_MS
            await until(lambda: len(logs) == 2)
            clock.passed_ms += AGAIN_MS
            await until(lambda: len(logs) == 3)
    assert {line["event"] for line in logs} == {"upstream_unreachable"}
    assert [line["for_s"] // 300 for line in logs] == [0, 1, 2]
    assert {line["advice"].rpartition("; ")[2] for line in logs} == {
        "no client is accepted until a broker has answered"
    }


async def test_a_first_server_that_accepts_and_never_answers_has_a_line_before_the_next_one_answers(
    kafka_391,
):
    node, told = kafka_391.node(1), []
    with socket.create_server(("127.0.0.1", 0)) as silent, structlog.testing.capture_logs() as logs:
        servers = (Address(*silent.getsockname()), Address(node.host, node.port))
        async with beside(Cluster(Upstream(servers), None, Clock(), told.append).run()):
            [line] = await until(lambda: logs)
            assert (line["event"], told) == ("upstream_unreachable", [])
            assert line["error"] == f"{servers[0]}: no answer for 2 s so far"
            await until(lambda: told)
    assert [line["event"] for line in logs] == ["upstream_unreachable", "upstream_reached"]


# -- Another cluster ---------------------------------------------------------------------------------


@asynccontextmanager
async def switch(target):
    """A port that leads to the broker of `target`, a list of one, as a name in DNS would."""

    async def serve(reader, writer):
        with suppress(OSError), closing(writer):
            broker = await asyncio.open_connection(target[0].host, target[0].port)
            await asyncio.gather(copied(reader, broker[1]), copied(broker[0], writer))

    async def copied(reader, writer):
        ends.append(writer)
        with closing(writer):
            while data := await reader.read(1 << 16):
                writer.write(data)

    ends = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield Address(*server.sockets[0].getsockname()), ends
    finally:
        server.close()
        for each in ends:
            each.close()


async def test_another_cluster_at_the_same_address_drops_what_was_known_of_the_former_one(
    kafka_391, kafka_440, topic
):
    """A name in DNS moves. The former cluster's limits, and its further brokers, are not the new one's."""
    one, other = (kafka.node(1) for kafka in (kafka_391, kafka_440))
    await kafka_391.create_topic(topic, config={"message.timestamp.after.max.ms": "60000"})
    clock, told, target = MovedClock(), [], [one]
    with structlog.testing.capture_logs() as logs:
        async with switch(target) as (address, ends):
            cluster = Cluster(Upstream((address,)), None, clock, told.append)
            async with beside(cluster.run()):
                await until(lambda: told and topic in told[-1].topics)
                former = told[-1]
                target[0] = other
                for each in ends:
                    each.close()
                await until(lambda: told[-1].cluster_id != former.cluster_id)

                assert told[-1].brokers == {1: Address(other.host, other.port)}
                assert topic not in told[-1].topics
                [line] = [each for each in logs if each["event"] == "cluster_changed"]
                assert former.cluster_id in line["text"]
                assert [line["text"] in each for each in cluster.warnings()] == [True]
                assert cluster.has_changed
                clock.passed_ms += CHANGED_LATELY_MS
                assert (cluster.warnings(), cluster.has_changed) == ([], False)


# -- Upstreams that are none -------------------------------------------------------------------------


async def test_a_controllers_port_is_called_what_it_is(kafka):
    node = kafka.node(1)
    upstream = Upstream((Address(node.host, node.controller_port),), refresh_ms=30_000)
    with structlog.testing.capture_logs() as logs:
        async with beside(Cluster(upstream, None, Clock(), lambda _: None).run()):
            await until(lambda: logs)
    assert logs[0]["event"] == "upstream_unreachable"
    assert "that is a controller's port" in logs[0]["error"]
    assert "upstream.bootstrap_servers" in logs[0]["error"]
    assert not await answers(Address(node.host, node.controller_port), None)
    assert await answers(Address(node.host, node.port), None)


def listening(port, brokers="", host="127.0.0.1"):
    return config_of(
        f"upstream: {{ bootstrap_servers: ['{host}:{port}'] }}\n"
        f"listeners: [{{ name: public, bind: '0.0.0.0:{port}', advertised_host: {host}{brokers} }}]\n"
    )


async def test_a_proxy_that_is_its_own_upstream_is_told_so():
    config = listening(free_ports(1)[0])
    cluster = Cluster(config.upstream, None, Clock(), lambda _: None, listeners=config.listeners)
    with structlog.testing.capture_logs() as logs:
        async with beside(cluster.run()):
            await until(lambda: logs)
    assert "this proxy's own listener 'public'" in logs[0]["error"]


async def test_an_empty_list_of_brokers_is_told_of_and_asked_for_again(kafka_440, monkeypatch):
    """A cluster that starts, or whose controllers have fenced all brokers."""
    node, told, honest, asked = kafka_440.node(1), [], AdminConnection.cluster, []

    async def cluster(connection, **how):
        asked.append(connection)
        answer = await honest(connection, **how)
        return replace(answer, brokers={}) if len(asked) < 3 else answer

    monkeypatch.setattr(AdminConnection, "cluster", cluster)
    upstream = Upstream((Address(node.host, node.port),), refresh_ms=30_000)
    cluster = Cluster(upstream, None, Clock(), told.append)
    with structlog.testing.capture_logs() as logs:
        async with beside(cluster.run()):
            await until(cluster.warnings)
            assert cluster.is_logged_in  # no broker has rejected anything
            assert cluster.warnings()[0].startswith("the cluster names no broker: ")
            assert cluster.not_ready() == ["brokers are not known yet: the cluster names no broker"]
            await until(lambda: told)
            assert cluster.warnings() == []
    assert "own_login_failed" not in {line["event"] for line in logs}
    (line,) = [line for line in logs if line["event"] == "broker_list_empty"]
    assert line["broker"] == f"{node.host}:{node.port}"
    assert "no client is accepted" in line["advice"]


async def test_an_upstream_that_names_brokers_as_the_proxy_does_is_told_of(kafka_440):
    """Another proxy like it, behind a load balancer, or this one."""
    node = kafka_440.node(1)
    first = node.port - 1  # nothing is bound here: the listener's own port has only to lie outside the range
    config = listening(first - 1, f", brokers: {{ ports_from: {first} }}")
    upstream = Upstream((Address(node.host, node.port),), refresh_ms=30_000)
    told = []
    cluster = Cluster(upstream, None, Clock(), told.append, listeners=config.listeners)
    with structlog.testing.capture_logs() as logs:
        async with beside(cluster.run()):
            await until(lambda: told)
    (line,) = [line for line in logs if line["event"] == "upstream_may_be_proxy"]
    assert (line["listener"], line["brokers"]) == ("public", {"1": f"{node.host}:{node.port}"})


def test_addresses_of_its_own_are_known_by_name_wildcard_and_loopback():
    (listener,) = listening(9192, host="kafka.example").listeners
    own = [Address(host, 9192) for host in ("kafka.example", "127.0.0.1", "localhost", "::1", "0.0.0.0")]
    others = [Address("kafka.example", 9193), Address("broker-1", 9192), Address("192.0.2.1", 9192)]

    assert {own_listener(each, (listener,)) for each in own} == {"public"}
    assert {own_listener(each, (listener,)) for each in others} == {None}
    assert listener_at({}, (listener,)) is None
    assert listener_at({0: Address("kafka.example", 9193)}, (listener,)) == "public"
    assert listener_at({0: Address("kafka.example", 9194)}, (listener,)) is None


# -- One that ends every connection ------------------------------------------------------------------


async def test_a_broker_that_ends_each_connection_at_once_is_not_connected_without_a_pause(kafka_440):
    """A load balancer may: each second there are a few tries, not as many as a machine can make. A try has
    two connections, one of them without a login."""
    node, taken = kafka_440.node(1), []

    async def relayed(reader, writer):
        """The first two requests (ApiVersions, Metadata) go on; then the connection ends."""
        taken.append(asyncio.get_running_loop().time())
        broker_reader, broker_writer = await asyncio.open_connection(node.host, node.port)
        for _ in range(2):
            for source, target in ((reader, broker_writer), (broker_reader, writer)):
                with suppress(asyncio.IncompleteReadError):
                    size = await source.readexactly(4)
                    target.write(size + await source.readexactly(int.from_bytes(size, "big")))
        broker_writer.close()
        writer.close()

    server = await asyncio.start_server(relayed, "127.0.0.1", 0)
    upstream = Upstream((Address(*server.sockets[0].getsockname()),), refresh_ms=3_600_000)
    cluster = Cluster(upstream, None, Clock(), lambda _: None, reads_limits=False)
    async with beside(cluster.run()):
        await until(lambda: len(taken) == 6)
    server.close()
    pauses_s = [later - sooner for sooner, later in pairwise(taken[::2])]
    assert min(pauses_s) >= 0.2
