"""What clients are told, what topics hold, what the decision log says and what the report says: one truth.

Four families of real clients meet the ways in which a broker, or tsproxy, ends a batch. Whoever counts counts
the same records. Where nobody can (no acks, or a client that may have sent again), the log names it.

The codes of Produce answers to a real client, and where each is tried ("changes" is
`test_truth_of_what_changes.py`, "repetitions" `cluster/test_truth_of_repetitions.py`):

    3 UNKNOWN_TOPIC_OR_PARTITION           changes: the topic is deleted
    10 MESSAGE_TOO_LARGE                   here: too-large-batch, too-large-record
    19 NOT_ENOUGH_REPLICAS                 repetitions: a broker goes
    29 TOPIC_AUTHORIZATION_FAILED          changes: the right to write is taken away
    32 INVALID_TIMESTAMP                   here: rejected-here, rejected-there
    47 INVALID_PRODUCER_EPOCH              changes: another producer takes the transactional id
    53 TRANSACTIONAL_ID_AUTHORIZATION_FAILED   changes: the right to the id is taken away
    87 INVALID_RECORD                      here: no-key

A leader is killed in repetitions; by which code the broker answers then (6, 7, 20 or none) is chance.
Not tried with clients: 17 INVALID_TOPIC_EXCEPTION (an internal topic), 45 OUT_OF_ORDER_SEQUENCE_NUMBER (a
batch behind one that is rejected), 48 INVALID_TXN_STATE and 120 TRANSACTION_ABORTABLE (a transaction that the
broker ends), 56 KAFKA_STORAGE_ERROR (a disk that fails). Unit tests hold what is booked for a code
(`tests/session/test_sent_again.py`, `tests/model/test_sent_again.py`).

These clients cannot bring a broker to:

    2 CORRUPT_MESSAGE                      each computes the checksum
    21 INVALID_REQUIRED_ACKS               each rejects such a setting itself
    46 DUPLICATE_SEQUENCE_NUMBER           brokers answer a repetition with success
    59 UNKNOWN_PRODUCER_ID                 no class of a 4.3.1 broker throws it
    76 UNSUPPORTED_COMPRESSION_TYPE        for zstd below Produce 7; each asks for a newer version
    100 UNKNOWN_TOPIC_ID                   for Produce 13; tsproxy offers no more than 12
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

import pytest
import pytest_asyncio
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer

from tests.attacks.attacker import until
from tests.e2e.reported import report_on
from tests.e2e.told import is_stored
from tsproxy.clock import Clock
from tsproxy.testing.java_producer import Acknowledged, JavaProducer, JavaRecord
from tsproxy.testing.proxy import RunningProxy

HOUR_MS = 3_600_000
RECORDS = 20
TIMEOUT_MS = 6_000
PATIENCE_S = 120


@dataclass(frozen=True)
class Scene:
    """A topic of this configuration, and the records that are sent to it in one go."""

    config: dict
    ahead_ms: int = 0
    value_bytes: int = 300
    has_key: bool = True
    count: int = RECORDS


SCENES = {
    "fine": Scene({}),
    "stamped": Scene({"message.timestamp.type": "LogAppendTime"}, ahead_ms=5 * HOUR_MS),
    "rejected-here": Scene({"message.timestamp.after.max.ms": "3600000"}, ahead_ms=2 * HOUR_MS),
    "rejected-there": Scene({"message.timestamp.after.max.ms": "3600000"}, ahead_ms=2 * HOUR_MS),
    "no-key": Scene({"cleanup.policy": "compact"}, has_key=False),
    "too-large-batch": Scene({"max.message.bytes": "2000"}),
    "too-large-record": Scene({"max.message.bytes": "2000"}, value_bytes=5_000, count=1),
}
POLICY = """policy:
  rules:
    - { name: left-to-brokers, match: { topics: ["rejected-there-*"] }, mode: off }
