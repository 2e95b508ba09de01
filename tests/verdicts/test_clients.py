"""Clients see the same rejection from the broker itself and through the real `tsproxy` command.

Each client does the same twice, with two topics of the same configuration: once directly and once through
the proxy. Its application must see the same exceptions, messages, culprits and offsets. A consumer of
committed records must find the same afterwards.
"""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from confluent_kafka import KafkaException, Producer

from deploy.demo.java_producer import (
    Acknowledged,
    JavaProducer,
    JavaProducerError,
    JavaRecord,
    SendResult,
)
from rigs.differential.lines import now_ms
from tests import full_only
from tests.verdicts.rows import DAY, HOUR, KEEP, limits
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

SIDES = ("directly", "by-proxy")
"""Names of one length, so that batches are as long as each other."""

MICROSECONDS = 1000

pytestmark = pytest.mark.timeout(func_only=True)
"""The first of these tests starts its broker as well, and each with Java two more processes that compile
before they send. On a machine that others keep busy all that together took five minutes; the broker's start
has a bound of its own."""


@pytest.fixture(params=full_only.brokers("test_rows.py compares the bytes that clients get of 3.9.1 as well"))
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    return request.getfixturevalue(request.param)


@asynccontextmanager
async def both_ways(
    kafka: KafkaCluster, topic: str
) -> AsyncIterator[tuple[dict[str, tuple[str, str]], RunningProxy]]:
    """Side -> (bootstrap servers, topic); the proxy knows its topic's limits."""
    topics = {side: f"{topic[:190]}.{side}" for side in SIDES}
    for name in topics.values():
        await kafka.create_topic(name, config=KEEP | limits(DAY, HOUR))
    async with RunningProxy(kafka.bootstrap_servers) as proxy:
        servers = dict(zip(SIDES, (kafka.bootstrap_servers, proxy.bootstrap_servers), strict=True))
        async with (
            AIOKafkaProducer(bootstrap_servers=servers[SIDES[0]]) as direct,
            AIOKafkaProducer(bootstrap_servers=servers[SIDES[1]]) as proxied,
        ):
            # The log tells a topic's limits with the first batch that was judged by them.
            while not any(line.get("kind") == "limits" for line in proxy.decisions()):
                await direct.send_and_wait(topics[SIDES[0]], b"first", timestamp_ms=now_ms())
                await proxied.send_and_wait(topics[SIDES[1]], b"first", timestamp_ms=now_ms())
        yield {side: (servers[side], topics[side]) for side in SIDES}, proxy


def plain(text: str | None, topic: str) -> str | None:
    """A message without the clock, the producer's id and the topic's name in it."""
    if text is None:
        return None
    steady = re.sub(r"\[-?\d+, -?\d+\]", "[bounds]", text)
    return re.sub(r"Id:\d+", "Id", steady).replace(topic, "TOPIC")


