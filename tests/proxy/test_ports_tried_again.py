"""A broker's port that is busy: the start ends, a proxy that runs tries again until it has it."""

import asyncio
import contextlib
import errno
import socket
import struct
from dataclasses import replace
from types import SimpleNamespace

import pytest
import structlog
from aiokafka import AIOKafkaProducer

from tests.attacks.kept import proxy_in_this_process
from tests.proxy.frames import answer
from tests.proxy.loops import on_both_loops
from tests.proxy.proxy_listeners import HOST, ask, before_broker, facts_of
from tests.proxy.running import TWO, command, file_for, series, until_page
from tsproxy.cluster.admin_connection import AdminConnection
from tsproxy.model.addresses import Address
from tsproxy.proxy.connections.unserved_endpoints import LOG_EVERY_MS, UnservedEndpoints
from tsproxy.proxy.ports import FIRST_OUTGOING, listen_text
from tsproxy.testing.ports import free_ports


@contextlib.contextmanager
def outgoing(port):
    """A connection of this machine whose own end has that port: nobody listens there. Its end is a reset,
    so that the port is free at once."""
    with socket.create_server((HOST, 0)) as server, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.bind((HOST, port))
        client.connect(server.getsockname())
        yield


def served_at(first):
    """Settings for a listener whose node n is served at `first` + n."""
    return f"{{ bind: '{HOST}:0', brokers: {{ ports_from: {first}, count: 5 }} }}"


NOT_SERVED = 'tsproxy_brokers_not_served{listener="default"}'
SERVED = 'tsproxy_brokers{listener="default"}'


CONFIG = """\
upstream: {{ bootstrap_servers: ['{servers}'], admin: {{ refresh: 1s }} }}
listeners: [{listener}]
decisions: {{ directory: '{folder}' }}
"""


async def test_a_broker_whose_port_was_busy_when_it_was_found_is_served_once_the_port_is_free(
    kafka_440, tmp_path, topic, monkeypatch
):
    """Meanwhile the others are served, and the page says what is missing."""
    await kafka_440.create_topic(topic)
    first, comes, honest = free_ports(5)[0], [], AdminConnection.cluster

    async def cluster(connection, **how):
        answer = await honest(connection, **how)
        return replace(answer, brokers={**answer.brokers, **dict.fromkeys(comes, answer.brokers[1])})

    monkeypatch.setattr(AdminConnection, "cluster", cluster)
    text = CONFIG.format(
        servers=kafka_440.bootstrap_servers, listener=served_at(first), folder=tmp_path / "log"
    )
    async with proxy_in_this_process(text) as proxy:
        admin = SimpleNamespace(admin_address=proxy._admin_address)
        with structlog.testing.capture_logs() as logs, outgoing(first + 3):
            comes.append(3)
            await until_page(admin, "/readyz?verbose", 200, "listener default does not serve node 3")
            found = await series(admin)
            assert (found[SERVED], found[NOT_SERVED]) == (1, 1)
        assert [line["node_id"] for line in logs if line["event"] == "broker_not_served"] == [3]
        await until_page(admin, "/metrics", 200, f"\n{SERVED} 2.0\n")
        assert (await series(admin))[NOT_SERVED] == 0
        async with AIOKafkaProducer(bootstrap_servers=f"{HOST}:{first + 3}") as producer:
            await producer.send_and_wait(topic, b"x")


@pytest.mark.parametrize("workers", [(), TWO], ids=["one process", "workers"])
async def test_a_brokers_port_that_is_busy_at_the_start_ends_the_start(kafka_440, tmp_path, workers):
    first = free_ports(5)[0]
    file = file_for(kafka_440, tmp_path, served_at(first))
    arguments = ("run", "--config", file, "--admin", "off", "--decisions", tmp_path / "log", *workers)
    with outgoing(first + 1):
        ended = await asyncio.to_thread(command, *arguments)

    assert ended.returncode == 1
    assert f"cannot listen on {HOST}:{first + 1}: " in ended.stderr.splitlines()[-1]
    assert "proxy_started" not in ended.stderr


@on_both_loops
async def test_all_that_is_not_served_is_tried_each_time_and_told_once_a_minute():
    port = free_ports(5)[0]
    async with before_broker(served_at(port)) as (proxy_listener, broker):
        unserved = UnservedEndpoints([proxy_listener], lambda: None, lambda: None)
        with outgoing(port + 1), structlog.testing.capture_logs() as logs:
            proxy_listener.apply_facts(facts_of({1: broker, 7: broker}))
            for now_ms in range(0, 2 * LOG_EVERY_MS + 1, 1_000):
                unserved.retry(now_ms)
        assert [line["event"] for line in logs].count("broker_not_served") == 2
        told = [line for line in logs if line["event"] == "brokers_not_served"]
        assert [line["node_ids"] for line in told] == [[1, 7]] * 2
        assert proxy_listener.unserved.keys() == {1, 7}

        unserved.retry(3 * LOG_EVERY_MS)

        assert proxy_listener.unserved.keys() == {7}
        assert await ask(Address(HOST, port + 1)) == answer(5)


@on_both_loops
async def test_a_broker_that_left_the_cluster_is_not_missed_where_it_is_not_served():
    """No answer names it, so no client is kept out by it."""
    port = free_ports(5)[0]
    async with before_broker(served_at(port)) as (proxy_listener, broker):
        with outgoing(port + 1):
            proxy_listener.apply_facts(facts_of({1: broker, 2: broker}))
            assert proxy_listener.unserved.keys() == {1}
            proxy_listener.apply_facts(facts_of({2: broker}))

        assert not proxy_listener.unserved
        assert proxy_listener.served_count == 1


BOTH_CAUSES = "another program listens there, or an outgoing connection of this machine has the port: stop "


@pytest.mark.parametrize(
    ("port", "told"),
    [
        (free_ports(1)[0], "another program listens there: stop it or choose another port"),
        (FIRST_OUTGOING, f"{BOTH_CAUSES}the program, or choose a port below 32768"),
    ],
    ids=["below the ports of outgoing connections", "among them"],
)
def test_what_may_have_a_port_that_is_busy_is_told_by_where_it_lies(port, told):
    error = OSError(errno.EADDRINUSE, "Address already in use")

    assert listen_text(Address(HOST, port), error).startswith(f"cannot listen on {HOST}:{port}: {told}")
