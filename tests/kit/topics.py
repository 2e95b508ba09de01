"""The records of topics, read straight from the brokers."""

import asyncio

from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.kit.admin import internal

PATIENCE_S = 180


async def records_of(kafka, *topics, isolation_level="read_uncommitted"):
    """All records of these topics, in the order of each partition."""
    partitions = [TopicPartition(topic, n) for topic in topics for n in await kafka.end_offsets(topic)]
    async with AIOKafkaConsumer(
        bootstrap_servers=internal(kafka), isolation_level=isolation_level
    ) as consumer:
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        records = []
        async with asyncio.timeout(PATIENCE_S):
            # An offset may be taken by something that is no record; positions tell, counts do not.
            while any([await consumer.position(partition) < end for partition, end in ends.items()]):
                for some in (await consumer.getmany(timeout_ms=300)).values():
                    records += some
    return records


async def values_of(kafka, topic):
    return [record.value for record in await records_of(kafka, topic)]
