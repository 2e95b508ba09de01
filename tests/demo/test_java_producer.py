"""Kafka's own producer: what its application sees, record by record."""

import asyncio
import os
import signal
import time

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaProducerError, JavaRecord, Rejected
from tsproxy.testing.kafka_cluster import KafkaCluster


def producer(kafka: KafkaCluster, **options: str) -> JavaProducer:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return JavaProducer(kafka.client_options().java() | named, kafka.version)


async def read(kafka: KafkaCluster, topic: str, count: int):
    """The first `count` records of partition 0."""
    partition = TopicPartition(topic, 0)
    async with AIOKafkaConsumer(**kafka.client_options().aiokafka()) as consumer:
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        return [await consumer.getone() for _ in range(count)]


async def test_records_arrive_as_they_were_given_but_for_one_that_java_rejects_by_itself(kafka, topic):
    """Absent and empty are not the same."""
    now = time.time_ns() // 1_000_000
    await kafka.create_topic(topic, partitions=2)
    record = JavaRecord(topic, b"value", b"key", now, 0, [("trace", b"\x00\xff"), ("none", None)])
    negative = JavaRecord(topic, timestamp_ms=-1, partition=0)
    others = [JavaRecord(topic, value, key, partition=0) for value, key in ((None, b""), (b"", None))]
    async with producer(kafka) as java:
        first, rejected, *sent = await java.send_all([record, negative, *others])
    assert first == Acknowledged(partition=0, offset=0, timestamp_ms=now)
    assert rejected == Rejected(
        "IllegalArgumentException",
        "Invalid timestamp: -1. Timestamp should always be non-negative or null.",
    )
    assert [each.offset for each in sent] == [1, 2]
    arrived, *without = await read(kafka, topic, 3)
    assert (arrived.value, arrived.key, arrived.timestamp) == (b"value", b"key", now)
    assert arrived.headers == (("trace", b"\x00\xff"), ("none", None))
    assert [(record.key, record.value) for record in without] == [(b"", None), (None, b"")]


async def test_a_rejected_record_keeps_its_transaction_from_committing(kafka, topic):
    await kafka.create_topic(topic, config={"message.timestamp.before.max.ms": "1000"})
    async with producer(kafka, transactional_id=topic) as java:
        await java.begin()
        (rejected,) = await java.send_all([JavaRecord(topic, b"", timestamp_ms=1)])
        assert rejected.exception == "InvalidTimestampException"
        with pytest.raises(JavaProducerError) as failure:
            await java.commit()
        # The cause itself, or that there is one: it depends on which of Java's threads comes first.
        assert failure.value.exception in {"InvalidTimestampException", "KafkaException"}
        await java.abort()


async def test_options_that_java_rejects_raise_in_its_words(kafka_440):
    with pytest.raises(JavaProducerError, match="Invalid value 7 for configuration acks"):
        await producer(kafka_440, acks="7").__aenter__()


async def test_a_sender_that_dies_says_so(kafka_440, topic):
    async def lose_it() -> None:
        async with producer(kafka_440) as java:
            os.kill(java.pid, signal.SIGKILL)
            await java.send_all([JavaRecord(topic, b"")])

    with pytest.raises(JavaProducerError, match="the Java producer has ended"):
        await asyncio.wait_for(lose_it(), 30)
