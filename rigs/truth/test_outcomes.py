"""Nobody is killed: clients, topics, decision log and report agree exactly.

Four families of real clients meet the ways in which a broker, or tsproxy, ends a batch (`outcomes.TABLE`).
Log and report name the records of which nobody can know more: no acks, no answer, or perhaps sent again.
"""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
import pytest_asyncio

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaRecord
from rigs.truth import changes
from rigs.truth.books import COUNTS, Books, ids_of, report_of, stored
from rigs.truth.clients import CLIENTS, PATIENCE_S, librdkafka
from rigs.truth.outcomes import (
    AGAIN,
    ANY_TIME,
    HERE,
    LETTERS,
    OPEN,
    RECORDS,
    REJECTED,
    TABLE,
    THERE,
    Row,
    config_of,
)
from tests.full_only import IS_FULL
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

ABORTED, WITHOUT_ACKS = "aborted-java", "without-acks-librdkafka"
BEHIND_A_REJECTED_ONE, INTERNAL = "rejected-here-in-between-librdkafka", "__transaction_state"
"""Topics of one client each: of a transaction that it aborts, of records that it sends without waiting, of
good batches behind rejected ones, and one of Kafka's own."""
OWN = {
    ABORTED: {},
    WITHOUT_ACKS: {},
    BEHIND_A_REJECTED_ONE: ANY_TIME,
    LETTERS: {},
    **({changes.UNHEARD: {}} if IS_FULL else {}),
}
ROWS = TABLE | (changes.CHANGES if IS_FULL else {})
IN_TURN = Row({}, ahead_ms=TABLE["rejected-here"].ahead_ms, every=5, count=400)
"""Each fifth record is rejected."""


def records_of(row):
    return row.records(Clock().now_ms())


async def aborted(options):
    """A Java producer whose transaction ends so: all of its records are stored, and none is to be read."""
    more = {"client.id": "java", "transactional.id": "books"}
    async with JavaProducer(options.java() | more) as producer:
        await producer.begin()
        results = await producer.send_all(
            JavaRecord(ABORTED, value, key, time, 0) for key, value, time in records_of(TABLE["fine"])
        )
        await producer.abort()
    return {ABORTED: Counter(isinstance(each, Acknowledged) for each in results)}


async def by_librdkafka(options, topic, row, **more):
    async with librdkafka(options, patient=True, **more) as send:
        return {topic: Counter(await send(topic, records_of(row)))}


async def behind_a_rejected_one(options):
    """An idempotent producer with five batches of one record under way at once."""
    more = {"enable.idempotence": True, "linger.ms": 0, "batch.num.messages": 1}
    return await by_librdkafka(options, BEHIND_A_REJECTED_ONE, IN_TURN, **more)


