"""The other reading of times that KIP-228 weighed and rejected, for rules that ask for it.

A batch with attribute bit 6 set holds -1 as an ordinary time, the last millisecond of 1969, and
Long.MIN_VALUE where a record has none. Brokers know neither, and from 3.1 on use the bit for a cleaner's
deadline (KIP-534). So what they are given is their own reading: the bit cleared, -1 for no time; and a
record whose time really is -1 has no place in it.
"""

from dataclasses import replace

from tsproxy.model.kafka import LONG_MIN, NO_TIMESTAMP, TimestampType
from tsproxy.model.policy import Mode, TopicPolicy
from tsproxy.model.records import RecordBatch, RecordFacts, Records
from tsproxy.model.verdict import TopicLimits


def is_meant(batch: RecordBatch, policy: TopicPolicy) -> bool:
    """True for a batch that its rule has read so. Where nothing is written anew (audit, waivers) none is:
    it would go on with its bit."""
    is_asked = policy.extended_timestamps and policy.mode is Mode.ENFORCE
    return is_asked and batch.magic == 2 and batch.has_delete_horizon


def meant(records: Records, limits: TopicLimits | None) -> Records:
    """The same records with -1 for none; `real_minus_ones` are those whose time it really is, unless the
    broker writes its own time over it."""
    came_ms = records.timestamps_ms
    times_ms = [NO_TIMESTAMP if time_ms == LONG_MIN else time_ms for time_ms in came_ms]
    if limits is not None and limits.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return replace(records, timestamps_ms=times_ms)
    real = frozenset(index for index, time_ms in enumerate(came_ms) if time_ms == NO_TIMESTAMP)
    return replace(records, timestamps_ms=times_ms, real_minus_ones=real)


def facts_of(records: Records) -> RecordFacts:
    """What records come to; among their times a real -1 is one as any other."""
    real = records.real_minus_ones
    times_ms = [t for i, t in enumerate(records.timestamps_ms) if t != NO_TIMESTAMP or i in real]
    missing = len(records.timestamps_ms) - len(times_ms)
    lowest_ms, highest_ms = min(times_ms, default=None), max(times_ms, default=None)
    return RecordFacts(len(records.timestamps_ms), lowest_ms, highest_ms, missing, records.fault)


def text(offset: int) -> str:
    """What the producer of a real -1 is told; the advice is the KIP's own."""
    return (
        f"Timestamp -1 of message with offset {offset} is 1969-12-31T23:59:59.999Z and cannot be stored: "
        "Kafka takes -1 for no timestamp. Consider shifting it by one millisecond (KIP-228)"
    )