"""

REJECTED, OPEN, AGAIN = "rejected", "open", "again"
SPLITS = {(AGAIN, 10)}
ERRORS = {
    "fine": {},
    "stamped": {},
    "rejected-here": {"*": {(REJECTED, 32)}},
    "rejected-there": {"*": {(REJECTED, 32)}},
    "no-key": {"*": {(REJECTED, 87)}},
    "too-large-batch": {
        "java": SPLITS,
        "kafka-python": SPLITS,
        "librdkafka": {(REJECTED, 10)},
        "aiokafka": {(OPEN, 10)},
    },
    "too-large-record": {"*": {(REJECTED, 10)}},
}
"""What the log says besides what was taken: by scene and client (`*`: each), how and by which code."""
ABORTED, WITHOUT_ACKS = "aborted-java", "without-acks-librdkafka"
"""Topics of one client each: of a transaction that it aborts, and of what is sent without waiting."""


def times_of(scene):
    now_ms = Clock().now_ms()
    return [(b"k%d" % n if scene.has_key else None, b"v" * scene.value_bytes, now_ms + scene.ahead_ms)
            for n in range(scene.count)]  # fmt: skip


async def by_java(servers, scenes):
    options = {
        "bootstrap.servers": servers, "client.id": "java", "linger.ms": "1000", "batch.size": "65536",
        "request.timeout.ms": "3000", "delivery.timeout.ms": str(TIMEOUT_MS),
    }  # fmt: skip
    told = {}
    async with JavaProducer(options) as producer:
        for topic, scene in scenes.items():
            results = await producer.send_all(
                JavaRecord(topic, value, key, time, 0) for key, value, time in times_of(scene)
            )
            told[topic] = Counter(isinstance(each, Acknowledged) for each in results)
    return told


async def by_librdkafka(servers, scenes):
    options = {
        "bootstrap.servers": servers, "client.id": "librdkafka", "linger.ms": 500,
        "message.timeout.ms": TIMEOUT_MS, "request.timeout.ms": 3_000,
    }  # fmt: skip

    def send(topic, scene):
        told = Counter()
        producer = Producer(options)
        for key, value, time in times_of(scene):
            producer.produce(
                topic,
                value,
                key,
                0,
                timestamp=time,
                on_delivery=lambda error, _: told.update([error is None]),
            )
        assert producer.flush(PATIENCE_S) == 0
        return told

    return {topic: await asyncio.to_thread(send, topic, scene) for topic, scene in scenes.items()}


async def by_aiokafka(servers, scenes):
    told = {}
    for topic, scene in scenes.items():
        options = {"linger_ms": 500, "max_batch_size": 65_536, "request_timeout_ms": TIMEOUT_MS}
        async with AIOKafkaProducer(
            bootstrap_servers=servers, client_id="aiokafka", acks="all", **options
        ) as producer:
            sent = [
                await producer.send(topic, value, key, 0, timestamp_ms=time)
                for key, value, time in times_of(scene)
            ]
            ended = await asyncio.gather(*sent, return_exceptions=True)
        told[topic] = Counter(not isinstance(each, BaseException) for each in ended)
    return told


async def by_kafka_python(servers, scenes):
    def send(topic, scene):
        producer = KafkaProducer(
            bootstrap_servers=servers,
            client_id="kafka-python",
            linger_ms=500,
            batch_size=65_536,
            request_timeout_ms=3_000,
            delivery_timeout_ms=TIMEOUT_MS,
        )
        sent = [
            producer.send(topic, value, key, partition=0, timestamp_ms=time)
            for key, value, time in times_of(scene)
        ]
        told = Counter(is_stored(each) for each in sent)
        producer.close()
        return told

    return {topic: await asyncio.to_thread(send, topic, scene) for topic, scene in scenes.items()}


async def aborted(servers):
    """Of a Java producer whose transaction ends so: all of its records are stored, and none is to be read."""
    options = {"bootstrap.servers": servers, "client.id": "java", "transactional.id": "books"}
    async with JavaProducer(options) as producer:
        await producer.begin()
        records = times_of(Scene({}))
        results = await producer.send_all(
            JavaRecord(ABORTED, value, key, time, 0) for key, value, time in records
        )
        await producer.abort()
    return {ABORTED: Counter(isinstance(each, Acknowledged) for each in results)}


async def without_acks(servers):
    def send():
        producer = Producer({"bootstrap.servers": servers, "client.id": "librdkafka", "acks": 0})
        told = Counter()
        for key, value, time in times_of(Scene({})):
            producer.produce(
                WITHOUT_ACKS,
                value,
                key,
                0,
                timestamp=time,
                on_delivery=lambda error, _: told.update([not error]),
            )
        assert producer.flush(PATIENCE_S) == 0
        return {WITHOUT_ACKS: told}

    return await asyncio.to_thread(send)


CLIENTS = {
    "java": by_java,
    "librdkafka": by_librdkafka,
    "aiokafka": by_aiokafka,
    "kafka-python": by_kafka_python,
}


@dataclass(frozen=True)
class Books:
    """By topic, which is one of one scene and client: the same thing as four tell it."""

    told: dict
    """Records that the client was told are stored (True), and that it was told are not (False)."""
    held: dict
    """Records that the topic holds."""
    lines: list
    """The counters of the decision log."""
    report: dict
    """The topics of report.json, by name."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def books(kafka_431, spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("books")
    config, log = folder / "tsproxy.yaml", folder / "log"
    config.write_text(
        f"upstream: {{ bootstrap_servers: ['{kafka_431.bootstrap_servers}'] }}\n"
        f"listeners: [{{ bind: 127.0.0.1:0 }}]\n{POLICY}"
    )
    scenes = {name: {f"{scene}-{name}": each for scene, each in SCENES.items()} for name in CLIENTS}
    topics = {topic: scene for each in scenes.values() for topic, scene in each.items()}
    for topic, scene in topics.items():
        await kafka_431.create_topic(topic, config=scene.config)
    for topic in (ABORTED, WITHOUT_ACKS):
        await kafka_431.create_topic(topic)
    began_ms = Clock().now_ms()
    async with RunningProxy(config=config, decisions=log) as proxy:
        sent = [send(proxy.bootstrap_servers, scenes[name]) for name, send in CLIENTS.items()]
        sent += [aborted(proxy.bootstrap_servers), without_acks(proxy.bootstrap_servers)]
        told = {topic: each for one in await asyncio.gather(*sent) for topic, each in one.items()}

        async def all_arrived():
            return (await kafka_431.end_offsets(WITHOUT_ACKS))[0] == RECORDS

        await until(all_arrived, "what nobody is told of")
    held = {topic: (await kafka_431.end_offsets(topic))[0] for topic in (*topics, ABORTED)}
    lines = [line for line in proxy.decisions() if line["event"] == "counters"]
    return Books(told, held, lines, reported(log, folder, began_ms))


