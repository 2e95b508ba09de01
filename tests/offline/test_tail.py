"""`tsproxy replay --topic`: what arrives in a topic, judged as it is read."""

import asyncio
import sys
import time
from asyncio.subprocess import PIPE

import orjson
from aiokafka import AIOKafkaProducer

from tests.offline.commands import tsproxy

HOUR_MS = 3_600_000


async def test_records_that_arrive_are_judged_one_by_one_and_those_before_are_not(kafka_391, topic):
    now_ms = time.time_ns() // 1_000_000
    await kafka_391.create_topic(topic, partitions=2)
    command = ["replay", "--upstream", kafka_391.bootstrap_servers, "--topic", topic, "--json"]
    command += ["--set", "policy.limits_from=stricter", "--records", "5", "--for", "5m"]
    async with AIOKafkaProducer(bootstrap_servers=kafka_391.bootstrap_servers) as producer:
        await producer.send_and_wait(topic, b"before", timestamp_ms=now_ms * 1000)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tsproxy", *command, stdout=PIPE, stderr=PIPE
        )
        told = await process.stderr.readline()
        for timestamp_ms in (now_ms, now_ms * 1000, now_ms + 2 * HOUR_MS, now_ms - 90 * 24 * HOUR_MS, 0):
            await producer.send_and_wait(topic, b"v", timestamp_ms=timestamp_ms)
        out, err = await process.communicate()

    assert process.returncode == 0, told + err
    found = orjson.loads(out)
    (line,) = found["lines"]
    assert b"from its end, 2 partitions" in told
    assert (line["records"], line["bad_records"]) == (5, 2)
    # Zero is far behind, which the candidate counts and nothing rejects.
    assert line["units"] == {"microseconds": 1, "zero": 1}
    assert line["by_candidate"] == 1
    assert len(found["unknown"]) == 4


async def test_a_topic_that_is_not_there_is_a_sentence_and_status_1(kafka_440, capsys):
    result = await tsproxy(
        capsys, "replay", "--upstream", kafka_440.bootstrap_servers, "--topic", "nowhere", "--for", "1s"
    )

    assert result.status == 1
    assert "there is no topic nowhere" in result.err


async def test_a_topic_needs_brokers_to_ask(capsys):
    result = await tsproxy(capsys, "replay", "--topic", "orders")

    assert result.status == 2
    assert "needs --upstream or --config" in result.err
