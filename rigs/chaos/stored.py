"""The records in the brokers' log, each with the producer that wrote its batch."""

import asyncio
import struct
from bisect import bisect_right
from collections import Counter, defaultdict

from confluent_kafka.admin import AdminClient

from rigs.differential.lines import Direct
from rigs.differential.stored import stored_batches
from tests.kit.admin import internal
from tests.kit.topics import records_of

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
    every = await records_of(kafka, topic)
    committed = await records_of(kafka, topic, isolation_level="read_committed")
    producers = {
        partition: await asyncio.to_thread(_producers, kafka, topic, partition)
        for partition in sorted({record.partition for record in every})
    }
    stored = [(one.value.decode(), _at(producers[one.partition], one.offset)) for one in every]
    return Log(stored, [record.value.decode() for record in committed])


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
