"""The new timestamps of a batch whose rule repairs mistakes: `repair_of`. Pure.

A timestamp in another unit is converted if the result lies within a year of the clock and is in range. With
`stamp`, the proxy's clock replaces a bad timestamp. If one culprit cannot be repaired, the whole batch is
rejected, as without a repair.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from tsproxy.model.kafka import NO_TIMESTAMP, ErrorCode, TimestampType
from tsproxy.model.policy import REPAIRING, Choice, Mode, OnViolation
from tsproxy.model.records import RecordFacts
from tsproxy.model.verdict import Reject, Verdict
from tsproxy.policy import special_timestamps, timestamps
from tsproxy.policy.checks.request import is_read_whole
from tsproxy.policy.context import BatchContext
from tsproxy.policy.units import likely_ms


@dataclass(frozen=True, slots=True)
class Repair:
    """The timestamp of each record in ms as it was received (`original_ms`), and as it is forwarded
    (`times_ms`). `changed` are the positions of the records for which the two differ."""

    times_ms: Sequence[int]
    original_ms: Sequence[int]
    changed: Sequence[int]


def repair_of(context: BatchContext, verdict: Verdict) -> Repair | None:
    """The repair with which the batch is rewritten after this verdict. None if the verdict stands, and the
    batch is forwarded, or rejected, as it came."""
    if not is_wanted(context, verdict):
        return None
    repair = repaired_times(context)
    if repair is None or not (repair.changed or context.policy.keep_both_times or context.is_extended):
        return None
    return repair


def is_wanted(context: BatchContext, verdict: Verdict) -> bool:
    """True if the batch may have to be rewritten. This is decided before any record is read: an acceptable
    batch with nothing to stamp or add stays as it is."""
    policy = context.policy
    if policy.mode is not Mode.ENFORCE or not context.record_set.batches:
        return False
    if isinstance(verdict, Reject):
        return verdict.error_code == ErrorCode.INVALID_TIMESTAMP and policy.on_violation in REPAIRING
    if context.is_extended:
        return True
    lacks_times = context.facts is None or bool(context.facts.missing)
    return bool(policy.keep_both_times) or (policy.no_timestamp is Choice.STAMP and lacks_times)


def may_need_stamps(context: BatchContext) -> bool:
    """True if the rule stamps records without a timestamp, and the batches may have some: they do, or not all
    were read."""
    if context.policy.mode is not Mode.ENFORCE or context.policy.no_timestamp is not Choice.STAMP:
        return False
    if not is_read_whole(context) or _may_lack_times(context.facts):
        return True
    return any(map(_may_lack_times, context.others.facts()))


def _may_lack_times(facts: RecordFacts | None) -> bool:
    """True as well for messages that were counted, but not read."""
    return facts is None or facts.fault is not None or bool(facts.missing) or facts.lowest_ms is None


def repaired_times(context: BatchContext) -> Repair | None:
    """The repair; None if the batch cannot be repaired. `changed` is empty if no repair is needed.

    Only batches of magic 2 with a valid CRC and without bit 3 (LogAppendTime) are repaired.
    """
    batch = context.batch
    if batch.magic != 2 or batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return None
    # To read the records is charged by their number, and only the facts prove what the header states.
    if not context.is_readable or not context.reader.crc_is_valid():
        return None
    records = context.reader.read_records()
    if records.fault is not None:
        return None
    times_ms, changed = array("q"), array("i")
    for index, time_ms in enumerate(records.timestamps_ms):
        is_real = index in records.real_minus_ones  # a real timestamp of -1, which cannot be stored
        right_ms = _instead(time_ms, context) if is_real else _right(time_ms, context)
        if right_ms is None:
            return None
        times_ms.append(right_ms)
        if right_ms != time_ms:
            changed.append(index)
    return Repair(times_ms, records.timestamps_ms, changed)


def _right(time_ms: int, context: BatchContext) -> int | None:
    policy = context.policy
    if time_ms == NO_TIMESTAMP and policy.no_timestamp is Choice.STAMP:
        return context.now_ms
    return _instead(time_ms, context) if _is_bad(time_ms, context) else time_ms


def _instead(time_ms: int, context: BatchContext) -> int | None:
    """The timestamp that replaces a bad one; None if the bad one cannot be repaired."""
    policy = context.policy
    if policy.on_violation is OnViolation.STAMP:
        return context.now_ms
    if policy.on_violation is OnViolation.REPAIR:
        right_ms = likely_ms(time_ms, context.now_ms)
        if right_ms is not None and not _is_bad(right_ms, context):
            return right_ms
    return None


def _is_bad(time_ms: int, context: BatchContext) -> bool:
    limits = context.limits
    if limits is not None and timestamps.is_out_of_range(time_ms, limits, context.now_ms):
        return True
    return special_timestamps.rejected(time_ms, context.policy) is not None
