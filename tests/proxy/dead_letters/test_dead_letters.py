"""Copies of rejected records in a topic of a real broker: what they hold, and what is lost and said to be."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from rigs.differential.message_sets import Message, write_messages
from tests.attacks.attacker import answer_to, port_of
from tests.kit.topics import records_of, values_of
from tests.proxy.running import page, until_page
from tests.proxy.world import until
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.testing.proxy import RunningProxy

DAY_MS = 86_400_000
LIMITED = {"message.timestamp.before.max.ms": str(DAY_MS), "message.timestamp.after.max.ms": "3600000"}
FROM_CONFIG = {"policy.limits_from": "config"}
"""So that the proxy rejects from the first record on, and need not ask for the topic's limits before."""


def proxy_of(kafka, dead, *, decisions=None, **settings):
    return RunningProxy(
        kafka.bootstrap_servers,
        decisions=decisions,
        settings=FROM_CONFIG | {"policy.defaults.dead_letters": "yes", "dead_letters.topic": dead} | settings,
    )


@asynccontextmanager
async def producer_of(proxy, **options):
    async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, client_id="till", **options) as it:
        yield it


async def rejected(producer, topic, values, *, ahead_ms=2 * DAY_MS, partition=0):
    """One batch, of which every value has a bad time but the first."""
    now_ms = Clock().now_ms()
    made = producer.create_batch()
    for index, value in enumerate(values):
        time_ms = now_ms + (ahead_ms + index if index else 0)
        assert made.append(timestamp=time_ms, key=b"k%d" % index, value=value, headers=[("from", b"client")])
    with pytest.raises(InvalidTimestampError):
        await (await producer.send_batch(made, topic, partition=partition))


CODECS = (None, "gzip", "snappy", "lz4", "zstd")
FEWER = 2
"""The partitions of the dead letter topic."""


async def test_the_records_at_fault_are_copied_in_any_codec_and_the_good_one_is_not(kafka_440, topic):
    """One codec a partition. Told to stop at once: what waits then is sent as well."""
    dead = f"{topic}.dead"
    for name, partitions in ((topic, len(CODECS)), (dead, FEWER)):
        await kafka_440.create_topic(name, partitions=partitions, config=LIMITED)
    before_ms = Clock().now_ms()
    values = [b"good", b"bad", None, b"worse" * 100]
    async with proxy_of(kafka_440, dead) as proxy:
        for partition, codec in enumerate(CODECS):
            async with producer_of(proxy, compression_type=codec) as producer:
                await rejected(producer, topic, values, partition=partition)
    found = await records_of(kafka_440, dead)

    assert {line["topic"] for line in proxy.decisions() if line["event"] == "counters"} == {topic}
    for partition in range(len(CODECS)):
        came_to = ("tsproxy-original-partition", b"%d" % partition)
        sent = [each for each in found if came_to in each.headers]
        assert {each.partition for each in sent} == {partition % FEWER}
        copies = [(each.key, each.value) for each in sent]
        assert copies == [(b"k1", b"bad"), (b"k2", None), (b"k3", b"worse" * 100)]
        for each in sent:
            assert before_ms <= each.timestamp <= Clock().now_ms()
            (name, value), *ours = each.headers
            assert (name, value) == ("from", b"client")
            told = {name: text.decode() for name, text in ours}
            assert told.pop("tsproxy-error").startswith("Timestamp ")
            assert int(told.pop("tsproxy-original-timestamp")) >= before_ms + 2 * DAY_MS
            assert told == {
                "tsproxy-original-topic": topic,
                "tsproxy-original-partition": str(partition),
                "tsproxy-arrival-timestamp": str(each.timestamp),
                "tsproxy-reason": "too_far_ahead",
                "tsproxy-rule": "topic-limits",
                "tsproxy-client-id": "till",
            }


async def with_letters(kafka, topic, config=LIMITED, partitions=1):
    """The topic is there, and so is the one of its dead letters, whose name is returned."""
    dead = f"{topic}.dead"
    await kafka.create_topic(topic, config=LIMITED)
    await kafka.create_topic(dead, config=config, partitions=partitions)
    return dead


def twin(dead):
    """A topic of this name keeps brokers from making `dead`: metrics could not tell them apart."""
    return dead.replace(".", "_")


