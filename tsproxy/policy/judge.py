"""The verdict on one partition of a ProduceRequest: `judge`.

What is innocent goes to the broker, which checks all else itself. What is guilty is refused here,
and the answer must be the broker's: so the checks that a broker makes before the one that failed
are made as well, and the first that fails gives the answer (`CHECKS`, in the broker's order).

Guilty is what the proxy's rules or the limits it knows forbid: a timestamp out of range, bit 3 set
by a producer, bit 6, null records; and a batch that cannot be read where its times are limited,
since nothing proves it innocent.
"""

from typing import Final

from tsproxy.model.kafka import TimestampType
from tsproxy.model.verdict import Accept, Verdict
from tsproxy.policy import batch_checks, record_checks, request_checks, timestamps
from tsproxy.policy.case import Case, Check

CHECKS: Final[tuple[Check, ...]] = (
    request_checks.records_are_there,
    request_checks.transactional_id_is_there,
    request_checks.one_batch_of_magic_2,
    request_checks.acks_are_known,
    batch_checks.base_offset_is_zero,
    batch_checks.size_is_allowed,
    batch_checks.crc_is_valid,
    batch_checks.codec_is_known,
    batch_checks.batch_is_valid,
    batch_checks.delete_horizon_is_unset,
    record_checks.records_are_readable,
    record_checks.each_record_is_valid,
)
"""In the order in which a broker comes to them; the first that fails is the answer."""

ACCEPT: Final = Accept()


def judge(case: Case) -> Verdict:
    """Accept, or the Reject that a broker would have given (and ours where a broker has a hole)."""
    if is_innocent(case):
        return ACCEPT
    return next((reject for check in CHECKS if (reject := check(case)) is not None), ACCEPT)


def is_innocent(case: Case) -> bool:
    """True where nothing that is ours to refuse stands in the records."""
    found = case.record_set
    if found.is_null:
        return False
    if any(b.timestamp_type is TimestampType.LOG_APPEND_TIME or b.has_delete_horizon for b in found.batches):
        return False
    bounds = None if case.limits is None else timestamps.bounds(case.limits, case.now_ms)
    if bounds is None:
        return True
    facts = case.facts
    if facts is None or facts.fault or found.fault or len(found.batches) != 1:
        return False
    if facts.lowest_ms is None or facts.highest_ms is None:
        return True
    return bounds.lowest <= facts.lowest_ms and facts.highest_ms <= bounds.highest
