"""Clients that go on connecting: they begin anew all the time, as in a cluster with many of them."""

import asyncio
import logging
from contextlib import asynccontextmanager, suppress

from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, KafkaException, Producer

from deploy.demo.java_producer import JavaProducer, JavaProducerError, JavaRecord
from tests.proxy.world import until

NEW_EVERY_S = 0.4
MAX_AT_A_TIME = 30
_QUIET = logging.getLogger("rigs.incidents.clients")
_QUIET.setLevel(logging.CRITICAL + 1)


@asynccontextmanager
async def connecting(scene):
    """Inside, a new client of aiokafka comes every moment and sends a record. A producer and a consumer of
    librdkafka stay, and so does Java's producer if the scene wants it. Returns when the first ones are
    served."""
    served = asyncio.Event()
    tasks = [asyncio.create_task(_new_ones(scene, served)), asyncio.create_task(_librdkafka(scene))]
    if scene.java:
        tasks.append(asyncio.create_task(_java(scene)))
    try:
        await until(served.is_set, "a client is served")
        if not scene.is_joined:
            tasks[0].cancel()
            await asyncio.wait(tasks[:1])
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _new_ones(scene, served):
    some, options = set(), scene.clients.aiokafka()
    try:
        while True:
            if len(some) < MAX_AT_A_TIME:
                some.add(task := asyncio.create_task(_one(scene.topic, options, served)))
                task.add_done_callback(some.discard)
            await asyncio.sleep(NEW_EVERY_S)
    finally:
        for task in some:
            task.cancel()
        await asyncio.gather(*some, return_exceptions=True)


async def _one(topic, options, served):
    producer = AIOKafkaProducer(**options)
    with suppress(Exception):  # whatever it meets, the proxy's side is measured
        try:
            await producer.start()
            await producer.send_and_wait(topic, b"x")
            served.set()
        finally:
            await producer.stop()


async def _librdkafka(scene):
    options = scene.clients.librdkafka() | {"log_level": "0"}
    producer = Producer(options | {"message.timeout.ms": "60000"}, logger=_QUIET)
    consumer = Consumer(options | {"group.id": "incidents", "auto.commit.interval.ms": "1000"}, logger=_QUIET)
    consumer.subscribe([scene.topic])
    try:
        while True:
            with suppress(BufferError):
                producer.produce(scene.topic, b"x")
            producer.poll(0)
            with suppress(KafkaException, RuntimeError):
                consumer.poll(0)
            await asyncio.sleep(0.05)
    finally:
        await asyncio.to_thread(consumer.close)
        producer.purge()
        await asyncio.to_thread(producer.flush, 1)


async def _java(scene):
    options = scene.clients.java() | {"max.block.ms": "3000", "delivery.timeout.ms": "5000"}
    options |= {"request.timeout.ms": "4000", "linger.ms": "0"}
    while True:
        with suppress(JavaProducerError):
            async with JavaProducer(options) as producer:
                while True:
                    await producer.send_all([JavaRecord(scene.topic, b"x")])
                    await asyncio.sleep(NEW_EVERY_S)
