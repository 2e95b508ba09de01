"""The limits of a topic whose brokers have different ones: pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsproxy.cluster.admin_connection import TopicAnswer
from tsproxy.cluster.limits_of_brokers import (
    Given,
    differences,
    examples,
    given_by,
    loosest,
    overrides_of,
    together,
)
from tsproxy.cluster.topic_limits import ANY_RECORD_SIZE, CONFIG_NAMES
from tsproxy.model.kafka import Codec, TimestampType
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.timestamps import is_out_of_range

BEFORE, AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
DIFFERENCE, SIZE = "message.timestamp.difference.max.ms", "max.message.bytes"
RECORD_SIZE = "max.decompressed.message.bytes"
TYPE, CLEANUP, CODEC = "message.timestamp.type", "cleanup.policy", "compression.type"
LONG_MAX = str(2**63 - 1)
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
NOW_MS = 1_800_000_000_000

OLD_VALUES = {
    TYPE: "CreateTime",
    BEFORE: LONG_MAX,
    AFTER: LONG_MAX,
    DIFFERENCE: LONG_MAX,
    SIZE: "1048588",
    CLEANUP: "delete",
    CODEC: "producer",
}
NEW_VALUES = {name: value for name, value in OLD_VALUES.items() if name != DIFFERENCE} | {AFTER: str(HOUR_MS)}


def gives(values, *, set_by_broker=()):
    names = frozenset(values)
    return Given(values, names - set(set_by_broker), names)


OLD, NEW = gives(OLD_VALUES), gives(NEW_VALUES)


def answer(topic, values, own=()):
    """A broker's description of a topic that sets `own`, with nothing set on the broker."""
    return TopicAnswer(
        topic, 0, {**values, **dict(own)}, frozenset(values) - set(dict(own)), frozenset(dict(own))
    )


limits = st.builds(
    TopicLimits,
    timestamp_type=st.sampled_from((TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)),
    before_max_ms=st.none() | st.integers(0, 10 * DAY_MS),
    after_max_ms=st.none() | st.integers(0, 10 * DAY_MS),
    max_message_bytes=st.integers(0, 2**31 - 1),
    is_compacted=st.booleans(),
    codec=st.none() | st.sampled_from(Codec),
    max_decompressed_message_bytes=st.none() | st.integers(1, 2**31 - 1),
)


@given(st.lists(limits, min_size=1, max_size=4), st.integers(-20 * DAY_MS, 20 * DAY_MS))
def test_the_loosest_rejects_nothing_that_any_of_them_takes(many, drift_ms):
    found = loosest(many)
    if is_out_of_range(NOW_MS + drift_ms, found, NOW_MS):
        assert all(is_out_of_range(NOW_MS + drift_ms, each, NOW_MS) for each in many)
    assert all(found.max_message_bytes >= each.max_message_bytes for each in many)
    most = found.max_decompressed_message_bytes
    assert most is None or all((each.max_decompressed_message_bytes or 0) >= 1 for each in many)
    assert most is None or most >= max(each.max_decompressed_message_bytes or 0 for each in many)
    assert not found.is_compacted or all(each.is_compacted for each in many)
    assert found.codec in (None, *(each.codec for each in many))


@given(limits, st.integers(1, 4))
def test_of_equals_the_loosest_is_the_same(each, count):
    assert loosest([each] * count) == each


def test_where_only_some_brokers_write_their_own_time_rules_of_an_operator_still_hold():
    """A topic that counts as LogAppendTime would be excepted from them, and other leaders store its times."""
    stamped = TopicLimits(timestamp_type=TimestampType.LOG_APPEND_TIME)
    found = loosest([stamped, TopicLimits(after_max_ms=HOUR_MS)])

    assert (found.timestamp_type, found.after_max_ms) == (TimestampType.CREATE_TIME, None)


STAMPED = TimestampType.LOG_APPEND_TIME
DAY = gives(NEW_VALUES | {AFTER: str(DAY_MS)}, set_by_broker=[AFTER])
MIXED = {1: OLD, 2: NEW}
STAMPING = gives(NEW_VALUES | {TYPE: "LogAppendTime"})
TOGETHER = {
    "a broker of 3.9 beside one of 4 lets any time pass": ((), OLD, MIXED, {"after_max_ms": None}),
    "what a topic sets itself holds at every broker": (
        ((AFTER, "7000"), (SIZE, "10")),
        NEW,
        MIXED,
        {"after_max_ms": 7000, "max_message_bytes": 10},
    ),
    # KAFKA-17997: 4.x does not know the difference.
    "a difference at 3.9": (((DIFFERENCE, "5000"),), OLD, {1: OLD}, {"before_max_ms": 5000}),
    "a difference at 4": (((DIFFERENCE, "5000"),), NEW, {1: NEW}, {"before_max_ms": None}),
    "a difference at both": (((DIFFERENCE, "5000"),), OLD, MIXED, {"after_max_ms": HOUR_MS}),
    "a broker that has not told leaves only what topics set themselves": (
        ((BEFORE, "5000"),),
        NEW,
        {1: NEW, 2: None},
        {"before_max_ms": 5000, "after_max_ms": None, "max_message_bytes": 2**31 - 1},
    ),
    # All that are known write their own time, so no rule of an operator's may reject one meanwhile.
    "it does not undo LogAppendTime": (
        ((TYPE, "LogAppendTime"),),
        NEW,
        {1: NEW, 2: None},
        {"timestamp_type": STAMPED},
    ),
    "a broker that stamps and has not told": ((), STAMPING, {1: None}, {"timestamp_type": STAMPED}),
    "what is told in our place stands in while no broker is known": ((), NEW, {}, {"after_max_ms": HOUR_MS}),
    "and no longer": ((), NEW, {1: OLD}, {"after_max_ms": None}),
}
"""Settings of a topic, of a broker told in our place, and by brokers, and the limits of all together."""


