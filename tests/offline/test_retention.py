"""The newest timestamp decides retention, by the rules of the broker's log; brokers do so."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tsproxy.offline.scan.retention import Kind, Retention, hazard
from tsproxy.testing.kafka_cluster import KafkaCluster

NOW_MS = 1_795_269_600_000
DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
MINUTE_MS = 60_000
LONG_MAX = 2**63 - 1

DEFAULTS = {"cleanup.policy": "delete", "retention.ms": str(WEEK_MS), "retention.bytes": "-1"}


def judged(newest_ms, **settings):
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return hazard(newest_ms, Retention.of(DEFAULTS | named), NOW_MS, MINUTE_MS)


def test_the_future_begins_one_ms_after_what_clocks_may_differ_by():
    assert judged(NOW_MS + MINUTE_MS) is None
    assert judged(NOW_MS + MINUTE_MS + 1).kind is Kind.AHEAD


def test_what_is_expired_begins_one_ms_before_retention():
    assert judged(NOW_MS - WEEK_MS) is None
    assert judged(NOW_MS - WEEK_MS - 1).kind is Kind.EXPIRED


def test_a_segment_is_pinned_until_its_newest_timestamp_plus_retention():
    found = judged(NOW_MS + DAY_MS)

    assert found.kept_until_ms == NOW_MS + DAY_MS + WEEK_MS
    assert "its segment and all after it are kept until 2026-11-29 14:00:00 UTC" in found.meaning


MEANINGS = {
    "nanoseconds": ({}, NOW_MS * 1_000_000, "kept until the year 56,891,", True),
    "the end of time": ({}, LONG_MAX, "kept until the year 292,2", True),
    "bounded by size as well": ({"retention_bytes": "1000000"}, None, "retention.bytes (1,000,000)", True),
    "never deleted by time": ({"retention_ms": "-1"}, None, "retention.ms is unlimited", False),
    "neither deleted nor compacted": ({"cleanup_policy": ""}, None, "cleanup.policy is empty", False),
    "compacted": ({"cleanup_policy": "compact"}, None, "cleanup.policy is compact", False),
    "compacted after a lag": (
        {"cleanup_policy": "compact", "min_compaction_lag_ms": "1000"},
        None,
        "not compacted before 2026-11-22 14:00:01 UTC (min.compaction.lag.ms)",
        False,
    ),
    "compacted and deleted": ({"cleanup_policy": "compact, delete"}, None, "kept until 2026-11-29", True),
}


@pytest.mark.parametrize(("settings", "newest_ms", "words", "is_pinned"), MEANINGS.values(), ids=MEANINGS)
def test_the_meaning_follows_from_the_topics_own_rules(settings, newest_ms, words, is_pinned):
    found = judged(NOW_MS + DAY_MS if newest_ms is None else newest_ms, **settings)

    assert words in found.meaning
    assert (found.kept_until_ms is not None) == is_pinned


NOT_BY_TIME = ({"retention_ms": "-1"}, {"cleanup_policy": "compact"}, {"cleanup_policy": ""})


@pytest.mark.parametrize("settings", NOT_BY_TIME)
def test_nothing_expires_where_nothing_is_deleted_by_time(settings):
    assert judged(0, **settings) is None


@pytest.mark.parametrize("newest_ms", [-1, -5, -(2**63)])
def test_negative_times_do_not_expire_since_brokers_take_the_files_age_instead(newest_ms):
    """`LogSegment.largestTimestamp`: below zero the file's last change counts."""
    assert judged(newest_ms) is None


def test_what_may_not_be_read_is_said_to_be_unknown():
    assert "may not be read" in hazard(NOW_MS + DAY_MS, None, NOW_MS, MINUTE_MS).meaning
    assert hazard(0, None, NOW_MS, MINUTE_MS) is None


@pytest.mark.full_only("starts a broker and asks it alone; the sentences are asked of the code above")
async def test_a_broker_deletes_what_is_expired_and_keeps_all_that_follows_a_record_from_the_future(topic):
    """The two sentences that a scan prints, as a broker acts on them."""
    properties = {"log.retention.check.interval.ms": "100", "log.initial.task.delay.ms": "0"}
    config = {"message.timestamp.after.max.ms": str(LONG_MAX), "segment.bytes": str(1 << 20)}
    old_ms, far_ms = 1_500_000_000_000, 9_000_000_000_000
    expired, pinned = TopicPartition(topic, 0), TopicPartition(topic, 1)
    async with KafkaCluster(properties=properties) as kafka:
        await kafka.create_topic(topic, partitions=2, config=config)
        options = {"bootstrap_servers": kafka.bootstrap_servers}
        async with AIOKafkaProducer(**options) as producer, AIOKafkaConsumer(**options) as consumer:

            async def send(partition, timestamps):
                for timestamp_ms in timestamps:  # two of them do not fit into one segment
                    await producer.send_and_wait(
                        topic, bytes(600_000), partition=partition.partition, timestamp_ms=timestamp_ms
                    )

            async def is_gone():
                end = await consumer.end_offsets([expired])
                while await consumer.beginning_offsets([expired]) != end:  # noqa: ASYNC110  # a broker's fact
                    await asyncio.sleep(0.05)

            await send(pinned, [far_ms, old_ms, old_ms])
            await send(expired, [old_ms, old_ms])
            await is_gone()
            await send(expired, [old_ms])
            await is_gone()  # the second time: since the first, every partition was looked at
            kept = await consumer.beginning_offsets([pinned])

    assert kept == {pinned: 0}
