"""`__consumer_offsets` before real brokers: what they answer to everybody, the proxy answers to anybody."""

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from rigs.differential.lines import Direct, Proxied, now_ms
from rigs.differential.requests import NO_IDS, metadata_frame, produce_frame, read_answers, read_ids
from rigs.differential.stored import stored_batches
from tests.full_only import BOTH_BROKERS
from tests.verdicts.rows import KNOWN, legacy, v2
from tsproxy.model.view import View
from tsproxy.testing.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.broker, pytest.mark.parametrize("kafka", BOTH_BROKERS, indirect=True)]

OFFSETS = "__consumer_offsets"
ADMIN = b"__admin_client"
VERSIONS = {"3": (0, 11), "4": (3, 13)}
"""The oldest and the newest version of Produce, by the first digit of the broker's version."""


async def committed(kafka: KafkaCluster, topic: str) -> None:
    """Some group commits: then `__consumer_offsets` exists."""
    async with AIOKafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers, group_id=topic, enable_auto_commit=False
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        await consumer.commit({TopicPartition(topic, 0): 0})


def as_admin(frame: bytes) -> bytes:
    """The request by the client id for which brokers make an exception."""
    assert frame[12:18] == b"\x00\x04test"
    renamed = frame[4:12] + len(ADMIN).to_bytes(2, "big") + ADMIN + frame[18:]
    return len(renamed).to_bytes(4, "big") + renamed


def has_stored(line: Direct, partition: int, at_ms: int) -> bool:
    """Whether a batch of the partition has this time, as eight bytes of its header."""
    found = stored_batches(line, OFFSETS, partition, False)
    return any(at_ms.to_bytes(8, "big") in each.comparable for each in found)


async def test_anybody_gets_what_a_broker_answers_to_everybody(kafka: KafkaCluster, topic: str):
    await kafka.create_topic(topic)
    await committed(kafka, topic)
    node = kafka.node(kafka.node_ids[0])
    address, ahead_ms = (node.host, node.port), now_ms() + 40 * 60_000
    direct = Direct(address)
    (known,) = direct.ask([metadata_frame([topic, OFFSETS])])
    ids = read_ids(known)
    view = View(topics={topic: KNOWN}, topic_names={each: name for name, each in ids.items()})
    proxied = Proxied(address, view)
    oldest, newest_version = VERSIONS[kafka.version[0]]
    for version in range(oldest, newest_version + 1):
        records = v2(0) if version >= 3 else legacy(version // 2, 0)
        sent = [(OFFSETS, 0, records(ahead_ms)), (topic, 0, records(now_ms()))]
        named = ids if version >= 13 else NO_IDS
        frame = produce_frame(version, -1, sent, ids=named)
        straight, through = (
            read_answers(version, payload, named)
            for payload in (*direct.ask([frame]), *proxied.ask([as_admin(frame)]))
        )
        assert straight[OFFSETS, 0] == through[OFFSETS, 0], version
        assert [each[topic, 0].error_code for each in (straight, through)] == [0, 0], version
    assert not has_stored(direct, 0, ahead_ms)
    for line in (direct, proxied):
        line.close()