@pytest.mark.parametrize(("overrides", "ours", "by_node", "limits"), TOGETHER.values(), ids=TOGETHER)
def test_the_limits_of_a_topic_are_those_of_its_loosest_leader(overrides, ours, by_node, limits):
    merged = together(overrides, ours, by_node).limits

    assert {name: getattr(merged, name) for name in limits} == limits


def test_on_kafka_4_a_default_of_kafkas_is_replaced_and_what_a_broker_itself_has_set_is_not():
    """The preset kafka-4 is an operator's own rule: a leader of 3.9 would not reject in our place."""
    assert together((), OLD, MIXED).on_kafka_4.after_max_ms == HOUR_MS
    assert together(((BEFORE, "5000"),), NEW, {1: NEW, 2: None}).on_kafka_4.after_max_ms == HOUR_MS
    assert together((), DAY, {1: DAY}).on_kafka_4.after_max_ms == DAY_MS


def test_differences_are_told_where_brokers_differ_and_the_topic_sets_nothing():
    assert [*differences(together((), OLD, MIXED))] == [(AFTER, {1: "unlimited", 2: "1h"})]
    assert not list(differences(together(((AFTER, "7000"), (SIZE, "10")), NEW, MIXED)))


def test_brokers_before_4_4_do_not_limit_the_size_of_a_decompressed_record():
    """In the middle of an upgrade, the leader that does judges. The default is no difference worth a line."""
    newest = gives(NEW_VALUES | {RECORD_SIZE: str(ANY_RECORD_SIZE)})
    own = ((RECORD_SIZE, "100"),)

    assert together(own, newest, {1: newest}).limits.max_decompressed_message_bytes == 100
    assert together(own, newest, {1: newest, 2: NEW}).limits.max_decompressed_message_bytes is None
    assert together(own, newest, {1: newest, 2: None}).limits.max_decompressed_message_bytes is None
    assert not list(differences(together((), newest, {1: newest, 2: NEW})))
    ((_, by_node),) = differences(together(own, newest, {1: newest, 2: NEW}))
    assert by_node == {1: "100", 2: "unlimited"}


def test_an_answer_is_told_apart_into_what_the_topic_sets_and_what_its_broker_gives():
    described = answer("orders", NEW_VALUES, own={AFTER: "7000"})

    assert overrides_of(described) == ((AFTER, "7000"),)
    found = given_by([described])
    assert AFTER not in found.values
    assert AFTER in found.known
    assert DIFFERENCE not in found.known
    assert given_by([]) is None


def test_a_difference_that_an_upgraded_topic_still_has_is_not_known_to_brokers_of_4():
    """4.0 to 4.2 show it, without its value. In a roll from 3.9, good records for it were rejected."""
    upgraded = given_by([answer("orders", NEW_VALUES, own={DIFFERENCE: None})])
    assert DIFFERENCE not in upgraded.known
    assert together(((DIFFERENCE, "5000"),), OLD, {1: OLD, 2: upgraded}).limits.before_max_ms is None


owns = st.dictionaries(
    st.text("abc", min_size=1, max_size=3),
    st.dictionaries(st.sampled_from(CONFIG_NAMES), st.just("1")).map(lambda own: tuple(sorted(own.items()))),
)


@given(owns)
def test_few_topics_show_all_that_a_broker_gives_to_any(owns):
    chosen = examples(owns.items())
    shown = {name for topic in chosen for name in set(CONFIG_NAMES) - dict(owns[topic]).keys()}

    assert len(chosen) <= len(CONFIG_NAMES)
    for own in owns.values():
        assert set(CONFIG_NAMES) - dict(own).keys() <= shown


def test_a_broker_that_was_asked_about_other_topics_alone_has_not_told_what_it_gives_to_this_one():
    """Else a default of ours would hold as if the broker had told it, and reject what a leader takes."""
    larger = answer("a", NEW_VALUES, own={SIZE: "2000000"})
    asked_about_a = given_by([larger])
    narrow = gives(NEW_VALUES)
    found = together((), narrow, {1: narrow, 2: asked_about_a})

    assert found.limits.max_message_bytes > 100_000_000
    assert found.limits.after_max_ms is None
    assert together(overrides_of(larger), narrow, {2: asked_about_a}).limits.max_message_bytes == 2_000_000
