"""Batches that the proxy does not read are rejected by the broker: every count is as if it had read them.

Four families of clients send compressed batches to two topics. The proxy reads all batches of one, and
leaves most of the other unread (`inspect.compressed: auto`, the default). Some batches hide a record that is
too old behind a newer one.
"""

import asyncio
from collections import Counter

import pytest
import pytest_asyncio
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer

from rigs.truth.books import lines_of, report_of
from rigs.truth.clients import PATIENCE_S
from tests.e2e.told import is_stored
from tsproxy.clock import Clock
from tsproxy.fastpath.adaptive import TRUSTED_AFTER
from tsproxy.testing.java_producer import Acknowledged, JavaProducer, JavaRecord
from tsproxy.testing.proxy import RunningProxy

DAY_MS = 86_400_000
GOOD, HIDING = (0, 1, 2), (0, -9 * DAY_MS, 1)
BATCHES = (*[GOOD] * (TRUSTED_AFTER + 30), HIDING, *[GOOD] * 5, HIDING, HIDING, GOOD)
RECORDS, HIDDEN = 3 * len(BATCHES), BATCHES.count(HIDING)
READ = "policy: { rules: [{ name: read, match: { topics: ['all-*'] }, inspect: { compressed: all } }] }"
INSPECTIONS = ("all", "auto")


def batches(topic):
    """Values and times of the records, one batch after the other."""
    now_ms = Clock().now_ms()
    for number, ahead in enumerate(BATCHES):
        yield [(f"{topic}-{number}-{at}".encode().ljust(300), now_ms + each) for at, each in enumerate(ahead)]


async def by_java(servers, topic):
    # Only the end of `send_all` ends a batch, however slow the machine is.
    options = {"client.id": "java", "linger.ms": "60000", "compression.type": "lz4"}
    told = Counter()
    async with JavaProducer(options | {"bootstrap.servers": servers}) as producer:
        for batch in batches(topic):
            sent = [JavaRecord(topic, value, None, time, 0) for value, time in batch]
            told.update(isinstance(each, Acknowledged) for each in await producer.send_all(sent))
    return told


async def by_librdkafka(servers, topic):
    options = {"client.id": "librdkafka", "linger.ms": 1_000, "compression.type": "zstd"}
    producer, told = Producer({"bootstrap.servers": servers} | options), Counter()

    def send():
        for batch in batches(topic):
            for value, time in batch:
                producer.produce(
                    topic,
                    value,
                    partition=0,
                    timestamp=time,
                    on_delivery=lambda e, _: told.update([e is None]),
                )
            assert producer.flush(PATIENCE_S) == 0
        return told

    return await asyncio.to_thread(send)


async def by_aiokafka(servers, topic):
    told = Counter()
    options = {"client_id": "aiokafka", "compression_type": "gzip", "acks": "all"}
    async with AIOKafkaProducer(bootstrap_servers=servers, **options) as producer:
        for batch in batches(topic):
            builder = producer.create_batch()
            for value, time in batch:
                builder.append(key=None, value=value, timestamp=time)
            builder.close()
            sent = await producer.send_batch(builder, topic, partition=0)
            [ended] = await asyncio.gather(sent, return_exceptions=True)
            told[not isinstance(ended, BaseException)] += len(batch)
    return told


async def by_kafka_python(servers, topic):
    def send():
        options = {"client_id": "kafka-python", "linger_ms": 1_000, "compression_type": "gzip"}
        # An idempotent kafka-python fails for good after a rejection.
        producer = KafkaProducer(bootstrap_servers=servers, enable_idempotence=False, **options)
        told = Counter()
        for batch in batches(topic):
            sent = [producer.send(topic, value, partition=0, timestamp_ms=time) for value, time in batch]
            producer.flush(PATIENCE_S)
            told.update(is_stored(each) for each in sent)
        producer.close()
        return told

    return await asyncio.to_thread(send)


CLIENTS = {
    "java": by_java,
    "librdkafka": by_librdkafka,
    "aiokafka": by_aiokafka,
    "kafka-python": by_kafka_python,
}


class Counts:
    """The records by topic, as clients are told, as the log counts them, and as the report says."""

    def __init__(self, told, lines, report):
        self.told, self.report = told, report
        self._lines = lines

    def of(self, topic, **facts):
        """Batches, records and culprits that the log counts in lines with these facts."""
        found = [each for each in self._lines if each["topic"] == topic and facts.items() <= each.items()]
        return Counter(
            {
                name: sum(each.get(name) or 0 for each in found)
                for name in ("batches", "records", "bad_records")
            }
        )

    def rejected(self, topic):
        return self.of(topic, verdict="rejected") + self.of(topic, verdict="broker_rejected")

    def unread(self, topic):
        return sum(each.get("records_unread") or 0 for each in self._lines if each["topic"] == topic)


pytestmark = pytest.mark.full_only("tests/e2e/test_adaptive.py has one producer of batches that stay unread")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def counts(kafka_440, spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unread")
    config, log = folder / "tsproxy.yaml", folder / "log"
    config.write_text(
        f"upstream: {{ bootstrap_servers: ['{kafka_440.bootstrap_servers}'] }}\n"
        f"listeners: [{{ bind: '127.0.0.1:0', brokers: {{ count: 2 }} }}]\n{READ}\n"
    )
    topics = {f"{inspection}-{name}": send for name, send in CLIENTS.items() for inspection in INSPECTIONS}
    limits = {"message.timestamp.before.max.ms": str(DAY_MS)}
    await asyncio.gather(*[kafka_440.create_topic(topic, config=limits) for topic in topics])
    began_ms = Clock().now_ms()
    async with RunningProxy(config=config, decisions=log) as proxy:
        told = await asyncio.gather(*[send(proxy.bootstrap_servers, topic) for topic, send in topics.items()])
    report = report_of(log, folder, began_ms)
    return Counts(dict(zip(topics, told, strict=True)), lines_of(log, "counters"), report)


@pytest.mark.parametrize("inspection", INSPECTIONS)
@pytest.mark.parametrize("client", CLIENTS)
def test_clients_log_and_report_count_the_same_rejections_and_culprits(counts, client, inspection):
    topic = f"{inspection}-{client}"
    assert counts.told[topic] == {True: RECORDS - 3 * HIDDEN, False: 3 * HIDDEN}
    assert counts.rejected(topic) == {"batches": HIDDEN, "records": 3 * HIDDEN, "bad_records": HIDDEN}
    assert counts.of(topic, verdict="accepted")["records"] == RECORDS - 3 * HIDDEN
    [reported] = [each for each in counts.report["topics"] if each["topic"] == topic]
    assert reported["records_rejected"] + reported["records_broker_rejected"] == 3 * HIDDEN
    assert (reported["bad_records"], reported["collateral_records"]) == (HIDDEN, 2 * HIDDEN)


def test_records_that_were_not_read_are_named_and_the_broker_found_the_culprits_among_them(counts):
    """One batch of a hundred is drawn to be read, so not each client must meet the broker's answer. aiokafka
    asks in Produce 7, whose answer names no culprits, so all of its batches are read."""
    unread = {topic: counts.unread(topic) for topic in counts.told}
    found = {topic for topic, records in unread.items() if records}
    assert found == {f"auto-{name}" for name in CLIENTS if name != "aiokafka"}
    assert sum(unread.values()) == counts.report["totals"]["records_unread"]
    by_broker = {topic: counts.of(topic, verdict="broker_rejected")["batches"] for topic in counts.told}
    assert sum(by_broker.values()) > 0
    assert all(by_broker[f"all-{name}"] == 0 for name in CLIENTS)
