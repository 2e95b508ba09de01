"""The other reading of timestamps that KIP-228 discussed and rejected, for rules that enable it.

In a batch with attribute bit 6, -1 is an ordinary timestamp, the last millisecond of 1969, and Long.MIN_VALUE
is no timestamp. Brokers do not know this reading, and from 3.1 on they use the bit for a deadline of the
cleaner (KIP-534). So the proxy forwards such a batch in the form that brokers read: without the bit, and with
-1 for no timestamp. A record whose timestamp is really -1 cannot be stored, and is rejected.
"""

from dataclasses import replace

from tsproxy.model.kafka import LONG_MIN, NO_TIMESTAMP, TimestampType
from tsproxy.model.policy import Mode, TopicPolicy
from tsproxy.model.records import RecordBatch, RecordFacts, Records
from tsproxy.model.verdict import TopicLimits


def is_kip_228(batch: RecordBatch, policy: TopicPolicy) -> bool:
    """True for a batch that its rule reads in this way. In audit mode or under a waiver, no batch is read in
    this way, because no batch is rewritten then and the bit would be forwarded."""
    is_enabled = policy.extended_timestamps is True and policy.mode is Mode.ENFORCE
    return is_enabled and batch.magic == 2 and batch.has_delete_horizon


def as_kip_228(records: Records, limits: TopicLimits | None) -> Records:
    """The same records, but with -1 for no timestamp. Unless the broker replaces timestamps with its own,
    `real_minus_ones` are the records whose timestamp is really -1."""
    came_ms = records.timestamps_ms
    times_ms = [NO_TIMESTAMP if time_ms == LONG_MIN else time_ms for time_ms in came_ms]
    if limits is not None and limits.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return replace(records, timestamps_ms=times_ms)
    real = frozenset(index for index, time_ms in enumerate(came_ms) if time_ms == NO_TIMESTAMP)
    return replace(records, timestamps_ms=times_ms, real_minus_ones=real)


def facts_of(records: Records) -> RecordFacts:
    """The facts of the records. A real -1 counts as a timestamp."""
    real = records.real_minus_ones
    times_ms = [t for i, t in enumerate(records.timestamps_ms) if t != NO_TIMESTAMP or i in real]
    missing = len(records.timestamps_ms) - len(times_ms)
    lowest_ms, highest_ms = min(times_ms, default=None), max(times_ms, default=None)
    return RecordFacts(
        len(records.timestamps_ms), lowest_ms, highest_ms, missing=missing, fault=records.fault
    )


def text(offset: int) -> str:
    """The error text for a real -1. The advice comes from the KIP."""
    return (
        f"Timestamp -1 of message with offset {offset} is 1969-12-31T23:59:59.999Z and cannot be stored: "
        "Kafka takes -1 for no timestamp. Consider shifting it by one millisecond (KIP-228)"
    )
