"""Told, stored, booked and reported: what a producer sends after a broker has changed its mind about it.

Each client sends one record, which is stored. Then its right to write, its topic or its transaction is taken
away, and it sends the others. `outcomes.py` says where each code is tried.
"""

import asyncio
import itertools
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import pytest
import pytest_asyncio
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, ResourceType

from rigs.truth.books import Books, report_of
from rigs.truth.clients import CLIENTS, PATIENCE_S
from rigs.truth.outcomes import AGAIN, REJECTED
from tests.attacks.attacker import metric
from tests.kit.admin import AUTHORIZER, grant, is_granted, right
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

FIRST, OTHERS = 1, 20
BYTES = 300
USERS = {"client": "of-client", "tsproxy": "of-tsproxy"}
PROPERTIES = {
    **AUTHORIZER,
    "super.users": "User:tsproxy",
    "allow.everyone.if.no.acl.found": "true",
    "auto.create.topics.enable": "false",
}


# -- What happens meanwhile ----------------------------------------------------------------------------


async def may_not_write_to_the_topic(kafka, name):
    await may_describe_alone(kafka, ResourceType.TOPIC, name)


async def may_not_use_the_id(kafka, name):
    await may_describe_alone(kafka, ResourceType.TRANSACTIONAL_ID, name)


async def may_describe_alone(kafka, kind, name):
    """One permission that is written down ends what everybody may where none is."""
    rule = right(AclOperation.DESCRIBE, name, user="client", kind=kind)
    await grant(kafka, rule)
    await until(lambda: is_granted(kafka, rule), "the permission")


async def is_deleted(kafka, name):
    await kafka.delete_topic(name)


async def is_fenced(kafka, name):
    """Another producer with the same id: it ends the transaction of the first one, and its epoch."""
    options = kafka.client_options("tsproxy").librdkafka() | {"transactional.id": name}
    await asyncio.to_thread(lambda: Producer(options).init_transactions(PATIENCE_S))


@dataclass(frozen=True)
class Change:
    """The topic's name is the transactional id as well."""

    happens: Callable[[KafkaCluster, str], Awaitable[None]]
    error_code: int
    ends: str = REJECTED
    has_transaction: bool = False
    markers: int = 0
    """Ends of transactions in the topic, each of which takes an offset."""


CHANGES = {
    "no-right": Change(may_not_write_to_the_topic, 29),
    "no-topic": Change(is_deleted, 3, AGAIN),
    "no-right-to-id": Change(may_not_use_the_id, 53, has_transaction=True),
    "fenced": Change(is_fenced, 47, has_transaction=True, markers=1),
}


# -- The clients ---------------------------------------------------------------------------------------


async def told_by(client, options, name, has_transaction, meanwhile):
    records = [(None, b"%d" % number, Clock().now_ms()) for number in range(FIRST + OTHERS)]
    async with CLIENTS[client](options, name if has_transaction else None) as send:
        told = await send(name, records[:FIRST])
        await meanwhile()
        return told + await send(name, records[FIRST:])


WITHOUT_ANSWER = "without-answer-librdkafka"


async def without_answer(kafka, proxy, options):
    """The broker is silent while the records are under way, until the proxy ends. Then it stores them.

    Returns what the client is told: of the first record, and of the others.
    """
    line, told = 'tsproxy_bytes_total{direction="from_client"}', []
    properties = {"client.id": "librdkafka", "linger.ms": 100, "message.timeout.ms": 10_000}
    producer = Producer(options.librdkafka() | properties)

    def send(count):
        for _ in range(count):
            value, hear = b"x" * BYTES, lambda error, _: told.append(error is None)
            producer.produce(WITHOUT_ANSWER, value, partition=0, on_delivery=hear)

    send(FIRST)
    assert await asyncio.to_thread(producer.flush, PATIENCE_S) == 0
    before, broker = await metric(proxy, line), kafka.node(kafka.node_ids[0]).pid
    os.kill(broker, signal.SIGSTOP)
    try:
        send(OTHERS)

        async def are_under_way():
            producer.poll(0)
            return await metric(proxy, line) - before > OTHERS * BYTES

        await until(are_under_way, "the records came to the proxy")
        await proxy.stop()
    finally:
        os.kill(broker, signal.SIGCONT)
    assert await asyncio.to_thread(producer.flush, PATIENCE_S) == 0
    return Counter(told)


