"""Repair before a real broker: Kafka's own producer writes, Kafka's own reader looks at the bytes."""

import asyncio
import re
import time

import pytest

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaRecord
from tests.full_only import variations
from tests.kit.commands import output_of
from tests.kit.topics import records_of
from tsproxy.testing.jars import fetch_tools
from tsproxy.testing.java import java_command
from tsproxy.testing.proxy import RunningProxy

REPAIR = {
    "policy.limits_from": "config",
    "policy.defaults.message.timestamp.after.max.ms": "1h",
    "policy.defaults.on_violation": "repair",
    "policy.defaults.no_timestamp": "stamp",
    "policy.defaults.keep_original_time": "yes",
}
UNITS = (1, 1_000, 1_000_000)
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
ANOTHER_CODEC = "another codec, with which the same function compresses"
ORIGINAL = "tsproxy-original-timestamp"
FACT = re.compile(r"(\w+): (\S+)")


async def stored(kafka, topic):
    return await records_of(kafka, topic, isolation_level="read_committed")


async def dumped(kafka, topic):
    """(batches, records) of the first segment, as Kafka's own log dumper tells them."""
    jars = await asyncio.to_thread(fetch_tools, kafka.version)
    segment = kafka.node(1).data / f"{topic}-0" / "00000000000000000000.log"
    arguments = ["--deep-iteration", "--print-data-log", "--files", str(segment)]
    tool = f"{'kafka' if kafka.version.startswith('3.') else 'org.apache.kafka'}.tools.DumpLogSegments"
    command = java_command([jars / "*"], "128m", tool, *arguments)
    lines = (await asyncio.to_thread(output_of, *command)).splitlines()
    batches = [dict(FACT.findall(line)) for line in lines if line.startswith("baseOffset:")]
    records = [dict(FACT.findall(line)) for line in lines if line.startswith("| offset:")]
    return batches, records


def java_records(topic, count, now_ms):
    return [
        JavaRecord(topic, b"value-%d" % n, b"key-%d" % n, (now_ms + n) * UNITS[n % 3], partition=0)
        for n in range(count)
    ]


async def test_javas_producer_splits_a_batch_that_a_repair_makes_too_large(kafka_440, topic):
    """Each record gets a header, and the topic takes only what came."""
    most, count, now_ms = 4_000, 40, time.time_ns() // 1_000_000
    await kafka_440.create_topic(topic, config={"max.message.bytes": str(most)})
    settings = {**REPAIR, "policy.limits_from": "stricter", "policy.defaults.keep_both_times": "yes"}
    async with RunningProxy(kafka_440.bootstrap_servers, settings=settings) as proxy:
        options = {
            "bootstrap.servers": proxy.bootstrap_servers,
            "batch.size": str(most - 100),
            "linger.ms": "200",
        }
        async with JavaProducer(options) as producer:
            await producer.send_all(java_records(topic, 1, now_ms))  # the proxy knows the topic's limits now
            results = await producer.send_all(
                [
                    JavaRecord(topic, b"%070d" % n, timestamp_ms=(now_ms + n) * 1_000, partition=0)
                    for n in range(count)
                ]
            )
    assert all(isinstance(each, Acknowledged) for each in results)
    assert [int(each.value) for each in (await stored(kafka_440, topic))[1:]] == list(range(count))
    rejected = [line for line in proxy.decisions() if line.get("verdict") == "rejected"]
    assert {line["error_code"] for line in rejected if line["event"] == "decision"} == {10}


@pytest.mark.parametrize("codec", variations(ANOTHER_CODEC, CODECS, but=["zstd"]))
async def test_an_idempotent_producers_records_are_stored_once_in_order_with_right_times(
    kafka_440, topic, codec
):
    await kafka_440.create_topic(topic)
    now_ms, count = time.time_ns() // 1_000_000, 600
    async with RunningProxy(kafka_440.bootstrap_servers, settings=REPAIR) as proxy:
        options = {
            "bootstrap.servers": proxy.bootstrap_servers,
            "enable.idempotence": "true",
            "max.in.flight.requests.per.connection": "5",
            "compression.type": codec,
            "batch.size": "2000",
            "linger.ms": "20",
        }
        async with JavaProducer(options) as producer:
            results = await producer.send_all(java_records(topic, count, now_ms))

    assert [result.offset for result in results if isinstance(result, Acknowledged)] == list(range(count))
    found = await stored(kafka_440, topic)
    assert [(r.offset, r.key, r.value) for r in found] == [
        (n, b"key-%d" % n, b"value-%d" % n) for n in range(count)
    ]
    assert [r.timestamp for r in found] == [now_ms + n for n in range(count)]
    assert [dict(r.headers).get(ORIGINAL) for r in found] == [
        b"%d" % ((now_ms + n) * UNITS[n % 3]) if n % 3 else None for n in range(count)
    ]
    batches, records = await dumped(kafka_440, topic)
    assert len(batches) > 5
    assert {(each["isvalid"], each["compresscodec"], each["magic"]) for each in batches} == {
        ("true", codec, "2")
    }
    assert len({(each["producerId"], each["producerEpoch"]) for each in batches}) == 1
    sequences = [(int(each["baseSequence"]), int(each["lastSequence"])) for each in batches]
    assert sequences == [(int(each["baseOffset"]), int(each["lastOffset"])) for each in batches]
    for each in batches:  # the header's maxTimestamp is the records' own
        assert int(each["CreateTime"]) == now_ms + int(each["lastOffset"])
    assert [int(each["CreateTime"]) for each in records] == [now_ms + n for n in range(count)]
    assert [int(each["sequence"]) for each in records] == list(range(count))
    counted = [line for line in proxy.decisions() if line["event"] == "counters"]
    assert {line["verdict"] for line in counted} <= {"repaired", "accepted"}
    assert sum(line["records"] for line in counted) == count


@pytest.mark.parametrize("codec", variations(ANOTHER_CODEC, CODECS, but=["lz4"]))
async def test_a_transaction_is_stored_as_it_was_committed_and_an_aborted_one_is_not(kafka_440, topic, codec):
    await kafka_440.create_topic(topic)
    now_ms = time.time_ns() // 1_000_000
    async with RunningProxy(kafka_440.bootstrap_servers, settings=REPAIR) as proxy:
        options = {
            "bootstrap.servers": proxy.bootstrap_servers,
            "transactional.id": topic,
            "compression.type": codec,
            "batch.size": "2000",
        }
        async with JavaProducer(options) as producer:
            for is_kept in (True, False, True):
                await producer.begin()
                results = await producer.send_all(java_records(topic, 90, now_ms))
                assert all(isinstance(result, Acknowledged) for result in results)
                await (producer.commit() if is_kept else producer.abort())

    found = await stored(kafka_440, topic)
    assert [r.value for r in found] == [b"value-%d" % (n % 90) for n in range(180)]
    assert [r.timestamp for r in found] == [now_ms + n % 90 for n in range(180)]
    batches, _ = await dumped(kafka_440, topic)
    assert {each["isvalid"] for each in batches} == {"true"}
    assert {each["isTransactional"] for each in batches} == {"true"}
    assert sum(each["isControl"] == "true" for each in batches) == 3
