"""Kafka Streams, Kafka Connect and MirrorMaker 2 work through the proxy, and never meet a broker themselves.

They are of 4.3.1, since 4.4.0's are not published, before a broker of 4.4.0.
"""

import asyncio
from asyncio.subprocess import DEVNULL, STDOUT
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from tests.clients import foreign
from tests.clients.connections import Watch
from tests.clients.play import ports_of
from tests.proxy.world import until
from tsproxy.testing.jars import Dependency, fetch_jars, fetch_kafka_jars
from tsproxy.testing.java import java_command, source_command
from tsproxy.testing.proxy import RunningProxy

pytestmark = [
    pytest.mark.broker,
    pytest.mark.timeout(600),
    pytest.mark.full_only("test_matrix.py has Kafka's own clients, from which these programs are made"),
]

VERSION = "4.3.1"
RECORDS = 300
KAFKA = "org.apache.kafka"


def streams_jars():
    return [
        fetch_jars(f"streams-{VERSION}", [Dependency(KAFKA, "kafka-streams", VERSION, transitive=False)]),
        fetch_kafka_jars(VERSION),
    ]


def connect_jars():
    parts = ("connect-runtime", "connect-mirror", "connect-file")
    return [
        fetch_jars(f"connect-{VERSION}", [Dependency(KAFKA, part, VERSION) for part in parts]),
        fetch_kafka_jars(VERSION),
    ]


@asynccontextmanager
async def running(log, command, kafka):
    """The program, killed when the block ends. It must not have had a connection to a broker then."""
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=output, stderr=STDOUT)
    with Watch(ports_of(kafka)) as watch:
        watch.follow("program", process.pid)
        try:
            yield
            assert process.returncode is None, log.read_text()[-4000:]
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
    assert watch.looks
    assert not watch.seen


async def send(servers, topic, values):
    async with AIOKafkaProducer(bootstrap_servers=servers, enable_idempotence=True) as producer:
        for value in values:
            await producer.send(topic, value, key=value)


async def values_in(servers, topic, count, log):
    """The values in the log of a topic, committed ones only, when there are so many."""
    found = []
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        try:
            async with asyncio.timeout(240):
                while len(found) < count:
                    found.append((await consumer.getone()).value)
        except TimeoutError:
            pytest.fail(f"{len(found)} of {count} records came; the program said:\n{log.read_text()[-4000:]}")
        await asyncio.sleep(1)  # what is doubled may come a moment later
        for batch in (await consumer.getmany(timeout_ms=500)).values():
            found.extend(record.value for record in batch)
    return found


def values(prefix):
    return [b"%s-%d" % (prefix, number) for number in range(RECORDS)]


@pytest.mark.parametrize("protocol", ["classic", "streams"])
async def test_an_application_of_streams_that_is_killed_copies_each_record_once(
    kafka_440, topic, tmp_path, protocol
):
    source, copy, log = topic, f"copy-{topic}"[:200], tmp_path / "log"
    for name in (source, copy):
        await kafka_440.create_topic(name)
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        options = {
            "application.id": f"app-{topic}"[:100],
            "bootstrap.servers": proxy.bootstrap_servers,
            "group.protocol": protocol,
            "processing.guarantee": "exactly_once_v2",
            "replication.factor": "1",
            "commit.interval.ms": "100",
            "session.timeout.ms": "6000",
            "default.key.serde": f"{KAFKA}.common.serialization.Serdes$StringSerde",
            "default.value.serde": f"{KAFKA}.common.serialization.Serdes$StringSerde",
            "state.dir": str(tmp_path / "state"),
        }
        if protocol == "streams":
            del options["session.timeout.ms"]  # the group's own setting, at the broker
        command = source_command(
            [folder / "*" for folder in streams_jars()],
            "256m",
            foreign.PROGRAMS / "StreamsApp.java",
            *(source, copy),
            *(f"{name}={value}" for name, value in options.items()),
        )
        async with running(log, command, kafka_440):
            await send(proxy.bootstrap_servers, source, values(b"before"))
            await values_in(proxy.bootstrap_servers, copy, RECORDS // 2, log)
        async with running(log, command, kafka_440):
            await send(proxy.bootstrap_servers, source, values(b"after"))
            copied = await values_in(kafka_440.bootstrap_servers, copy, 2 * RECORDS, log)
    assert sorted(copied) == sorted(values(b"before") + values(b"after"))


async def test_connect_copies_a_file_into_a_topic_and_the_topic_into_a_file(kafka_440, topic, tmp_path):
    lines, copied, log = tmp_path / "lines", tmp_path / "copied", tmp_path / "log"
    lines.write_text("".join(f"line {number}\n" for number in range(RECORDS)))
    await kafka_440.create_topic(topic)
    text = f"{KAFKA}.connect.storage.StringConverter"
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        worker = written(
            tmp_path / "worker",
            {
                "bootstrap.servers": proxy.bootstrap_servers,
                "key.converter": text,
                "value.converter": text,
                "offset.storage.file.filename": tmp_path / "offsets",
                "offset.flush.interval.ms": "500",
                "listeners": "HTTP://127.0.0.1:0",
            },
        )
        reader = written(
            tmp_path / "reader",
            {
                "name": "reader",
                "connector.class": f"{KAFKA}.connect.file.FileStreamSourceConnector",
                "file": lines,
                "topic": topic,
            },
        )
        writer = written(
            tmp_path / "writer",
            {
                "name": "writer",
                "connector.class": f"{KAFKA}.connect.file.FileStreamSinkConnector",
                "file": copied,
                "topics": topic,
            },
        )
        main = f"{KAFKA}.connect.cli.ConnectStandalone"
        jars = [folder / "*" for folder in connect_jars()]
        async with running(log, java_command(jars, "512m", main, worker, reader, writer), kafka_440):
            stored = await values_in(kafka_440.bootstrap_servers, topic, RECORDS, log)
            await until(lambda: is_whole(copied), patience_s=120)
    assert stored == lines.read_bytes().splitlines()
    assert copied.read_text() == lines.read_text()


async def is_whole(file):
    return file.exists() and file.read_text().count("\n") == RECORDS


async def test_mirror_maker_2_mirrors_a_topic(kafka_440, topic, tmp_path):
    log = tmp_path / "log"
    await kafka_440.create_topic(topic)
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        await send(proxy.bootstrap_servers, topic, values(b"mirrored"))
        one = ("replication.factor", "offset-syncs.topic.replication.factor")
        more = ("heartbeats.topic.replication.factor", "checkpoints.topic.replication.factor")
        connect = (f"{name}.storage.replication.factor" for name in ("offset", "status", "config"))
        settings = written(
            tmp_path / "mm2",
            {
                "clusters": "source, target",
                "source.bootstrap.servers": proxy.bootstrap_servers,
                "target.bootstrap.servers": proxy.bootstrap_servers,
                "source->target.enabled": "true",
                "source->target.topics": topic,
                "target->source.enabled": "false",
                **dict.fromkeys((*one, *more, *connect), "1"),
                "sync.topic.acls.enabled": "false",
            },
        )
        main = f"{KAFKA}.connect.mirror.MirrorMaker"
        jars = [folder / "*" for folder in connect_jars()]
        async with running(log, java_command(jars, "512m", main, settings), kafka_440):
            mirrored = await values_in(kafka_440.bootstrap_servers, f"source.{topic}", RECORDS, log)
    assert sorted(mirrored) == sorted(values(b"mirrored"))


def written(file, settings):
    """The file, with these properties."""
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return file