async def test_a_topic_that_is_not_there_delays_nobody_and_what_waits_is_bounded(kafka_440, topic):
    """Its letters come when it does; those for which there was no room are counted and told of."""
    dead = f"{topic}.dead"
    await kafka_440.create_topic(topic, config=LIMITED)
    await kafka_440.create_topic(twin(dead))
    async with proxy_of(kafka_440, dead, **{"dead_letters.max_records": "3"}) as proxy:
        async with producer_of(proxy) as producer:
            await rejected(producer, topic, [b"", b"1", b"2"])
            await rejected(producer, topic, [b"", b"3", b"4"])  # 2 and 2 are more than 3
            await rejected(producer, topic, [b"", b"5"])
            await producer.send_and_wait(topic, b"good")
        await until_page(proxy, "/metrics", 200, 'tsproxy_dead_letters_lost_total{reason="queue_full"} 2.0')
        await until_page(proxy, "/metrics", 200, "tsproxy_dead_letters_waiting 3.0")
        await until(lambda: "dead_letters_failed" in [line["event"] for line in proxy.log])
        told = f"warning: dead letters cannot be sent to the topic {dead}: "
        await until_page(proxy, "/readyz?verbose", 200, told)
        await kafka_440.delete_topic(twin(dead))
        await until_page(proxy, "/metrics", 200, "tsproxy_dead_letters_total 3.0")
        await until_page(proxy, "/metrics", 200, "tsproxy_dead_letters_up 1.0")
        status, verbose = await page(proxy.admin_address, "/readyz?verbose")
        assert status == 200
        assert "dead letters" not in verbose
    [lost] = [line for line in proxy.log if line["event"] == "dead_letters_lost"]
    assert lost["records"] == {"queue_full": 2}
    assert await values_of(kafka_440, dead) == [b"1", b"2", b"5"]


async def test_a_letter_too_large_for_the_topic_is_lost_alone(kafka_440, topic):
    dead = await with_letters(kafka_440, topic, {"max.message.bytes": "2000"})
    async with proxy_of(kafka_440, dead) as proxy:
        async with producer_of(proxy) as producer:
            await rejected(producer, topic, [b"", *[b"%d" % n for n in range(10)], b"x" * 3000, b"last"])
        await until_page(proxy, "/metrics", 200, 'tsproxy_dead_letters_lost_total{reason="too_large"} 1.0')
    values = await values_of(kafka_440, dead)
    assert values == [*[b"%d" % n for n in range(10)], b"last"]


async def test_records_that_cannot_be_copied_are_counted_by_their_reason(kafka_391, topic):
    """Messages of magic 1, and culprits beyond those that a rejection lists."""
    dead, ahead_ms = await with_letters(kafka_391, topic), Clock().now_ms() + 2 * DAY_MS
    old = write_messages([Message(1, ahead_ms, b"k", b"v")])
    settings = {"limits.culprits_listed": "2", "policy.defaults.message.timestamp.after.max.ms": "1h"}
    async with proxy_of(kafka_391, dead, **settings) as proxy:
        for version, records in ((2, old), (8, batch([ahead_ms] * 5))):
            assert await answer_to(port_of(proxy), produce({topic: {0: records}}, version=version))
        await until_page(proxy, "/metrics", 200, 'tsproxy_dead_letters_lost_total{reason="unreadable"} 1.0')
        await until_page(proxy, "/metrics", 200, 'tsproxy_dead_letters_lost_total{reason="not_listed"} 3.0')
        await until_page(proxy, "/metrics", 200, "tsproxy_dead_letters_total 2.0")
    assert len(await values_of(kafka_391, dead)) == 2


async def test_large_batches_are_copied_whole_while_their_client_goes_on(kafka_440, topic):
    """Many chunks; decompressed beside the loop, as it was judged."""
    dead = await with_letters(kafka_440, topic)
    options = {"compression_type": "gzip", "max_batch_size": 1 << 20, "max_request_size": 1 << 20}
    values = [b"%05d" % n + bytes(400) for n in range(2_000)]
    async with proxy_of(kafka_440, dead) as proxy:
        async with producer_of(proxy, **options) as producer:
            await rejected(producer, topic, [b"", *values])
            async with asyncio.timeout(20):
                await producer.send_and_wait(topic, b"good")
        await until_page(proxy, "/metrics", 200, "tsproxy_dead_letters_total 2000.0")
    assert await values_of(kafka_440, dead) == values