def reported(log, folder, began_ms):
    """The topics of report.json, by name."""
    report = report_on(log, folder, began_ms, "--format", "json")
    assert report["log"]["state"] != "incomplete"
    return {topic["topic"]: topic for topic in report["topics"]}


ALL = [
    pytest.param(scene, client, id=f"{scene}-{client}", marks=pytest.mark.timeout(1_800))
    for scene in SCENES
    for client in CLIENTS
]


def records_of(books, topic, **facts):
    return sum(
        line["records"] for line in books.lines if line["topic"] == topic and facts.items() <= line.items()
    )


def rejected_for_good(books, topic):
    """By tsproxy or by the broker, which is a matter of what it knew of the topic by then."""
    verdicts = ("rejected", "broker_rejected")
    return sum(records_of(books, topic, verdict=verdict, is_final=True) for verdict in verdicts)


@pytest.mark.parametrize(("scene", "client"), ALL)
def test_what_the_client_was_told_is_stored_is_what_topic_log_and_report_hold(books, scene, client):
    topic = f"{scene}-{client}"
    stored = books.told[topic][True]
    assert sum(books.told[topic].values()) == SCENES[scene].count
    assert books.held[topic] == stored
    assert records_of(books, topic, verdict="accepted", is_final=True) == stored
    assert books.report[topic]["records_accepted"] == stored


@pytest.mark.parametrize(("scene", "client"), ALL)
def test_what_the_client_was_told_is_lost_is_rejected_or_named(books, scene, client):
    topic = f"{scene}-{client}"
    lost, counted = books.told[topic][False], books.report[topic]
    rejected = rejected_for_good(books, topic)
    unconfirmed = records_of(books, topic, verdict="unconfirmed")
    again = records_of(books, topic, is_final=False)
    assert rejected + unconfirmed == lost
    assert counted["records_rejected"] + counted["records_broker_rejected"] == rejected
    assert counted["records_unconfirmed"] == unconfirmed
    assert counted["records_broker_rejected_retried"] + counted["records_rejected_retried"] == again


@pytest.mark.parametrize(("scene", "client"), ALL)
def test_the_log_says_by_which_code_and_what_the_client_makes_of_it(books, scene, client):
    said = set()
    for line in books.lines:
        if line["topic"] == f"{scene}-{client}" and line["verdict"] != "accepted":
            how = OPEN if line["verdict"] == "unconfirmed" else REJECTED
            said.add((how if line["is_final"] else AGAIN, line["error_code"]))
            assert line["client_id"] == client
    expected = ERRORS[scene]
    assert said == set(expected.get(client, expected.get("*", ())))


def test_records_of_a_transaction_that_is_aborted_are_accepted_and_stored(books):
    """A consumer that reads committed records skips them; the marker of the end takes an offset itself."""
    assert books.told[ABORTED] == {True: RECORDS}
    assert books.held[ABORTED] == RECORDS + 1
    assert records_of(books, ABORTED) == records_of(books, ABORTED, verdict="accepted") == RECORDS
    assert books.report[ABORTED]["records_accepted"] == RECORDS


def test_without_acks_a_client_is_told_that_all_is_stored_and_the_log_that_nobody_knows(books):
    assert books.told[WITHOUT_ACKS] == {True: RECORDS}
    unconfirmed = records_of(books, WITHOUT_ACKS, verdict="unconfirmed", error_code=0)
    assert records_of(books, WITHOUT_ACKS) == unconfirmed == RECORDS
    assert books.report[WITHOUT_ACKS]["records_unconfirmed"] == RECORDS
