"""aiokafka. Options are the plain words of `plain_words`."""

import asyncio
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from tests.clients.programs.plain_words import client_options
from tests.clients.programs.protocol import (
    PARTITIONS,
    PATIENCE_S,
    STORED,
    is_idempotent,
    serve,
    text_of,
    timed,
)

LINGER_MS = 1_000
"""Long enough for all records of one `batch` to share one."""


class AiokafkaClient:
    async def connect(self, options):
        self._options = client_options(options).aiokafka() | {"client_id": options["client.id"]}
        self._seen = set()
        self._consumer = self._together = None
        self._is_idempotent = is_idempotent(options)
        self._admin = AIOKafkaAdminClient(**self._options)
        await self._admin.start()
        self._producer = AIOKafkaProducer(**self._options, enable_idempotence=True)
        await self._producer.start()

    async def create(self, topic, replicas):
        await self._admin.create_topics([NewTopic(topic, PARTITIONS, int(replicas))])

    async def produce(self, topic, partition, value):
        sent = await self._producer.send_and_wait(topic, value.encode(), partition=int(partition))
        return [str(sent.offset)]

    async def batch(self, topic, *records):
        if self._together is None:
            options = {**self._options, "enable_idempotence": self._is_idempotent, "linger_ms": LINGER_MS}
            self._together = AIOKafkaProducer(**options)
            await self._together.start()
        return await sent_together(self._together, topic, timed(records))

    async def refuse(self, topic, transactional_id, time_ms):
        good, bad = (b"good", int(time.time() * 1000)), (b"bad", int(time_ms))
        told = []
        options = {**self._options, "transactional_id": transactional_id, "linger_ms": LINGER_MS}
        async with AIOKafkaProducer(**options) as producer:
            for records in ([good, bad], [good], [good]):
                await producer.begin_transaction()
                told += [("begin", "done")]
                texts = await sent_together(producer, topic, records)
                told += zip(("good", "bad"), texts, strict=False)
                told += [("commit", await step(producer.commit_transaction))]
                if told[-1] != ("commit", "done"):
                    told += [("abort", await step(producer.abort_transaction))]
        return [word for pair in told for word in pair]

    async def join(self, group, topic):
        self._consumer = AIOKafkaConsumer(
            topic, **self._options, group_id=group, auto_offset_reset="earliest"
        )
        await self._consumer.start()

    async def poll(self, count):
        end = time.monotonic() + PATIENCE_S
        while len(self._seen) < int(count) and time.monotonic() < end:
            for records in (await self._consumer.getmany(timeout_ms=200)).values():
                self._seen |= {record.value.decode() for record in records}
        return sorted(self._seen)

    async def offsets(self, topic):
        ends = await self._consumer.end_offsets([TopicPartition(topic, n) for n in range(PARTITIONS)])
        return [f"{partition.partition}={end}" for partition, end in ends.items()]

    async def brokers(self):
        described = await self._admin.describe_cluster()
        return [f"{b['node_id']}={b['host']}:{b['port']}" for b in described["brokers"]]

    async def close(self):
        await self._producer.stop()
        if self._together is not None:
            await self._together.stop()
        if self._consumer is not None:
            await self._consumer.stop()
        await self._admin.close()


async def sent_together(producer, topic, records):
    """`stored` or the exception, for each record."""
    sent = [
        await producer.send(topic, value, partition=0, timestamp_ms=time_ms) for value, time_ms in records
    ]
    told = await asyncio.gather(*sent, return_exceptions=True)
    return [text_of(each) if isinstance(each, BaseException) else STORED for each in told]


async def step(act):
    """`done`, or the error of one step of a transaction."""
    try:
        await act()
    except KafkaError as error:
        return text_of(error)
    return "done"


if __name__ == "__main__":
    asyncio.run(serve(AiokafkaClient()))
