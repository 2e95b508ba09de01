"""Which times a batch gets where a rule says that mistakes are put right: `repaired_times`. Pure.

A unit mistake is converted by the one reading that lands within a year of the clock, and only where the
result is itself in range. With `stamp` a time at fault becomes the proxy's clock instead. A batch in which
one record at fault cannot be put right is rejected as a whole, as it would have been without a repair.
"""

from dataclasses import dataclass

from tsproxy.model.kafka import NO_TIMESTAMP, TimestampType
from tsproxy.model.policy import Choice, OnViolation
from tsproxy.policy import own_values, timestamps
from tsproxy.policy.case import Case
from tsproxy.policy.units import meant_ms


@dataclass(frozen=True, slots=True)
class Repair:
    """Each record's time in ms as it came, and as it goes on; `changed` are the positions that differ."""

    times_ms: tuple[int, ...]
    original_ms: tuple[int, ...]
    changed: tuple[int, ...]


def repaired_times(case: Case) -> Repair | None:
    """None where the batch cannot be put right. `changed` is empty where nothing need be.

    Batches of magic 2 only. What the producer's own CRC does not vouch for is not touched, nor a batch
    that claims the broker's stamp (bit 3).
    """
    batch = case.batch
    if batch.magic != 2 or batch.timestamp_type is TimestampType.LOG_APPEND_TIME or not case.crc_is_valid():
        return None
    records = case.read_records()
    if records.fault is not None:
        return None
    times_ms = []
    for index, time_ms in enumerate(records.timestamps_ms):
        is_real = index in records.real_minus_ones  # then -1 is a time, and one that cannot be kept
        right_ms = _instead(time_ms, case) if is_real else _right(time_ms, case)
        if right_ms is None:
            return None
        times_ms.append(right_ms)
    original_ms = tuple(records.timestamps_ms)
    pairs = zip(times_ms, original_ms, strict=True)
    changed = tuple(index for index, (right_ms, came_ms) in enumerate(pairs) if right_ms != came_ms)
    return Repair(tuple(times_ms), original_ms, changed)


def _right(time_ms: int, case: Case) -> int | None:
    policy = case.policy
    if time_ms == NO_TIMESTAMP and policy.no_timestamp is Choice.STAMP:
        return case.now_ms
    return _instead(time_ms, case) if _is_at_fault(time_ms, case) else time_ms


def _instead(time_ms: int, case: Case) -> int | None:
    """Of a time at fault."""
    policy = case.policy
    if policy.on_violation is OnViolation.STAMP:
        return case.now_ms
    if policy.on_violation is OnViolation.REPAIR:
        right_ms = meant_ms(time_ms, case.now_ms)
        if right_ms is not None and not _is_at_fault(right_ms, case):
            return right_ms
    return None


def _is_at_fault(time_ms: int, case: Case) -> bool:
    limits = case.limits
    if limits is not None and timestamps.is_out_of_range(time_ms, limits, case.now_ms):
        return True
    return own_values.rejected(time_ms, case.policy) is not None
