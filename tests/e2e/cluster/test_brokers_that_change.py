"""Brokers come, go and move while the proxy runs, and no client ever hears of a broker's own address."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.conn import create_conn
from aiokafka.protocol.metadata import MetadataRequest

from tests.kit.clocks import MovedClock
from tests.proxy.running import file_for, page
from tsproxy.proxy.clock_check.probe import measure
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
    async with AIOKafkaProducer(
        bootstrap_servers=proxy.bootstrap_servers, acks="all", metadata_max_age_ms=500
    ) as producer:
        for partition in range(6):
            await producer.send_and_wait(topic, str(partition).encode(), partition=partition)
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=proxy.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        async with asyncio.timeout(120):
            values = {(await consumer.getone()).value for _ in range(6)}
    assert values == {str(n).encode() for n in range(6)}


@pytest.mark.broker
async def test_a_broker_without_a_port_is_left_out_and_the_others_serve(three_brokers, topic, tmp_path):
    kafka = three_brokers
    await kafka.create_topic(topic, partitions=6, replication=1)
    zero_to_two = "brokers: { ports_from: 0, count: 3 }"
    config = file_for(kafka, tmp_path, f"{{ bind: '127.0.0.1:0', {zero_to_two} }}")
    direct = await partitions_of(kafka, topic)
    async with RunningProxy(config=config) as proxy:
        assert (await told(proxy.bootstrap_servers)).keys() == {1, 2}

        described = await partitions_of(proxy, topic)
        led_by_3 = {number for number, (_, leader) in direct.items() if leader == 3}
        assert len(led_by_3) == 2
        assert described == {n: (5, -1) if n in led_by_3 else direct[n] for n in direct}

        async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer:
            for partition in direct.keys() - led_by_3:
                await producer.send_and_wait(topic, b"x", partition=partition)
        status, text = await page(proxy.admin_address, "/readyz?verbose")
        assert status == 200
        assert "listener default does not serve node 3" in text
        assert "the 3 from 0 to 2" in text


async def partitions_of(servers, topic):
    """Partition -> (error code, leader), as Metadata has them."""
    admin = AIOKafkaAdminClient(bootstrap_servers=servers.bootstrap_servers)
    await admin.start()
    [described] = await admin.describe_topics([topic])
    await admin.close()
    return {each["partition"]: (each["error_code"], each["leader"]) for each in described["partitions"]}


async def test_each_broker_that_leads_a_partition_is_measured(three_brokers, topic):
    await three_brokers.create_topic(topic, partitions=6, config={"message.timestamp.type": "LogAppendTime"})
    async with AIOKafkaProducer(bootstrap_servers=three_brokers.bootstrap_servers, acks=1) as producer:
        offsets = await measure(producer, topic, MovedClock(by_ms=5_000))
    assert sorted(offsets) == [1, 2, 3]
    for offset in offsets.values():
        assert abs(offset.ms - 5_000) <= offset.error_ms + 1