async def committed(kafka: KafkaCluster, topic: str) -> list[tuple[bytes | None, int]]:
    """(value, offset) of every record that a consumer of committed records sees."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    )
    partition = TopicPartition(topic, 0)
    async with consumer:
        consumer.assign([partition])
        # A commit is answered before its marker lies in the log: until then its records are not to be seen.
        end = -1
        while end < (await kafka.end_offsets(topic))[0]:
            end = (await consumer.end_offsets([partition]))[partition]
        found: list[tuple[bytes | None, int]] = []
        while await consumer.position(partition) < end:
            for records in (await consumer.getmany(timeout_ms=100)).values():
                found += [(record.value, record.offset) for record in records]
    return found


def was_rejected_by_the_proxy(proxy: RunningProxy) -> bool:
    """True where no bad time came as far as the broker."""
    rejected = [
        line for line in proxy.decisions() if line["event"] == "decision" and line["error_code"] == 32
    ]
    return bool(rejected) and {line["verdict"] for line in rejected} == {"rejected"}


# -- Java -------------------------------------------------------------------------------------------


def java_results(results: list[SendResult], topic: str) -> list[object]:
    return [
        (result.exception, plain(result.message, topic)) if hasattr(result, "exception") else result
        for result in results
    ]


async def java_goes_on(producer: JavaProducer, topic: str, moment_ms: int) -> list[object]:
    """Good, one bad, several bad among good ones, good again: what the callbacks get."""
    good, bad = moment_ms, moment_ms * MICROSECONDS
    seen: list[object] = []
    for times in ([good], [bad], [good, bad, good, bad], [good, good]):
        records = [JavaRecord(topic, b"v", timestamp_ms=ts) for ts in times]
        seen.append(java_results(await producer.send_all(records), topic))
    return seen


async def test_javas_idempotent_producer_sees_the_same_and_goes_on(kafka: KafkaCluster, topic: str):
    seen, stored, moment_ms = {}, {}, now_ms()
    async with both_ways(kafka, topic) as (ways, proxy):
        for side, (servers, name) in ways.items():
            options = {"bootstrap.servers": servers, "linger.ms": "60000", "acks": "all"}
            async with JavaProducer(options, version=kafka.version) as producer:
                seen[side] = await java_goes_on(producer, name, moment_ms)
            stored[side] = await committed(kafka, name)
    assert seen["by-proxy"] == seen["directly"]
    assert stored["by-proxy"] == stored["directly"]
    assert "InvalidTimestampException" in str(seen["directly"])
    assert was_rejected_by_the_proxy(proxy)


async def java_transactions(producer: JavaProducer, topic: str, moment_ms: int) -> list[object]:
    """A transaction whose only batch is rejected, one with a good batch before, and one that commits.

    Offsets are left out: a broker has added the partition to the transaction before it looks at the
    records, and its abort leaves a marker there; what is rejected by the proxy leaves none.
    """
    good, bad = JavaRecord(topic, b"good", timestamp_ms=moment_ms), JavaRecord(topic, b"bad", timestamp_ms=1)
    seen: list[object] = []
    for records, ends in (([bad], "commit"), ([good, bad], "commit"), ([bad], "abort"), ([good], "commit")):
        await producer.begin()
        told = [answer for one in records for answer in await producer.send_all([one])]
        seen += ["stored" if isinstance(a, Acknowledged) else java_results([a], topic) for a in told]
        if ends == "commit":
            try:
                await producer.commit()
                seen.append("committed")
                continue
            except JavaProducerError:
                seen.append("not committed")  # with which of two exceptions depends on its own threads
        await producer.abort()
        seen.append("aborted")
    return seen


async def test_javas_transactional_producer_sees_the_same_and_goes_on(kafka: KafkaCluster, topic: str):
    """With transaction version 2 a batch adds its partition at the broker: one rejected here adds none."""
    seen, stored, moment_ms = {}, {}, now_ms()
    async with both_ways(kafka, topic) as (ways, proxy):
        for side, (servers, name) in ways.items():
            options = {"bootstrap.servers": servers, "linger.ms": "60000", "transactional.id": name}
            async with JavaProducer(options, version=kafka.version) as producer:
                seen[side] = await java_transactions(producer, name, moment_ms)
            stored[side] = [value for value, _ in await committed(kafka, name) if value != b"first"]
    assert seen["by-proxy"] == seen["directly"]
    assert stored["by-proxy"] == stored["directly"] == [b"good"]
    assert seen["directly"][-1] == "committed"
    assert was_rejected_by_the_proxy(proxy)


# -- librdkafka -------------------------------------------------------------------------------------


def rdkafka_send(producer: Producer, topic: str, times: list[int]) -> list[object]:
    """The delivery reports, in the order of the records."""
    reports: dict[int, object] = {}

    def report_of(at: int) -> Callable[..., None]:
        def report(error, message):
            reports[at] = message.offset() if error is None else (error.name(), plain(error.str(), topic))

        return report

    for at, ts in enumerate(times):
        try:
            producer.produce(topic, b"v", timestamp=ts, on_delivery=report_of(at))
        except KafkaException as error:  # a transaction that must be aborted first
            reports[at] = (error.args[0].name(), plain(error.args[0].str(), topic))
    assert producer.flush(60) == 0
    return [reports[at] for at in range(len(times))]


async def test_librdkafkas_idempotent_producer_sees_the_same_and_goes_on(kafka: KafkaCluster, topic: str):
    seen, stored, moment_ms = {}, {}, now_ms()
    good, bad = moment_ms, moment_ms * MICROSECONDS
    async with both_ways(kafka, topic) as (ways, proxy):
        for side, (servers, name) in ways.items():
            options = {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 100}
            producer = Producer(options)
            seen[side] = [
                rdkafka_send(producer, name, times)
                for times in ([good], [bad], [good, bad, good, bad], [good, good])
            ]
            stored[side] = await committed(kafka, name)
    assert seen["by-proxy"] == seen["directly"]
    assert stored["by-proxy"] == stored["directly"]
    assert "INVALID_TIMESTAMP" in str(seen["directly"])
    assert was_rejected_by_the_proxy(proxy)


RDKAFKA_TRANSACTIONS = (
    ("bad", "commit"),
    ("good bad", "commit"),
    ("bad", "abort"),
    ("good", "commit"),
    ("good", "commit"),
)
"""librdkafka loses the transaction after a rejected one as well ("skipped sequence numbers"), with or
without a proxy: the last one shows that it goes on."""


def rdkafka_transactions(producer: Producer, topic: str, moment_ms: int) -> list[object]:
    seen: list[object] = []
    producer.init_transactions(60)
    for records, ends in RDKAFKA_TRANSACTIONS:
        times = [moment_ms if record == "good" else 1 for record in records.split()]
        producer.begin_transaction()
        told = [answer for ts in times for answer in rdkafka_send(producer, topic, [ts])]
        seen += [answer if isinstance(answer, tuple) else "stored" for answer in told]
        if ends == "commit":
            try:
                producer.commit_transaction(60)
                seen.append("committed")
                continue
            except KafkaException as error:
                cause = error.args[0]
                seen.append((cause.name(), plain(cause.str(), topic), cause.txn_requires_abort()))
        producer.abort_transaction(60)
        seen.append("aborted")
    return seen


async def test_librdkafkas_transactional_producer_sees_the_same_and_goes_on(kafka: KafkaCluster, topic: str):
    seen, stored, moment_ms = {}, {}, now_ms()
    async with both_ways(kafka, topic) as (ways, proxy):
        for side, (servers, name) in ways.items():
            producer = Producer({"bootstrap.servers": servers, "transactional.id": name, "linger.ms": 0})
            seen[side] = rdkafka_transactions(producer, name, moment_ms)
            stored[side] = [value for value, _ in await committed(kafka, name) if value != b"first"]
    assert seen["by-proxy"] == seen["directly"]
    assert stored["by-proxy"] == stored["directly"] == [b"v"]
    assert seen["directly"][-1] == "committed"
    assert was_rejected_by_the_proxy(proxy)


# -- aiokafka ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("enable_idempotence", [False, True], ids=["plain", "idempotent"])
async def test_aiokafkas_producer_sees_the_same_and_goes_on(kafka, topic, enable_idempotence):
    seen: dict[str, list[object]] = {side: [] for side in SIDES}
    stored, moment_ms = {}, now_ms()
    good, bad = moment_ms, moment_ms * MICROSECONDS
    async with both_ways(kafka, topic) as (ways, proxy):
        for side, (servers, name) in ways.items():
            options = {"enable_idempotence": enable_idempotence, "acks": "all"}
            async with AIOKafkaProducer(bootstrap_servers=servers, **options) as producer:
                for ts in (good, bad, good):
                    try:
                        metadata = await producer.send_and_wait(name, b"v", timestamp_ms=ts)
                        seen[side].append(metadata.offset)
                    except KafkaError as error:
                        seen[side].append((type(error).__name__, plain(str(error), name)))
            stored[side] = await committed(kafka, name)
    assert seen["by-proxy"] == seen["directly"]
    assert stored["by-proxy"] == stored["directly"]
    assert "InvalidTimestampError" in str(seen["directly"])
    assert was_rejected_by_the_proxy(proxy)