# -- The books -----------------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def books(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("books")
    config, log = folder / "tsproxy.yaml", folder / "log"
    began_ms, told, held = Clock().now_ms(), {}, {}
    security = {"security": "SASL_PLAINTEXT", "users": USERS, "properties": PROPERTIES}
    async with KafkaCluster(**security) as kafka:
        config.write_text(
            f"upstream:\n  bootstrap_servers: ['{kafka.bootstrap_servers}']\n"
            "  admin: { sasl: { mechanism: PLAIN, username: tsproxy, password: of-tsproxy } }\n"
            "listeners: [{ bind: 127.0.0.1:0 }]\nlimits: { drain_timeout: 1s }\n"
        )
        await kafka.create_topic(WITHOUT_ANSWER)

        async def send(change, client, options):
            name = f"{change}-{client}"

            async def meanwhile():
                held[name] = (await kafka.end_offsets(name))[0]
                await CHANGES[change].happens(kafka, name)

            has_transaction = CHANGES[change].has_transaction
            told[name] = Counter(await told_by(client, options, name, has_transaction, meanwhile))

        async def send_all(client, has_transaction, options):
            for change in (name for name, its in CHANGES.items() if its.has_transaction == has_transaction):
                await kafka.create_topic(f"{change}-{client}")
                await send(change, client, options)

        async with RunningProxy(config=config, decisions=log) as proxy:
            direct = kafka.client_options("client")
            options = replace(direct, bootstrap_servers=proxy.bootstrap_servers)
            async with asyncio.TaskGroup() as group:
                for client, has_transaction in itertools.product(CLIENTS, (False, True)):
                    group.create_task(send_all(client, has_transaction, options))
            told[WITHOUT_ANSWER] = await without_answer(kafka, proxy, options)
        held[WITHOUT_ANSWER] = (await kafka.end_offsets(WITHOUT_ANSWER))[0]
        for change, its in CHANGES.items():
            for name in (f"{change}-{client}" for client in CLIENTS if its.happens is not is_deleted):
                held[name] = (await kafka.end_offsets(name))[0] - its.markers
    lines = [line for line in proxy.decisions() if line["event"] == "counters"]
    return Books(told, held, lines, report_of(log, folder, began_ms))


pytestmark = [
    pytest.mark.broker,
    pytest.mark.timeout(1_800),
    pytest.mark.full_only("a broker of its own; test_outcomes.py has how brokers end a batch"),
]
ALL = pytest.mark.parametrize(("change", "client"), [*itertools.product(CHANGES, CLIENTS)])


@ALL
def test_what_was_stored_before_is_all_that_client_topic_log_and_report_hold(books, change, client):
    name = f"{change}-{client}"
    assert books.told[name] == {True: FIRST, False: OTHERS}
    assert books.held[name] == FIRST
    assert books.records(name, verdict="accepted", is_final=True) == FIRST
    assert books.reported(name)["records_accepted"] == FIRST


@ALL
def test_what_the_client_gave_up_is_rejected_or_repetitions_without_a_success(books, change, client):
    """Nobody but the client knows when it gives up: each try of the same records is a repetition."""
    name, ends = f"{change}-{client}", CHANGES[change].ends
    counted = books.reported(name)
    rejected, again = books.rejected(name), books.records(name, is_final=False)
    assert rejected == (OTHERS if ends == REJECTED else 0)
    assert again >= OTHERS if ends == AGAIN else again == 0
    assert counted["records_rejected"] + counted["records_broker_rejected"] == rejected
    assert counted["records_broker_rejected_retried"] + counted["records_rejected_retried"] == again
    assert counted["records_unconfirmed"] == books.records(name, verdict="unconfirmed") == 0


def code_for(client, change):
    """A client that names topics by id (Produce 13) is told that nobody knows the id."""
    return 100 if (client, change) == ("java", "no-topic") else CHANGES[change].error_code


@ALL
def test_the_log_says_by_which_code_and_whether_it_is_for_good(books, change, client):
    """By the same one for each family that names topics in the same way."""
    lines = [line for line in books.lines if line["topic"] == f"{change}-{client}"]
    said = {(line["is_final"], line["error_code"]) for line in lines if line["verdict"] != "accepted"}
    assert said == {(CHANGES[change].ends == REJECTED, code_for(client, change))}
    assert {line["client_id"] for line in lines} == {client}


def test_records_whose_answer_nobody_heard_are_stored_and_unconfirmed(books):
    assert books.told[WITHOUT_ANSWER] == {True: FIRST, False: OTHERS}
    assert books.held[WITHOUT_ANSWER] == FIRST + OTHERS
    assert books.records(WITHOUT_ANSWER, verdict="accepted") == FIRST
    assert books.records(WITHOUT_ANSWER, verdict="unconfirmed", error_code=0) == OTHERS
    counted = books.reported(WITHOUT_ANSWER)
    assert (counted["records_accepted"], counted["records_unconfirmed"]) == (FIRST, OTHERS)
