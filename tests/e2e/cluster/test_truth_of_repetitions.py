"""Records that producers send again by themselves: told, stored, counted.

`rigs/truth` has all that ends at once; here a broker goes and comes back meanwhile.
"""

import asyncio
from collections import Counter

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from rigs.truth.clients import CLIENTS, PATIENCE_S
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.proxy import RunningProxy

RECORDS = 20
NOT_ENOUGH_REPLICAS = 19


IDEMPOTENT = {
    "java": {},
    "librdkafka": {"enable.idempotence": True},
    "aiokafka": {"enable_idempotence": True},
    "kafka-python": {"acks": "all"},
}


async def told_by(client, servers, topic, **more):
    options = ClientOptions(servers)
    async with CLIENTS[client](options, patient=True, **IDEMPOTENT[client], **more) as send:
        return Counter(await send(topic, [(None, b"%d" % n, Clock().now_ms()) for n in range(RECORDS)]))


def described(kafka, topic):
    """The topic's one partition."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    return admin.list_topics(topic, timeout=30).topics[topic].partitions[0]


def books_of(proxy, topic):
    """(verdict, error code, is_final) -> records."""
    sums = Counter()
    for line in proxy.decisions():
        if line["event"] == "counters" and line["topic"] == topic:
            sums[line["verdict"], line["error_code"], line["is_final"]] += line["records"]
    return sums


@pytest.mark.broker
@pytest.mark.timeout(600)  # each wait has its own bound, which says for what
async def test_what_is_sent_again_until_replicas_are_back_is_counted_once_and_given_up_records_never(
    three_brokers, topic
):
    kafka, gives_up = three_brokers, f"{topic}-gives-up"[-200:]
    topics = {name: f"{name}-{topic}"[:200] for name in CLIENTS}
    for each in (gives_up, *topics.values()):
        await kafka.create_topic(each, replication=3, config={"min.insync.replicas": "3"})
    await kafka.stop_node(3)
    async with RunningProxy(kafka.bootstrap_servers) as proxy:

        def is_short_everywhere():
            return all(len(described(kafka, each).isrs) == 2 for each in (gives_up, *topics.values()))

        await until(is_short_everywhere)
        sending = [
            asyncio.create_task(told_by(name, proxy.bootstrap_servers, topics[name])) for name in CLIENTS
        ]
        impatient = {"message.timeout.ms": 4_000}
        lost = await told_by("librdkafka", proxy.bootstrap_servers, gives_up, **impatient)

        def all_are_sent_again():
            rejected = {line["topic"] for line in proxy.decisions() if line.get("error_code") == 19}
            return rejected >= {gives_up, *topics.values()}

        await until(all_are_sent_again)
        await kafka.start_node(3)
        told = dict(zip(CLIENTS, await asyncio.gather(*sending), strict=True))

    for name, own in topics.items():
        books = books_of(proxy, own)
        assert told[name] == {True: RECORDS}
        assert (await kafka.end_offsets(own))[0] == RECORDS
        assert sum(books[key] for key in books if key[2]) == books["accepted", 0, True] == RECORDS, books
        assert books["broker_rejected", NOT_ENOUGH_REPLICAS, False] >= RECORDS
    books = books_of(proxy, gives_up)
    assert lost == {False: RECORDS}
    assert (await kafka.end_offsets(gives_up))[0] == 0
    assert set(books) == {("broker_rejected", NOT_ENOUGH_REPLICAS, False)}


@pytest.mark.broker
@pytest.mark.timeout(600)
async def test_while_a_leader_goes_what_is_not_accepted_in_the_books_is_unconfirmed_or_sent_again(
    three_brokers, topic
):
    """An idempotent producer, so that what it was told is stored is stored once."""
    kafka, told = three_brokers, Counter()
    await kafka.create_topic(topic, replication=3, config={"min.insync.replicas": "2"})
    async with RunningProxy(kafka.bootstrap_servers) as proxy:
        producer = Producer(
            {"bootstrap.servers": proxy.bootstrap_servers, "enable.idempotence": True, "linger.ms": 0}
        )
        is_over = asyncio.Event()

        def send_a_few():
            for _ in range(10):
                producer.produce(topic, b"x", on_delivery=lambda error, _: told.update([error is None]))
            producer.poll(0.01)

        async def keeps_sending():
            while not is_over.is_set():
                await asyncio.to_thread(send_a_few)

        sending = asyncio.create_task(keeps_sending())
        await until(lambda: told[True] > 100)
        first = (await asyncio.to_thread(described, kafka, topic)).leader
        await kafka.kill_node(first)
        before = told[True]
        await until(lambda: told[True] > before + 100)
        is_over.set()
        await sending
        assert await asyncio.to_thread(producer.flush, PATIENCE_S) == 0
        await kafka.start_node(first)
    books = books_of(proxy, topic)
    [stored] = (await kafka.end_offsets(topic)).values()
    accepted = books["accepted", 0, True]
    unconfirmed = sum(books[key] for key in books if key[0] == "unconfirmed")
    assert told == {True: stored}
    assert accepted <= stored <= accepted + unconfirmed
    assert not [key for key in books if key[2] and key[0] not in ("accepted", "unconfirmed")], books