async def told_by(client, options, kafka, gone):
    """Topic -> how many records of its row the client was told are stored (True) and are not (False). A
    rejection may spoil a producer that is not Java's for the topics behind it, and so does a change. `gone`
    gets the records of topics that are deleted."""
    told, shared = {}, [name for name, row in ROWS.items() if client == "java" and not row.meanwhile]
    for names in filter(None, [shared, *([name] for name in ROWS if name not in shared)]):
        topics = {f"{name}-{client}": ROWS[name] for name in names}
        [transactional_id] = [topic if row.has_transaction else None for topic, row in topics.items()][:1]
        async with CLIENTS[client](options, transactional_id) as send:
            for topic, row in topics.items():
                answers, records = [], records_of(row)
                if row.meanwhile:
                    answers, records = await send(topic, records[:1]), records[1:]
                    gone.update(await stored(kafka, [topic]) if row.meanwhile is changes.is_deleted else ())
                    await row.meanwhile(kafka, topic)
                told[topic] = Counter(answers + await send(topic, records))
    return told


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def cluster(kafka_440):
    """The run's broker; in full runs one of its own, whose clients have rights that can be taken away."""
    if not IS_FULL:
        yield kafka_440, kafka_440.client_options(), ""
        return
    async with KafkaCluster(**changes.SECURITY) as kafka:
        yield kafka, kafka.client_options(changes.USER), changes.LOGIN


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def books(cluster, spark, tmp_path_factory):
    kafka, direct, login = cluster
    folder = tmp_path_factory.mktemp("books")
    config, log = folder / "tsproxy.yaml", folder / "log"
    config.write_text(config_of(kafka, login))
    topics = {f"{name}-{client}": row.config for name, row in ROWS.items() for client in CLIENTS} | OWN
    await asyncio.gather(*[kafka.create_topic(name, config=topics[name]) for name in topics])
    began_ms, gone = Clock().now_ms(), Counter()

    async def end_of(topic):
        return (await kafka.end_offsets(topic))[0]

    async with RunningProxy(config=config, decisions=log) as proxy:
        options = replace(direct, bootstrap_servers=proxy.bootstrap_servers)
        sent = [told_by(name, options, kafka, gone) for name in CLIENTS]
        sent += [
            aborted(options),
            behind_a_rejected_one(options),
            by_librdkafka(options, WITHOUT_ACKS, TABLE["fine"], acks=0),
        ]
        told = {topic: each for one in await asyncio.gather(*sent) for topic, each in one.items()}

        async def all_arrived():
            return await end_of(WITHOUT_ACKS) == RECORDS

        await until(all_arrived, "the records that nobody is told of")
        internal_end = await end_of(INTERNAL)  # the topic is there since the first transaction
        told |= await by_librdkafka(options, INTERNAL, TABLE["fine"])
        internal_records = await end_of(INTERNAL) - internal_end
        if IS_FULL:
            told[changes.UNHEARD] = await changes.without_answer(kafka, proxy, options)
    there = topics.keys() - {topic for topic, *_ in gone}
    held = {topic: Counter() for topic in topics}
    for (topic, value, time), times in (await stored(kafka, there) + gone).items():
        held[topic][value, time] += times
    held[INTERNAL] = Counter({(None, None): internal_records})
    lines = [line for line in proxy.decisions() if line["event"] == "counters"]
    return Books(told, held, lines, report_of(log, folder, began_ms), await ids_of(kafka, there))


ALL = [
    pytest.param(row, client, id=f"{row}-{client}", marks=pytest.mark.timeout(1_800))
    for row in ROWS
    for client in CLIENTS
]


def test_nothing_is_missing_in_the_log_and_each_topic_of_the_log_is_in_the_report(books):
    assert books.report["log"]["state"] != "incomplete"
    assert {line["topic"] for line in books.lines} == {each["topic"] for each in books.report["topics"]}
    for topic in books.told:
        books.says_the_same(topic)
    totals = books.report["totals"]
    for name in (name for name in totals if name.startswith(COUNTS)):
        assert totals[name] == sum(each[name] for each in books.report["topics"]), name


@pytest.mark.parametrize(("row", "client"), ALL)
def test_the_records_that_the_client_was_told_are_stored_are_those_of_topic_log_and_report(
    books, row, client
):
    topic = f"{row}-{client}"
    was_stored = books.told[topic][True]
    assert sum(books.told[topic].values()) == ROWS[row].count
    assert list(books.held[topic].values()) == [1] * was_stored
    taken = [books.records(topic, verdict=verdict, is_final=True) for verdict in ("accepted", "repaired")]
    assert sum(taken) == was_stored
    counted = books.reported(topic)
    assert [counted["records_accepted"], counted["records_repaired"]] == taken


@pytest.mark.parametrize(("row", "client"), ALL)
def test_the_records_that_the_client_was_told_are_lost_are_rejected_or_named(books, row, client):
    topic = f"{row}-{client}"
    unconfirmed, lost = books.records(topic, verdict="unconfirmed"), books.told[topic][False]
    if ROWS[row].is_sent_again_for_ever(client):
        assert books.records(topic, is_final=False) >= lost
        lost = 0
    assert books.rejected(topic) + unconfirmed == lost
    assert books.reported(topic)["records_unconfirmed"] == unconfirmed


@pytest.mark.parametrize(("row", "client"), ALL)
def test_the_log_says_by_which_code_and_what_the_client_does_then(books, row, client):
    topic, expected = f"{row}-{client}", ROWS[row].said_of(client)
    said = books.said(topic)
    if any(how == REJECTED for how, _ in expected):
        said = {(REJECTED if how in (HERE, THERE) else how, code) for how, code in said}
    assert said == expected
    assert {line["client_id"] for line in books.lines if line["topic"] in books.names(topic)} == {client}


