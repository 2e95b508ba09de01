"""Kafka's own producer: what its application sees, record by record."""

import asyncio
import os
import signal
import time

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaProducerError, JavaRecord, Rejected
from tsproxy.testing.kafka_cluster import KafkaCluster

HOUR_MS = 3_600_000
PATIENT = {"linger.ms": "60000"}
"""Batches end where they are full or flushed, not where this machine is quick or slow."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def producer(kafka: KafkaCluster, **options: str) -> JavaProducer:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return JavaProducer(kafka.client_options().java() | PATIENT | named, kafka.version)


async def read(kafka: KafkaCluster, topic: str, count: int, **options):
    """The first `count` records of partition 0."""
    partition = TopicPartition(topic, 0)
    async with AIOKafkaConsumer(**kafka.client_options().aiokafka(), **options) as consumer:
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        return [await consumer.getone() for _ in range(count)]


async def test_records_arrive_as_they_were_given_but_for_one_that_java_rejects_by_itself(kafka, topic):
    """Absent and empty are not the same."""
    now = now_ms()
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


async def test_a_record_out_of_bounds_is_rejected_in_the_brokers_words_and_takes_its_batch_along(
    kafka, topic
):
    """KIP-467: the culprit gets the broker's text, its neighbours a text of the producer's own."""
    now = now_ms()
    await kafka.create_topic(topic, config={"message.timestamp.after.max.ms": str(HOUR_MS)})
    async with producer(kafka) as java:
        good, bad = await java.send_all(
            [JavaRecord(topic, b"", timestamp_ms=now), JavaRecord(topic, b"", timestamp_ms=now * 1000)]
        )
    assert good.exception == "KafkaException"
    assert bad.exception == "InvalidTimestampException"
    assert f"Timestamp {now * 1000} of message with offset 1 is out of range." in bad.message


async def test_options_decide_where_batches_end(kafka_440, topic):
    """With a batch to each record, a bad one falls alone."""
    now = now_ms()
    await kafka_440.create_topic(topic)
    times_ms = [now, now * 1000, now]
    async with producer(kafka_440, batch_size="1") as java:
        results = await java.send_all(JavaRecord(topic, b"x" * 50, timestamp_ms=t) for t in times_ms)
    assert [type(result) for result in results] == [Acknowledged, Rejected, Acknowledged]


async def test_without_acknowledgement_nobody_knows_the_offset(kafka_440, topic):
    await kafka_440.create_topic(topic)
    async with producer(kafka_440, acks="0", enable_idempotence="false") as java:
        (result,) = await java.send_all([JavaRecord(topic, b"", timestamp_ms=7)])
    assert result == Acknowledged(partition=0, offset=-1, timestamp_ms=7)


async def test_transactions_commit_and_abort(kafka, topic):
    await kafka.create_topic(topic)
    async with producer(kafka, transactional_id=topic) as java:
        for value, end in ((b"kept", java.commit), (b"dropped", java.abort), (b"kept too", java.commit)):
            await java.begin()
            await java.send_all([JavaRecord(topic, value)])
            await end()
    arrived = await read(kafka, topic, 2, isolation_level="read_committed")
    assert [record.value for record in arrived] == [b"kept", b"kept too"]


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
