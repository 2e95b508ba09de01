"""Real clients of three families through the real command: they produce, are rejected, consume, and are
told of the proxy's addresses alone."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from tests.full_only import brokers
from tsproxy.testing.java_producer import Acknowledged, JavaProducer, JavaRecord, Rejected
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

LIMITS = {"message.timestamp.before.max.ms": "86400000", "message.timestamp.after.max.ms": "3600000"}


def now_ms() -> int:
    return int(time.time() * 1000)


@pytest.fixture(params=brokers("tests/verdicts/test_clients.py has the same clients before 3.9.1"))
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    return request.getfixturevalue(request.param)


@pytest.fixture
async def proxy(kafka: KafkaCluster, topic: str) -> AsyncIterator[RunningProxy]:
    await kafka.create_topic(topic, config=LIMITS)
    async with RunningProxy(kafka.bootstrap_servers) as running:
        yield running


async def values_of(servers: str, topic: str, count: int) -> list[bytes]:
    """The first `count` records, read by a consumer group member."""
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=servers, group_id=f"group-of-{topic}"[:200], auto_offset_reset="earliest"
    )
    async with consumer:
        async with asyncio.timeout(120):
            return [(await consumer.getone()).value for _ in range(count)]


def deliver(producer: Producer, topic: str, value: bytes, timestamp_ms: int) -> KafkaError | None:
    """Send one record by librdkafka and wait for its report."""
    reports: list[KafkaError | None] = []

    def report(error: KafkaError | None, _: Message) -> None:
        reports.append(error)

    producer.produce(topic, value, timestamp=timestamp_ms, on_delivery=report)
    assert producer.flush(30) == 0
    return reports[0]


async def test_javas_idempotent_producer_sees_the_exception_and_goes_on(
    kafka: KafkaCluster, proxy: RunningProxy, topic: str
) -> None:
    """KIP-467: the culprit's own text; the epoch is bumped and the next record is taken."""
    options = {"bootstrap.servers": proxy.bootstrap_servers, "enable.idempotence": "true", "acks": "all"}
    async with JavaProducer(options, version=kafka.version) as producer:
        good = await producer.send_all([JavaRecord(topic, b"good", timestamp_ms=now_ms())])
        bad = await producer.send_all([JavaRecord(topic, b"bad", timestamp_ms=now_ms() * 1000)])
        next_one = await producer.send_all([JavaRecord(topic, b"next", timestamp_ms=now_ms())])
    assert isinstance(good[0], Acknowledged)
    assert isinstance(bad[0], Rejected)
    assert bad[0].exception.endswith("InvalidTimestampException")
    assert "is out of range. The timestamp should be within [" in (bad[0].message or "")
    assert isinstance(next_one[0], Acknowledged)
    assert await values_of(proxy.bootstrap_servers, topic, 2) == [b"good", b"next"]


async def test_librdkafka_sees_the_error_code_and_goes_on(
    kafka: KafkaCluster, proxy: RunningProxy, topic: str
) -> None:
    producer = Producer(
        {"bootstrap.servers": proxy.bootstrap_servers, "enable.idempotence": True, "linger.ms": 0}
    )
    assert deliver(producer, topic, b"good", now_ms()) is None
    rejected = deliver(producer, topic, b"bad", now_ms() * 1000)
    assert rejected is not None
    assert rejected.code() == KafkaError.INVALID_TIMESTAMP
    assert deliver(producer, topic, b"next", now_ms()) is None
    assert await values_of(kafka.bootstrap_servers, topic, 2) == [b"good", b"next"]


async def test_aiokafka_sees_the_error_and_goes_on(
    kafka: KafkaCluster, proxy: RunningProxy, topic: str
) -> None:
    async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer:
        await producer.send_and_wait(topic, b"good", timestamp_ms=now_ms())
        with pytest.raises(InvalidTimestampError):
            await producer.send_and_wait(topic, b"bad", timestamp_ms=now_ms() // 1000)
        await producer.send_and_wait(topic, b"next", timestamp_ms=now_ms())
    assert await values_of(kafka.bootstrap_servers, topic, 2) == [b"good", b"next"]


async def test_without_acks_what_is_good_arrives_and_what_is_bad_does_not(
    kafka: KafkaCluster, proxy: RunningProxy, topic: str
) -> None:
    """As a broker does, the proxy closes the connection of an acks=0 producer that sent a bad batch."""
    async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer:
        await producer.send_and_wait(topic, b"first", timestamp_ms=now_ms())  # limits become known
    producer = Producer({"bootstrap.servers": proxy.bootstrap_servers, "acks": 0, "linger.ms": 0})
    assert deliver(producer, topic, b"good", now_ms()) is None
    deliver(producer, topic, b"bad", now_ms() * 1_000_000)
    async with asyncio.timeout(120):
        while (await kafka.end_offsets(topic))[0] < 3:  # what is sent to a closing connection is lost
            deliver(producer, topic, b"next", now_ms())
    assert b"bad" not in await values_of(kafka.bootstrap_servers, topic, 3)


async def test_clients_are_told_of_the_proxys_addresses_alone(
    kafka: KafkaCluster, proxy: RunningProxy
) -> None:
    admin = AdminClient({"bootstrap.servers": proxy.bootstrap_servers})
    known = {(broker.id, broker.port) for broker in admin.list_topics(timeout=30).brokers.values()}
    described = admin.describe_cluster(request_timeout=30).result()
    known |= {(node.id, node.port) for node in (*described.nodes, described.controller)}
    assert known == {(int(node), port) for node, port in proxy.facts["brokers"]["default"].items()}
    assert kafka.node(1).port not in {port for _, port in known}


async def test_a_brokers_configuration_does_not_tell_its_addresses(
    kafka: KafkaCluster, proxy: RunningProxy
) -> None:
    """They stand there as plain strings; asked directly, the broker tells them."""

    def listeners(servers: str) -> set[str | None]:
        broker = ConfigResource(ResourceType.BROKER, str(kafka.node_ids[0]))
        admin = AdminClient({"bootstrap.servers": servers})
        answered = admin.describe_configs([broker])[broker].result(30)
        assert answered["message.max.bytes"].value is not None
        return {entry.value for name, entry in answered.items() if name.endswith("listeners")}

    assert str(kafka.node(kafka.node_ids[0]).port) in "".join(
        value or "" for value in listeners(kafka.bootstrap_servers)
    )
    assert listeners(proxy.bootstrap_servers) == {None}
