"""The offset of our clock to the brokers', by a record that we send to a topic with LogAppendTime.

The answer holds the time at which the broker appended the record. That is some moment between sending and the
answer, so the offset is known to half of the time between the two (as in NTP). The quickest of a few tries
counts. No other answer of a broker contains its time.
"""

from collections.abc import Mapping
from typing import Final

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import LeaderNotAvailableError

from tsproxy.clock import Clock
from tsproxy.proxy.clock_check.offsets import Offset

TRIES: Final = 3


class NoLogAppendTimeError(Exception):
    """The topic keeps the producer's timestamps."""


async def measure(producer: AIOKafkaProducer, topic: str, clock: Clock) -> Mapping[int, Offset]:
    """The offset to each broker that leads a partition of the topic, by node id.

    Writes an empty record to one partition of each broker, `TRIES` times. Raises NoLogAppendTimeError, and
    the errors of aiokafka.
    """
    partition_of: dict[int, int] = {}
    for partition in sorted(await producer.partitions_for(topic)):
        leader = producer.client.cluster.leader_for_partition(TopicPartition(topic, partition))
        if leader is not None and leader >= 0:
            partition_of.setdefault(leader, partition)
    if not partition_of:  # no measurement: an empty result would say that no clock is off
        raise LeaderNotAvailableError("no partition of the topic has a leader")
    return {
        node_id: await _offset(producer, topic, partition, clock)
        for node_id, partition in sorted(partition_of.items())
    }


async def _offset(producer: AIOKafkaProducer, topic: str, partition: int, clock: Clock) -> Offset:
    tries = [await _try(producer, topic, partition, clock) for _ in range(TRIES)]
    return min(tries, key=lambda offset: offset.error_ms)


async def _try(producer: AIOKafkaProducer, topic: str, partition: int, clock: Clock) -> Offset:
    sent_ms, sent_us = clock.now_ms(), clock.monotonic_us()
    stored = await producer.send_and_wait(topic, b"", partition=partition)
    half_ms = (clock.monotonic_us() - sent_us) / 2_000
    if stored.timestamp_type != 1:
        raise NoLogAppendTimeError
    return Offset(sent_ms + half_ms - stored.timestamp, half_ms + 1)  # both clocks count whole ms
