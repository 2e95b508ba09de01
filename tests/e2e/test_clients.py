"""Real clients of three families through the real command: they produce, are rejected, consume, and are
told of the proxy's addresses alone."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from tests.e2e.test_policy import now_ms
from tests.full_only import brokers
from tests.kit.topics import values_of
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

LIMITS = {"message.timestamp.before.max.ms": "86400000", "message.timestamp.after.max.ms": "3600000"}


@pytest.fixture(params=brokers("tests/verdicts/test_clients.py has the same clients before 3.9.1"))
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    return request.getfixturevalue(request.param)


@pytest.fixture
async def proxy(kafka: KafkaCluster, topic: str) -> AsyncIterator[RunningProxy]:
    await kafka.create_topic(topic, config=LIMITS)
    async with RunningProxy(kafka.bootstrap_servers) as running:
        yield running


def deliver(producer: Producer, topic: str, value: bytes, timestamp_ms: int) -> KafkaError | None:
    """Send one record by librdkafka and wait for its report."""
    reports: list[KafkaError | None] = []

    def report(error: KafkaError | None, _: Message) -> None:
        reports.append(error)

    producer.produce(topic, value, timestamp=timestamp_ms, on_delivery=report)
    assert producer.flush(30) == 0
    return reports[0]


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
    assert b"bad" not in await values_of(kafka, topic)


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
