"""The verdict on messages of magic 0 and 1, which are read one by one to find the culprits."""

from dataclasses import replace

import pytest

from rigs.differential.message_sets import Message, wrapper, write_message, write_messages
from tests.policy.verdicts import HOUR_MS, LIMITS, NOW_MS, judged_by, verdict
from tests.wire.batches import batch
from tsproxy.model.kafka import LONG_MIN, Codec, ErrorCode, TimestampType
from tsproxy.model.policy import Policy, RuleSettings, TimeLimit
from tsproxy.model.verdict import Accept, Reason, TopicLimits
from tsproxy.model.view import View

AHEAD_MS = NOW_MS + 2 * HOUR_MS
GOOD_MS = NOW_MS - 5
COMPACTED = replace(LIMITS, is_compacted=True)


def test_the_first_culprit_gives_the_reason_where_no_time_is_at_fault():
    inner = Message(0), Message(1, AHEAD_MS, key=None, offset=1)
    found = verdict(write_message(wrapper(inner, Codec.GZIP)), COMPACTED, version=2)
    assert [each.reason for each in found.violations] == [Reason.INVALID_MAGIC, Reason.NO_KEY]
    assert (found.error_code, found.reason) == (ErrorCode.INVALID_RECORD, Reason.INVALID_MAGIC)


@pytest.mark.parametrize("listed", [1, 2, 3, 4, 5])
def test_a_bad_time_behind_the_culprits_that_are_listed_still_makes_it_a_bad_time(listed):
    inner = [Message(1, AHEAD_MS, key=key, offset=at) for at, key in enumerate([None, None, b"k", b"k"])]
    found = verdict(
        write_message(wrapper(tuple(inner), Codec.GZIP)), COMPACTED, version=2, culprits_listed=listed
    )
    assert (found.error_code, found.reason) == (ErrorCode.INVALID_TIMESTAMP, Reason.TOO_FAR_AHEAD)
    assert [each.batch_index for each in found.violations] == [0, 1, 2, 3][:listed]
    assert found.bad_records == 4


def test_a_log_append_time_topic_takes_any_time_beside_a_message_that_is_rejected():
    """Here Kafka's arithmetic wraps, and only the second message claims log-append time."""
    limited = replace(LIMITS, timestamp_type=TimestampType.LOG_APPEND_TIME, codec=Codec.GZIP)
    messages = Message(1, LONG_MIN + 5), Message(1, GOOD_MS, attributes=0x08, offset=1)
    found = verdict(write_messages(messages), limited, version=2)
    assert [each.timestamp_ms for each in found.violations] == [GOOD_MS]


BARE = write_message(Message(1, AHEAD_MS))
WRAPPED = write_message(
    wrapper((Message(1, GOOD_MS), Message(1, AHEAD_MS, offset=1), Message(1, AHEAD_MS, offset=2)), Codec.GZIP)
)


@pytest.mark.parametrize(("data", "bad"), [(BARE, [0]), (WRAPPED, [1, 2])], ids=["bare", "wrapped"])
def test_the_candidate_counts_messages(data, bad):
    policy = Policy(candidate=RuleSettings(after=TimeLimit(HOUR_MS)))
    view = View(topics={"t": TopicLimits()}, policy=policy)
    (found,) = judged_by(view, data, version=2)
    assert isinstance(found.verdict, Accept)
    assert [each.batch_index for each in found.would.violations] == bad
    assert found.would.bad_records == len(bad)


def test_two_batches_of_magic_2_are_rejected_even_where_messages_may_be_many():
    """`LogValidator.getFirstBatchAndMaybeValidateNoMoreBatches`; from v3 on, another check comes first."""
    found = verdict(batch([AHEAD_MS]) + batch([GOOD_MS]), version=2)
    assert found.error_code == ErrorCode.INVALID_RECORD
    assert found.detail == "Compressed outer record has more than one batch"


def test_an_empty_key_is_a_key():
    inner = Message(1, GOOD_MS, key=b""), Message(1, AHEAD_MS, key=None, offset=1)
    found = verdict(write_message(wrapper(inner, Codec.GZIP)), COMPACTED, version=2)
    assert [each.batch_index for each in found.violations] == [1]
