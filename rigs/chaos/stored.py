"""The records in the brokers' log, each with the producer that wrote its batch."""

import asyncio
import struct
from bisect import bisect_right
from collections import Counter, defaultdict

from aiokafka import AIOKafkaConsumer, TopicPartition
from confluent_kafka.admin import AdminClient

from rigs.differential.lines import Direct
from rigs.differential.stored import stored_batches
from rigs.incidents.scenes import internal

PATIENCE_S = 180
_PRODUCER = struct.Struct(">qh")
_PRODUCER_AT = 31
"""Producer id and epoch in `Stored.comparable`, which lacks base offset, length and leader epoch."""


class Log:
    """The records of a topic: all, and those that a reader of committed records sees."""

    def __init__(self, records, committed):
        self.by_value = defaultdict(list)
        """Value -> (producer id, epoch) of each time that it is stored."""
        for value, producer in records:
            self.by_value[value].append(producer)
        self.committed = Counter(committed)

    def doubled(self, value):
        """The number of times by which one producer epoch stored the value too often."""
        return sum(count - 1 for count in Counter(self.by_value.get(value, ())).values())

    def in_more_epochs(self, value, given_up=frozenset()):
        """The number of further producers, or epochs of one, that stored the value again after an epoch that
        is not in `given_up`."""
        *earlier, _ = dict.fromkeys(self.by_value.get(value, [None]))
        return sum(epoch not in given_up for epoch in earlier)


async def read_log(kafka, topic):
    """Reads all of it straight from the brokers."""
    every = await _values(kafka, topic, "read_uncommitted")
    committed = [value for _, _, value in await _values(kafka, topic, "read_committed")]
    producers = {
        partition: await asyncio.to_thread(_producers, kafka, topic, partition)
        for partition in sorted({partition for partition, _, _ in every})
    }
    return Log([(value, _at(producers[p], offset)) for p, offset, value in every], committed)


def _producers(kafka, topic, partition):
    """(base offset, (producer id, epoch)) of each batch, in order."""
    described = AdminClient({"bootstrap.servers": internal(kafka)}).list_topics(topic, timeout=30)
    node = kafka.node(described.topics[topic].partitions[partition].leader)
    direct = Direct((node.host, node.internal_port))
    batches = stored_batches(direct, topic, partition, is_stamped=False)
    return [(each.base_offset, _PRODUCER.unpack_from(each.comparable, _PRODUCER_AT)) for each in batches]


def _at(producers, offset):
    found = bisect_right(producers, offset, key=lambda each: each[0]) - 1
    return producers[found][1]


async def _values(kafka, topic, isolation_level):
    """(partition, offset, value) of every record."""
    found = []
    async with AIOKafkaConsumer(
        bootstrap_servers=internal(kafka), isolation_level=isolation_level
    ) as consumer:
        partitions = [TopicPartition(topic, n) for n in await kafka.end_offsets(topic)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        async with asyncio.timeout(PATIENCE_S):
            while any([await consumer.position(each) < ends[each] for each in partitions]):
                for partition, records in (await consumer.getmany(timeout_ms=300)).items():
                    found += [(partition.partition, each.offset, each.value.decode()) for each in records]
    return found
