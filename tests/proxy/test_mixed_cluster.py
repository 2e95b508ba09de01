"""Brokers that do not give topics the same limits: each leader goes by its own, and nobody is rejected here
what the leader would take."""

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from tests.offline.commands import tsproxy
from tests.proxy.running import limits_are_known
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

HOUR_MS = 3_600_000
OLD, NEW = 1, 2

pytestmark = pytest.mark.broker


async def answers(producer, topic, ahead_ms):
    """By partition: True where a record so far ahead was taken, False where it was rejected for its time."""
    found = {}
    for partition in sorted(await producer.partitions_for(topic)):
        try:
            now_ms = Clock().now_ms()
            await producer.send_and_wait(topic, b"x", partition=partition, timestamp_ms=now_ms + ahead_ms)
            found[partition] = True
        except InvalidTimestampError:
            found[partition] = False
    return found


def after_limits(proxy):
    """The limit for times ahead, each time that the proxy has noted a topic's limits."""
    return [line.get("after_max_ms") for line in proxy.decisions() if line.get("kind") == "limits"]


async def test_in_a_roll_from_3_9_to_4_each_record_ends_as_its_leader_would_have_it(topic, capsys):
    """Kafka 3.9 takes any time by default, 4.x one hour ahead (KIP-1030)."""
    async with KafkaCluster(nodes=[OLD, NEW], versions={OLD: "3.9.1"}) as kafka:
        await kafka.create_topic(topic, partitions=2)
        node = kafka.node(NEW)
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
            directly = await answers(producer, topic, 2 * HOUR_MS)
        assert sorted(directly.values()) == [False, True]
        async with (
            RunningProxy(f"{node.host}:{node.port}") as proxy,
            AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
        ):
            while not limits_are_known(proxy, topic):
                assert set((await answers(producer, topic, 0)).values()) == {True}

            assert await answers(producer, topic, 2 * HOUR_MS) == directly

        upstream = ("--upstream", f"{node.host}:{node.port}")
        scanned = await tsproxy(capsys, "scan", *upstream, "--topics", topic, "--ahead", "90m", "--json")
        [old_ones] = [partition for partition, is_taken in directly.items() if is_taken]
        found = [(each["partition"], each["is_still_taken"]) for each in scanned.json["findings"]]
        assert found == [(old_ones, True)], "the leader's limits count, not those of the broker that is asked"


@pytest.mark.full_only("a cluster of its own; test_broker_links.py forgets what the broker gave")
async def test_a_broker_that_comes_back_with_other_limits_is_judged_by_none_of_its_old_ones(topic):
    """Its connection ends, and it is asked anew; until it has answered, what it gives is not known."""
    async with KafkaCluster(
        nodes=[1, 2], node_properties={1: {"log.message.timestamp.after.max.ms": "7200000"}}
    ) as kafka:
        await kafka.create_topic(topic, partitions=2)
        async with (
            RunningProxy(kafka.bootstrap_servers, settings={"upstream.admin.refresh": "1h"}) as proxy,
            AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
        ):
            while not limits_are_known(proxy, topic):
                assert set((await answers(producer, topic, 0)).values()) == {True}
            before = await answers(producer, topic, 3 * HOUR_MS)
            assert set(before.values()) == {False}
            # Unlimited until both have told, then the wider of the two.
            await until(lambda: after_limits(proxy)[-1] == 2 * HOUR_MS)
            assert set(after_limits(proxy)) <= {None, 2 * HOUR_MS}

            await kafka.stop_node(2)
            with kafka.node(2).properties_path.open("a") as file:
                file.write("log.message.timestamp.after.max.ms=86400000\n")
            await kafka.start_node(2)
            after = await answers(producer, topic, 3 * HOUR_MS)
            assert sorted(after.values()) == [False, True]

            async def are_rejected():
                return set((await answers(producer, topic, 25 * HOUR_MS)).values()) == {False}

            await until(are_rejected)
