"""A topic's description becomes limits as each generation of brokers means it."""

import pytest

from tsproxy.cluster.topic_limits import as_kafka_4, topic_limits
from tsproxy.model.kafka import TimestampType
from tsproxy.model.verdict import TopicLimits

HOUR_MS = 3_600_000
LONG_MAX = "9223372036854775807"
BEFORE = "message.timestamp.before.max.ms"
AFTER = "message.timestamp.after.max.ms"
DIFFERENCE = "message.timestamp.difference.max.ms"

BOUNDS = {
    # 4.0 and later: difference is gone
    "4.x, defaults": ({BEFORE: LONG_MAX, AFTER: "3600000"}, None, 3_600_000),
    "4.x, both set": ({BEFORE: "1000", AFTER: "0"}, 1000, 0),
    # 3.6 to 3.9: each side falls back to difference where it is unlimited itself
    "3.9, defaults": ({BEFORE: LONG_MAX, AFTER: LONG_MAX, DIFFERENCE: LONG_MAX}, None, None),
    "3.9, difference alone": ({BEFORE: LONG_MAX, AFTER: LONG_MAX, DIFFERENCE: "7000"}, 7000, 7000),
    "3.9, before wins": ({BEFORE: "1", AFTER: LONG_MAX, DIFFERENCE: "7000"}, 1, 7000),
    "3.9, after wins": ({BEFORE: LONG_MAX, AFTER: "9", DIFFERENCE: "7000"}, 7000, 9),
    "3.9, unlimited cannot be said beside a difference": (
        {BEFORE: LONG_MAX, AFTER: "9", DIFFERENCE: "0"},
        0,
        9,
    ),
    # up to 3.5: difference is all there is
    "3.5, difference": ({DIFFERENCE: "7000"}, 7000, 7000),
    "3.5, defaults": ({DIFFERENCE: LONG_MAX}, None, None),
    "nothing said": ({}, None, None),
}


@pytest.mark.parametrize(("described", "before", "after"), BOUNDS.values(), ids=BOUNDS)
def test_bounds_are_merged_as_the_broker_merges_them(described, before, after):
    limits = topic_limits(described)

    assert (limits.before_max_ms, limits.after_max_ms) == (before, after)


ON_KAFKA_4 = {
    "nobody set anything": ({AFTER: LONG_MAX, BEFORE: LONG_MAX}, {AFTER, BEFORE}, None, HOUR_MS),
    "a topic's own limit stays": ({AFTER: "7000", BEFORE: LONG_MAX}, {BEFORE}, None, 7000),
    "also an unlimited one": ({AFTER: LONG_MAX, BEFORE: "9"}, set(), 9, None),
    "the difference is gone": ({AFTER: LONG_MAX, DIFFERENCE: "5"}, {AFTER}, None, HOUR_MS),
    "3.5 knows the difference alone": ({DIFFERENCE: "5"}, set(), None, HOUR_MS),
}


@pytest.mark.parametrize(("described", "defaults", "before", "after"), ON_KAFKA_4.values(), ids=ON_KAFKA_4)
def test_a_topic_on_kafka_4_keeps_what_was_set_and_gets_an_hour_where_nothing_was(
    described, defaults, before, after
):
    """KIP-1030; KAFKA-17997."""
    limits = topic_limits(as_kafka_4({**described, "max.message.bytes": "10"}, defaults))

    assert (limits.before_max_ms, limits.after_max_ms) == (before, after)
    assert limits.max_message_bytes == 10


READ = [
    ({}, TopicLimits()),
    ({"max.decompressed.message.bytes": "9"}, TopicLimits(max_decompressed_message_bytes=9)),
    ({"message.timestamp.type": "LogAppendTime"}, TopicLimits(TimestampType.LOG_APPEND_TIME)),
    ({"max.message.bytes": "10"}, TopicLimits(max_message_bytes=10)),
    ({"cleanup.policy": "delete"}, TopicLimits()),
    ({"cleanup.policy": ""}, TopicLimits()),
    ({"cleanup.policy": "compact"}, TopicLimits(is_compacted=True)),
    ({"cleanup.policy": "compact,delete"}, TopicLimits(is_compacted=True)),
    ({"cleanup.policy": "delete, compact"}, TopicLimits(is_compacted=True)),
]


@pytest.mark.parametrize(("described", "limits"), READ)
def test_each_setting_is_read_and_what_is_not_said_is_kafkas_default(described, limits):
    assert topic_limits(described) == limits


@pytest.mark.parametrize(
    "described",
    [{"message.timestamp.type": "Sometimes"}, {BEFORE: "soon"}, {"max.message.bytes": "large"}],
)
def test_what_kafka_does_not_document_is_rejected(described):
    with pytest.raises(ValueError, match=r".+"):
        topic_limits(described)
