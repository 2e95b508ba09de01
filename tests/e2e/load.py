"""Idempotent producers that never stop while something happens to the proxy or to the cluster.

Each record's value is its own, so that what is in the log at the end can be compared one by one: each
acknowledged record is there once, none is there that nobody sent, and no callback has seen an error.
"""

import asyncio
import os
from collections import Counter
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, TopicPartition
from confluent_kafka import Producer

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaRecord
from tests.proxy.world import until

PATIENCE_S = 180
AT_ONCE = 50 if os.environ.get("TSPROXY_TEST") == "full" else 10


class Load:
    """The records that were sent, and what the callbacks said of each."""

    def __init__(self, topic):
        self.acknowledged = []
        self.failed = []
        self.sent = 0
        self._ending = asyncio.Event()
        self._topic = topic

    async def goes_on(self, records):
        """Returns when so many more have been acknowledged."""
        wanted = len(self.acknowledged) + records
        async with asyncio.timeout(PATIENCE_S):
            while len(self.acknowledged) < wanted:  # callbacks of other threads
                assert not self.failed
                await asyncio.sleep(0.02)

    def end(self):
        self._ending.set()

    async def by_librdkafka(self, name, options):
        """librdkafka's own way: what is sent again and when is its to decide."""

        def told(error, message):
            self.failed.append(error) if error else self.acknowledged.append(message.value())

        producer = Producer({**options, "enable.idempotence": True, "acks": "all", "linger.ms": 5})
        number = 0
        while not self._ending.is_set():
            for _ in range(AT_ONCE):
                producer.produce(self._topic, f"{name}-{number}".encode(), on_delivery=told)
                number += 1
            producer.poll(0)
            await asyncio.sleep(0.02)  # the rate of the load
        assert await asyncio.to_thread(producer.flush, PATIENCE_S) == 0
        self.sent += number

    async def by_java(self, name, options):
        """Kafka's own producer, with its defaults: idempotent, acks=all, two minutes to deliver."""
        number = 0
        async with JavaProducer(options | {"linger.ms": "5", "metadata.max.age.ms": "5000"}) as producer:
            while not self._ending.is_set():
                values = [f"{name}-{number + n}".encode() for n in range(AT_ONCE)]
                results = await producer.send_all(JavaRecord(self._topic, value) for value in values)
                for value, result in zip(values, results, strict=True):
                    (self.acknowledged if isinstance(result, Acknowledged) else self.failed).append(
                        value if isinstance(result, Acknowledged) else result
                    )
                number += AT_ONCE
        self.sent += number

    async def is_in_the_log_once(self, kafka):
        """Asserts it, reading straight from the brokers."""
        assert self.failed == []
        assert len(self.acknowledged) == self.sent
        found = Counter(await values_of(kafka, self._topic))
        assert [value for value, count in found.items() if count > 1] == []
        assert found.keys() == set(self.acknowledged)


@asynccontextmanager
async def under_load(topic, options, *, librdkafka=2, java=1):
    """A Load by so many producers of each kind; `options` are a proxy's (`ClientOptions`)."""
    load = Load(topic)
    tasks = [
        asyncio.create_task(load.by_librdkafka(f"c{n}", options.librdkafka())) for n in range(librdkafka)
    ]
    tasks += [asyncio.create_task(load.by_java(f"j{n}", options.java())) for n in range(java)]
    try:
        await until(lambda: len(load.acknowledged) > AT_ONCE or any(task.done() for task in tasks))
        yield load
    finally:
        load.end()
        await asyncio.gather(*tasks)


async def values_of(kafka, topic):
    """The values of all records in a topic's log."""
    ends = {TopicPartition(topic, n): end for n, end in (await kafka.end_offsets(topic)).items()}
    async with AIOKafkaConsumer(**kafka.client_options().aiokafka()) as consumer:
        consumer.assign(list(ends))
        await consumer.seek_to_beginning(*ends)
        values = []
        async with asyncio.timeout(PATIENCE_S):
            # An offset may be taken by something that is no record; positions tell, counts do not.
            while any([await consumer.position(partition) < end for partition, end in ends.items()]):
                for records in (await consumer.getmany(timeout_ms=500)).values():
                    values += [record.value for record in records]
    return values
