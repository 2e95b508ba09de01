"""Producers of four families: `CLIENTS`. Each says of each record whether it was told that it is stored.

    async with CLIENTS["java"](options) as send:  # options of `tsproxy.testing.client_options`
        told = await send(topic, [(key, value, timestamp_ms), ...])  # to partition 0

They give a record up after TIMEOUT_MS, if they are not to be `patient`. `more` are options in the words of
the library. With a `transactional_id` they have begun a transaction, which nobody ends.
"""

import asyncio
import time
from contextlib import asynccontextmanager, suppress

from aiokafka import AIOKafkaProducer
from confluent_kafka import KafkaException, Producer
from kafka import KafkaProducer
from kafka.errors import KafkaError

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaRecord

TIMEOUT_MS = 6_000
REQUEST_TIMEOUT_MS = 3_000
PATIENCE_S = 120
BATCH_BYTES = 65_536


@asynccontextmanager
async def java(options, transactional_id=None, *, patient=False):
    properties = options.java() | {"client.id": "java", "linger.ms": "500", "batch.size": str(BATCH_BYTES)}
    if not patient:
        properties["request.timeout.ms"] = str(REQUEST_TIMEOUT_MS)
        properties["delivery.timeout.ms"] = str(TIMEOUT_MS)
    if transactional_id:
        properties["transactional.id"] = transactional_id
    async with JavaProducer(properties, heap="128m") as producer:
        if transactional_id:
            await producer.begin()

        async def send(topic, records):
            results = await producer.send_all(
                JavaRecord(topic, value, key, time_ms, 0) for key, value, time_ms in records
            )
            return [isinstance(each, Acknowledged) for each in results]

        yield send


@asynccontextmanager
async def librdkafka(options, transactional_id=None, *, patient=False, **more):
    properties = options.librdkafka() | {"client.id": "librdkafka", "linger.ms": 500}
    if not patient:
        properties |= {"message.timeout.ms": TIMEOUT_MS, "request.timeout.ms": REQUEST_TIMEOUT_MS}
    if transactional_id:
        properties["transactional.id"] = transactional_id
    producer = Producer(properties | more)

    def begin():
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()

    def send(topic, records):
        told = []
        for key, value, time_ms in records:
            producer.produce(
                topic,
                value,
                key,
                0,
                timestamp=time_ms,
                on_delivery=lambda error, _: told.append(error is None),
            )
        end = time.monotonic() + PATIENCE_S
        while len(producer) and time.monotonic() < end:
            with suppress(KafkaException):  # a fatal error is told here too, besides of each record
                producer.poll(1)
        return told

    if transactional_id:
        await asyncio.to_thread(begin)
    yield lambda topic, records: asyncio.to_thread(send, topic, records)


@asynccontextmanager
async def aiokafka(options, transactional_id=None, *, patient=False, **more):
    more = {"linger_ms": 500, "max_batch_size": BATCH_BYTES, "acks": "all"} | more
    if not patient:
        more["request_timeout_ms"] = TIMEOUT_MS
    if transactional_id:
        more["transactional_id"] = transactional_id
    async with AIOKafkaProducer(**options.aiokafka(), client_id="aiokafka", **more) as producer:
        if transactional_id:
            await producer.begin_transaction()

        async def send(topic, records):
            sent = [
                await producer.send(topic, value, key, 0, timestamp_ms=time_ms)
                for key, value, time_ms in records
            ]
            ended = await asyncio.gather(*sent, return_exceptions=True)
            return [not isinstance(each, BaseException) for each in ended]

        yield send


@asynccontextmanager
async def kafka_python(options, transactional_id=None, *, patient=False, **more):
    more = {"linger_ms": 500, "batch_size": BATCH_BYTES} | more
    if not patient:
        more |= {"request_timeout_ms": REQUEST_TIMEOUT_MS, "delivery_timeout_ms": TIMEOUT_MS}

    def begin():
        producer = KafkaProducer(
            **options.aiokafka(), client_id="kafka-python", transactional_id=transactional_id, **more
        )
        if transactional_id:
            producer.init_transactions()
            producer.begin_transaction()
        return producer

    def send(topic, records):
        sent = [
            producer.send(topic, value, key, partition=0, timestamp_ms=time_ms)
            for key, value, time_ms in records
        ]
        return [_is_stored(each) for each in sent]

    producer = await asyncio.to_thread(begin)
    yield lambda topic, records: asyncio.to_thread(send, topic, records)
    await asyncio.to_thread(producer.close, 5)


def _is_stored(future):
    """Whether the broker acknowledged the record. `flush` would give up where a batch was split."""
    try:
        future.get(PATIENCE_S)
    except KafkaError:
        return False
    return True


CLIENTS = {"java": java, "librdkafka": librdkafka, "aiokafka": aiokafka, "kafka-python": kafka_python}
