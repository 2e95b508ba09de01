"""The log from a real broker's topic, through Spark's own Kafka connector, by spark-submit."""

import json

import pytest
from aiokafka import AIOKafkaProducer

from tests.spark_reports import cluster, connector
from tests.spark_reports.logs import counters, heartbeat, line

pytestmark = [
    pytest.mark.timeout(1_800),  # four starts of Java, on a machine that may be busy
    pytest.mark.full_only("a broker and two more JVMs; test_stream.py reads the lines from files"),
]


async def send(bootstrap_servers, topic, values):
    async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers, enable_idempotence=True) as producer:
        for value in values:
            await producer.send_and_wait(topic, value)


def submitted(folder, *arguments, **more):
    folder.mkdir()
    done = cluster.submit(folder, "local[1]", *arguments, **more)
    assert done.returncode == 0, done.stderr[-3000:]


async def test_each_line_of_the_topic_is_reported_once(kafka_440, topic, tmp_path):
    """One line comes twice, and one is garbage. The next run reads later lines."""
    lines = [line(0, kind="start"), counters(1), heartbeat(2), counters(1)]
    await send(kafka_440.bootstrap_servers, topic, [json.dumps(each).encode() for each in lines])
    table, state = tmp_path / "table", tmp_path / "state"
    stream = ("stream", "--kafka", kafka_440.bootstrap_servers, "--topic", topic, "--once",
              "--output", table, "--checkpoint", state)  # fmt: skip
    submitted(tmp_path / "first", *stream, jars=connector.kafka())
    later = [json.dumps(counters(3)).encode(), b"garbage", json.dumps(line(4, kind="stop")).encode()]
    await send(kafka_440.bootstrap_servers, topic, later)
    submitted(tmp_path / "second", *stream, jars=connector.kafka())
    out = tmp_path / "out"
    daily = ("daily", "--input", table, "--input-format", "parquet", "--date", "2026-11-20", "--quiet")
    submitted(tmp_path / "third", *daily, "--output", out)
    report = json.loads((out / "report.json").read_text())
    assert report["totals"]["records_accepted"] == 20
    assert (report["log"]["state"], report["log"]["duplicate_lines"]) == ("complete_in_part", 1)
    days = {path.name.removeprefix("event_date=") for path in table.glob("event_date=*")}
    [written_on] = days - {"2026-11-20"}  # the day of the record of garbage
    assert written_on > "2026-11-20"