@pytest.mark.parametrize("client", CLIENTS)
def test_repaired_records_are_stored_with_the_time_that_was_meant(books, client):
    usual = times(books, f"fine-{client}")
    for time in times(books, f"repaired-{client}"):
        assert min(usual) - PATIENCE_S * 1_000 < time < max(usual) + PATIENCE_S * 1_000
    assert books.reported(f"repaired-{client}")["records_repaired"] == RECORDS


def times(books, topic):
    return [time for _, time in books.held[topic]]


def test_culprits_alone_are_dead_letters_and_bad_records_of_the_report(books):
    """A record that shared a batch with a culprit was rejected with it. It is no dead letter."""
    row, bad = TABLE["dead-letters"], 0
    for topic in (f"dead-letters-{client}" for client in CLIENTS):
        counted = books.reported(topic)
        assert counted["bad_records"] == row.count // row.every
        assert counted["bad_records"] + counted["collateral_records"] == counted["records_rejected"]
        bad += counted["bad_records"]
    letters = [value for value, _ in books.held[LETTERS].elements()]
    assert len(letters) == bad
    assert {int(value.split(b"-")[1]) % row.every for value in letters} == {row.every - 1}


@pytest.mark.parametrize("row", [name for name, row in TABLE.items() if row.would_reject])
@pytest.mark.parametrize("client", CLIENTS)
def test_records_that_a_waiver_or_the_audit_let_pass_are_listed_with_it(books, row, client):
    mode, waiver = TABLE[row].would_reject
    topic = f"{row}-{client}"
    assert books.records(topic, would_reject=True, mode=mode) == TABLE[row].count
    [listed] = [each for each in books.report["would_reject"] if each["topic"] == topic]
    assert (listed["waiver"], listed["client_id"], listed["records"]) == (waiver, client, TABLE[row].count)
    assert books.reported(topic)["records_rejected"] == 0


def test_no_other_record_would_have_been_rejected(books):
    listed = {each["topic"] for each in books.report["would_reject"]}
    rows = [name for name, row in TABLE.items() if row.would_reject]
    assert listed == {f"{row}-{client}" for row in rows for client in CLIENTS}


def test_records_of_a_transaction_that_is_aborted_are_accepted_and_stored(books):
    """A consumer that reads committed records skips them."""
    assert books.told[ABORTED] == {True: RECORDS}
    assert books.held[ABORTED].total() == RECORDS
    assert books.records(ABORTED) == books.records(ABORTED, verdict="accepted") == RECORDS
    assert books.reported(ABORTED)["records_accepted"] == RECORDS


def test_without_acks_a_client_is_told_that_all_is_stored_and_the_log_that_nobody_knows(books):
    assert books.told[WITHOUT_ACKS] == {True: RECORDS}
    assert books.said(WITHOUT_ACKS) == {(OPEN, 0)}
    assert books.records(WITHOUT_ACKS) == books.reported(WITHOUT_ACKS)["records_unconfirmed"] == RECORDS


def test_batches_behind_a_rejected_one_are_sent_again_and_counted_once(books):
    topic, lost = BEHIND_A_REJECTED_ONE, IN_TURN.count // IN_TURN.every
    assert books.told[topic] == {True: IN_TURN.count - lost, False: lost}
    assert books.held[topic].total() == books.records(topic, verdict="accepted") == IN_TURN.count - lost
    assert books.records(topic, verdict="rejected", error_code=32) == lost
    assert books.records(topic, is_final=False) == books.records(topic, error_code=45) > 0
    assert books.said(topic) == {("accepted", 0), (HERE, 32), (AGAIN, 45)}


def test_records_for_a_topic_of_kafkas_own_are_rejected_with_a_brokers_error(books):
    assert books.told[INTERNAL] == {False: RECORDS}
    assert books.held[INTERNAL].total() == 0
    assert books.said(INTERNAL) == {(HERE, 17)}
    assert books.reported(INTERNAL)["records_rejected"] == RECORDS


@pytest.mark.full_only("a broker of its own, which is silent; others have answers that nobody waits for")
def test_records_whose_answer_nobody_heard_are_stored_and_unconfirmed(books):
    topic = changes.UNHEARD
    assert books.told[topic] == {True: 1, False: RECORDS}
    assert books.held[topic].total() == 1 + RECORDS
    assert books.records(topic, verdict="accepted") == 1
    assert books.records(topic, verdict="unconfirmed", error_code=0) == RECORDS
    assert books.reported(topic)["records_unconfirmed"] == RECORDS
