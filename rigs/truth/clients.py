"""Producers of four families. Each sends the records of all of its topics, and says what it was told.

A client is a function of the servers and of its topics (name -> row). It returns, for each topic, how many
records it was told are stored (True) and are not (False).
"""

import asyncio
from collections import Counter

from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer

from tests.e2e.told import is_stored
from tsproxy.clock import Clock
from tsproxy.testing.java_producer import Acknowledged, JavaProducer, JavaRecord

TIMEOUT_MS = 6_000
PATIENCE_S = 120


def records_of(row):
    return row.records(Clock().now_ms())


async def by_java(servers, topics):
    options = {
        "bootstrap.servers": servers, "client.id": "java", "linger.ms": "1000", "batch.size": "65536",
        "request.timeout.ms": "3000", "delivery.timeout.ms": str(TIMEOUT_MS),
    }  # fmt: skip
    told = {}
    async with JavaProducer(options) as producer:
        for topic, row in topics.items():
            results = await producer.send_all(
                JavaRecord(topic, value, key, time, 0) for key, value, time in records_of(row)
            )
            told[topic] = Counter(isinstance(each, Acknowledged) for each in results)
    return told


async def by_librdkafka(servers, topics):
    options = {
        "bootstrap.servers": servers, "client.id": "librdkafka", "linger.ms": 500,
        "message.timeout.ms": TIMEOUT_MS, "request.timeout.ms": 3_000,
    }  # fmt: skip

    def send(topic, row):
        told = Counter()
        producer = Producer(options)
        for key, value, time in records_of(row):
            producer.produce(
                topic,
                value,
                key,
                0,
                timestamp=time,
                on_delivery=lambda error, _: told.update([error is None]),
            )
        assert producer.flush(PATIENCE_S) == 0
        return told

    return {topic: await asyncio.to_thread(send, topic, row) for topic, row in topics.items()}


async def by_aiokafka(servers, topics):
    told = {}
    for topic, row in topics.items():
        options = {"linger_ms": 500, "max_batch_size": 65_536, "request_timeout_ms": TIMEOUT_MS}
        async with AIOKafkaProducer(
            bootstrap_servers=servers, client_id="aiokafka", acks="all", **options
        ) as producer:
            sent = [
                await producer.send(topic, value, key, 0, timestamp_ms=time)
                for key, value, time in records_of(row)
            ]
            ended = await asyncio.gather(*sent, return_exceptions=True)
        told[topic] = Counter(not isinstance(each, BaseException) for each in ended)
    return told


async def by_kafka_python(servers, topics):
    def send(topic, row):
        producer = KafkaProducer(
            bootstrap_servers=servers,
            client_id="kafka-python",
            linger_ms=500,
            batch_size=65_536,
            request_timeout_ms=3_000,
            delivery_timeout_ms=TIMEOUT_MS,
        )
        sent = [
            producer.send(topic, value, key, partition=0, timestamp_ms=time)
            for key, value, time in records_of(row)
        ]
        told = Counter(is_stored(each) for each in sent)
        producer.close()
        return told

    return {topic: await asyncio.to_thread(send, topic, row) for topic, row in topics.items()}


CLIENTS = {
    "java": by_java,
    "librdkafka": by_librdkafka,
    "aiokafka": by_aiokafka,
    "kafka-python": by_kafka_python,
}
