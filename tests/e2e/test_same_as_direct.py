"""The demo's own input, sent to the broker directly and through the proxy: the same fate, record for record.

Every batch is made twice from the same records at the same moment and sent to two topics with the
same limits, one directly, one through the proxy: whatever differs is the proxy's doing.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from deploy.demo.data import read_events
from tests.full_only import brokers
from tests.proxy.running import limits_are_known
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

DAY_MS = 86_400_000
PARTITIONS = 3
RECORDS_A_BATCH = 50
LIMITS = {
    "message.timestamp.before.max.ms": str(90 * DAY_MS),
    "message.timestamp.after.max.ms": "3600000",
    "retention.ms": "-1",
}


@dataclass(frozen=True)
class Batch:
    partition: int
    records: Sequence[tuple[bytes, int]]
    """(key, timestamp in ms)"""


def demo_batches(now_ms: int) -> Iterator[Batch]:
    """All 103,140 events in batches of 50. None lies within an hour below 90 days (the data says so)."""
    events = read_events()
    for number, start in enumerate(range(0, len(events), RECORDS_A_BATCH)):
        chosen = events[start : start + RECORDS_A_BATCH]
        records = [(str(start + i).encode(), now_ms - e.lateness_ms) for i, e in enumerate(chosen)]
        yield Batch(number % PARTITIONS, records)


async def send(producer: AIOKafkaProducer, topic: str, batch: Batch) -> str:
    """The client's view: `ok`, or the name of the error."""
    builder = producer.create_batch()
    for key, timestamp_ms in batch.records:
        assert builder.append(key=key, value=b"event", timestamp=timestamp_ms) is not None
    builder.close()
    try:
        await (await producer.send_batch(builder, topic, partition=batch.partition))
    except KafkaError as error:
        return type(error).__name__
    return "ok"


async def send_all(producer: AIOKafkaProducer, topic: str, batches: Sequence[Batch]) -> list[str]:
    """Each batch's fate. Partitions side by side, the batches of one in order."""
    fates = [""] * len(batches)

    async def send_partition(partition: int) -> None:
        for number, batch in enumerate(batches):
            if batch.partition == partition:
                fates[number] = await send(producer, topic, batch)

    await asyncio.gather(*map(send_partition, range(PARTITIONS)))
    return fates


@pytest.fixture(params=brokers("rigs/differential compares 3.9.1 with and without the proxy"))
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    return request.getfixturevalue(request.param)


async def log_of(kafka: KafkaCluster, topic: str) -> dict[int, list[tuple[bytes, int]]]:
    """The partitions' records as the broker holds them, read without the proxy."""
    ends = await kafka.end_offsets(topic)
    found: dict[int, list[tuple[bytes, int]]] = {partition: [] for partition in ends}
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, partition) for partition in ends])
        while sum(map(len, found.values())) < sum(ends.values()):
            for place, records in (await consumer.getmany(timeout_ms=1000)).items():
                found[place.partition] += [(r.key, r.timestamp) for r in records]
    finally:
        await consumer.stop()
    return found


async def test_the_demos_records_meet_the_same_fate_as_without_the_proxy(
    kafka: KafkaCluster, topic: str
) -> None:
    """Rejected and accepted record for record as by the broker, in the same order in the log."""
    direct_topic, proxied_topic = f"{topic[:190]}.direct", f"{topic[:190]}.proxied"
    for name in (direct_topic, proxied_topic):
        await kafka.create_topic(name, partitions=PARTITIONS, config=LIMITS)
    async with (
        RunningProxy(kafka.bootstrap_servers) as proxy,
        AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as direct,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as proxied,
    ):
        batches = list(demo_batches(int(time.time() * 1000)))
        warm_ups = 0
        while not limits_are_known(proxy, proxied_topic):
            timely = Batch(0, [(b"warm-up", int(time.time() * 1000))])
            assert await send(direct, direct_topic, timely) == "ok"
            assert await send(proxied, proxied_topic, timely) == "ok"
            warm_ups += 1
        without, through = await asyncio.gather(
            send_all(direct, direct_topic, batches), send_all(proxied, proxied_topic, batches)
        )
    assert through == without
    assert await log_of(kafka, proxied_topic) == await log_of(kafka, direct_topic)
    counted = Counter(through)
    assert counted["ok"] > 100
    assert counted["InvalidTimestampError"] > 100
    totals: Counter[str] = Counter()
    for line in proxy.decisions():
        if line["event"] == "counters" and line["topic"] == proxied_topic:
            totals[line["verdict"]] += line["records"]
    sizes = [len(batch.records) for batch in batches]
    assert totals["accepted"] == warm_ups + sum(
        size for size, fate in zip(sizes, through, strict=True) if fate == "ok"
    )
    assert totals["rejected"] == sum(size for size, fate in zip(sizes, through, strict=True) if fate != "ok")
