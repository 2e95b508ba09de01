"""Brokers come, go and move while the proxy runs, and no client ever hears of a broker's own address."""

import asyncio
import contextlib

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.conn import create_conn
from aiokafka.errors import KafkaError
from aiokafka.protocol.metadata import MetadataRequest

from tests.proxy.world import until
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy

FOR_EVER = {"upstream.admin.refresh": "24h"}
"""The proxy asks because a client needs the answer, not because a timer ended."""


async def told(address):
    """The brokers that a client is told of by Metadata, once: node id -> (host, port)."""
    host, _, port = address.rpartition(":")
    connection = await create_conn(host, int(port))
    try:
        answer = await connection.send(MetadataRequest([]))
    finally:
        connection.close()
    return {node_id: (host, port) for node_id, host, port, *_ in answer.brokers}


async def told_of(nodes, address):
    """Ask until the cluster itself tells of these nodes: each answer arrives, and none is cut off."""
    while (brokers := await told(address)).keys() != nodes:  # noqa: ASYNC110  # a broker has no event for us
        await asyncio.sleep(0.05)
    return brokers


def served(proxy):
    return {line["node_id"] for line in proxy.log if line["event"] == "broker_served"}


@pytest.mark.broker
@pytest.mark.timeout(600)  # each wait has its own bound, which says for what
async def test_a_broker_that_joins_is_served_before_any_client_hears_of_it(three_brokers, topic):
    kafka = three_brokers
    await kafka.stop_node(3)
    bootstrap = kafka.bootstrap_servers.partition(",")[0]
    async with RunningProxy(bootstrap, settings=FOR_EVER) as proxy:
        assert (await told_of({1, 2}, proxy.bootstrap_servers)).keys() == served(proxy) == {1, 2}
        await kafka.start_node(3)

        brokers = await told_of({1, 2, 3}, proxy.bootstrap_servers)

        assert served(proxy) == {1, 2, 3}
        assert {host for host, _ in brokers.values()} == {"127.0.0.1"}
        own = {kafka.node(n).port for n in (1, 2, 3)}
        assert not own & {port for _, port in brokers.values()}
        for host, port in brokers.values():
            assert (await told(f"{host}:{port}")).keys() == {1, 2, 3}

        # One goes, and comes back elsewhere: its clients follow it, at its old address.
        await kafka.stop_node(2)
        assert await told_of({1, 3}, proxy.bootstrap_servers)
        await starts_on_another_port(kafka, 2)
        await kafka.create_topic(topic, partitions=6, replication=1)
        await produces_and_consumes(proxy, topic)
        assert await told(proxy.bootstrap_servers) == brokers
        assert not [line for line in proxy.log if line.get("reason") == "address_unmapped"]


async def starts_on_another_port(kafka, node_id):
    """Starts a stopped broker with its clients' listener elsewhere; nobody else takes the old port."""
    node = kafka.node(node_id)
    [port] = free_ports(1)
    text = node.properties_path.read_text()
    assert str(node.port) in text
    node.properties_path.write_text(text.replace(f":{node.port}", f":{port}"))
    node.port = port
    await kafka.start_node(node_id)


async def produces_and_consumes(proxy, topic):
    """Every partition takes a record, so every leader is reached, and gives it back."""
    producer = AIOKafkaProducer(
        bootstrap_servers=proxy.bootstrap_servers, acks="all", metadata_max_age_ms=500
    )
    await producer.start()
    try:
        for partition in range(6):
            await producer.send_and_wait(topic, str(partition).encode(), partition=partition)
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=proxy.bootstrap_servers, auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        async with asyncio.timeout(120):
            values = {(await consumer.getone()).value for _ in range(6)}
    finally:
        await consumer.stop()
    assert values == {str(n).encode() for n in range(6)}


async def test_a_broker_that_cannot_be_served_is_told_to_nobody(kafka_440, tmp_path):
    config = tmp_path / "tsproxy.yaml"
    config.write_text(
        f"upstream: {{ bootstrap_servers: ['{kafka_440.bootstrap_servers}'] }}\n"
        "listeners: [{ bind: '127.0.0.1:0', brokers: { count: 1 } }]\n"  # node 0 alone; the broker is 1
    )
    async with RunningProxy(config=config) as proxy:
        with contextlib.suppress(KafkaError):  # the connection is closed in place of an answer
            raise AssertionError(await told(proxy.bootstrap_servers))

        [line] = await until(lambda: [e for e in proxy.log if e.get("reason") == "address_unmapped"])
        assert line["text"] == "an answer named node 1, which has no listener"
