"""The verdict on one partition of a ProduceRequest: `judge`.

What is innocent goes to the broker, which checks all else itself. What is guilty is rejected here,
and the answer must be the broker's: so the checks that a broker makes before the one that failed
are made as well, and the first that fails gives the answer.

Guilty is what the proxy's rules or the limits it knows forbid: a timestamp out of range, bit 3 set
by a producer, bit 6, null records; and a batch that cannot be read where its times are limited,
since nothing proves it innocent. A codec that nobody knows is an exception below Produce v7, where it is
not the partition's alone to answer for (`request_checks.is_left_to_the_broker`).
"""

from collections.abc import Iterator
from typing import Final

from tsproxy.model.kafka import TimestampType
from tsproxy.model.records import RecordBatch
from tsproxy.model.verdict import Accept, Bounds, Reject, Verdict
from tsproxy.policy import batch_checks, own_rules, own_values, record_checks, request_checks
from tsproxy.policy.case import Case, Check
from tsproxy.policy.faults import reject_fault

PARTITION_CHECKS: Final[tuple[Check, ...]] = (
    request_checks.records_are_there,
    request_checks.one_batch_of_magic_2,
    request_checks.acks_are_known,
)
"""Of a partition as a whole. All three tables are in the order in which a broker comes to them."""

LOG_CHECKS: Final[tuple[Check, ...]] = (
    batch_checks.base_offset_is_zero,
    batch_checks.size_is_allowed,
    batch_checks.crc_is_valid,
    batch_checks.codec_is_known,
)
"""Of each batch in turn, before the validator sees the first."""

VALIDATOR_CHECKS: Final[tuple[Check, ...]] = (
    batch_checks.batch_is_valid,
    batch_checks.delete_horizon_is_unset,
    record_checks.records_are_readable,
    record_checks.each_record_is_valid,
    own_rules.own_rule_is_kept,
    record_checks.time_can_be_kept,
)
"""Of each batch in turn."""

ACCEPT: Final = Accept()


def judge(case: Case) -> Verdict:
    """Accept, or the Reject that a broker would have given (and ours where a broker has a hole)."""
    if is_innocent(case) or request_checks.is_left_to_the_broker(case):
        return ACCEPT
    return first_rejection(case) or ACCEPT


def first_rejection(case: Case) -> Reject | None:
    """What a broker would reject these records for, whether or not that is ours to do."""
    return next(_rejections(case), None)


def _rejections(case: Case) -> Iterator[Reject]:
    """All that is wrong, in a broker's order."""
    yield from _failed(PARTITION_CHECKS, case)
    for one in case.each_odd_batch():
        yield from _failed(LOG_CHECKS, one)
    if case.record_set.fault is not None:
        yield reject_fault(case.record_set.fault, case.record_set.fault_value)
    if case.record_set.batches:
        yield from _failed((batch_checks.one_batch_where_one_is_right,), case)
    if record_checks.is_converted(case):
        for one in case.each_odd_batch():
            yield from _failed((record_checks.records_are_readable,), one)
    for one in case.each_batch():
        yield from _failed(VALIDATOR_CHECKS, one)


def _failed(checks: tuple[Check, ...], case: Case) -> Iterator[Reject]:
    return (reject for check in checks if (reject := check(case)) is not None)


def is_innocent(case: Case) -> bool:
    """True where nothing that is ours to reject stands in the records."""
    found = case.record_set
    if found.is_null:
        return False
    may_be_many = case.api_version < request_checks.ONE_BATCH_FROM
    bounds = None if case.limits is None else case.limits.bounds(case.now_ms)
    is_limited = bounds is not None or case.policy.rejects_some_values or bool(case.policy.own)
    if is_limited and (found.fault or not (may_be_many or len(found.batches) == 1)):
        return False
    return not any(_is_marked(b) for b in found.batches) and all(
        not _is_marked(one.batch) and _is_in_bounds(one, bounds) for one in case.each_batch()
    )


def _is_marked(batch: RecordBatch) -> bool:
    """True where an attribute bit is set that no producer may set."""
    return batch.timestamp_type is TimestampType.LOG_APPEND_TIME or batch.has_delete_horizon


def _is_in_bounds(case: Case, bounds: Bounds | None) -> bool:
    rejects_some_values, own = case.policy.rejects_some_values, case.policy.own
    if bounds is None and not rejects_some_values and not own:
        return True
    facts = case.facts
    if facts is None or facts.fault:
        return False
    if rejects_some_values and not own_values.are_certainly_taken(facts, case.policy):
        return False
    if any(found.rejects for found in case.consulted()):
        return False
    if bounds is None or facts.lowest_ms is None:
        return True
    assert facts.highest_ms is not None, "where there is a lowest time there is a highest"
    return bounds.lowest <= facts.lowest_ms and facts.highest_ms <= bounds.highest
