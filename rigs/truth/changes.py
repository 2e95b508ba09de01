"""Rows of outcomes in which a broker changes its mind between two sends: full runs alone play them.

Each client sends one record, which is stored. Then its right to write, its topic or its transaction is taken
away, and it sends the others.
"""

import asyncio
import os
import signal
from collections import Counter
from functools import partial

from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, ResourceType

from rigs.truth.clients import PATIENCE_S
from rigs.truth.outcomes import ACCEPTED, AGAIN, RECORDS, REJECTED, Row
from tests.attacks.attacker import metric
from tests.kit.admin import AUTHORIZER, grant, is_granted, right
from tests.proxy.world import until

USER = "client"
SECURITY = {
    "security": "SASL_PLAINTEXT",
    "users": {USER: "of-client", "tsproxy": "of-tsproxy"},
    "properties": {
        **AUTHORIZER,
        "super.users": "User:tsproxy",
        "allow.everyone.if.no.acl.found": "true",
        "auto.create.topics.enable": "false",
    },
}
LOGIN = "{ mechanism: PLAIN, username: tsproxy, password: of-tsproxy }"


async def may_describe_alone(kafka, name, kind):
    """One permission that is written down ends what everybody may where none is."""
    rule = right(AclOperation.DESCRIBE, name, user=USER, kind=kind)
    await grant(kafka, rule)
    await until(lambda: is_granted(kafka, rule), "the permission")


async def is_deleted(kafka, name):
    await kafka.delete_topic(name)


async def is_fenced(kafka, name):
    """Another producer with the same id: it ends the transaction of the first one, and its epoch."""
    options = kafka.client_options("tsproxy").librdkafka() | {"transactional.id": name}
    await asyncio.to_thread(lambda: Producer(options).init_transactions(PATIENCE_S))


def changes(meanwhile, code, how=REJECTED, *, has_transaction=False, **others):
    """The row of a change, after which records end so. The topic's name is the transactional id as well."""
    said = {
        client: {(ACCEPTED, 0), (how, error_code)} for client, error_code in {"*": code, **others}.items()
    }
    return Row(said, count=1 + RECORDS, meanwhile=meanwhile, has_transaction=has_transaction)


CHANGES = {
    "no-right": changes(partial(may_describe_alone, kind=ResourceType.TOPIC), 29),
    # A client that names topics by id (Produce 13) is told that nobody knows the id.
    "no-topic": changes(is_deleted, 3, AGAIN, java=100),
    "no-right-to-id": changes(
        partial(may_describe_alone, kind=ResourceType.TRANSACTIONAL_ID), 53, has_transaction=True
    ),
    "fenced": changes(is_fenced, 47, has_transaction=True),
}
UNHEARD = "without-answer-librdkafka"


async def without_answer(kafka, proxy, options):
    """The broker is silent while the records are under way, until the proxy ends. Then it stores them.

    Returns what the client is told: of the first record, and of the others.
    """
    line, answers, size = 'tsproxy_bytes_total{direction="from_client"}', [], 300
    properties = {"client.id": "librdkafka", "linger.ms": 100, "message.timeout.ms": 10_000}
    producer = Producer(options.librdkafka() | properties)

    def send(count):
        for _ in range(count):
            producer.produce(
                UNHEARD, b"x" * size, partition=0, on_delivery=lambda error, _: answers.append(error is None)
            )

    send(1)
    assert await asyncio.to_thread(producer.flush, PATIENCE_S) == 0
    before, broker = await metric(proxy, line), kafka.node(kafka.node_ids[0]).pid
    os.kill(broker, signal.SIGSTOP)
    try:
        send(RECORDS)

        async def are_under_way():
            producer.poll(0)
            return await metric(proxy, line) - before > RECORDS * size

        await until(are_under_way, "the records came to the proxy")
        await proxy.stop()
    finally:
        os.kill(broker, signal.SIGCONT)
    assert await asyncio.to_thread(producer.flush, PATIENCE_S) == 0
    return Counter(answers)
