"""What a broker checks of each record, and how it tells of all culprits at once (KIP-467).

Source: `LogValidator.java#validateRecord`, `#processRecordErrors`. Every record is looked at; keys
come before times; one bad time makes the whole answer INVALID_TIMESTAMP.
"""

from collections.abc import Iterator
from typing import Final

from tsproxy.model.kafka import LONG_MIN, NO_TIMESTAMP, Codec, ErrorCode, TimestampType, wrap64
from tsproxy.model.records import Fault, Records
from tsproxy.model.verdict import OutOfRange, Reason, Reject, TopicLimits, Violation, reason_out_of_range
from tsproxy.policy import extended, own_values, timestamps
from tsproxy.policy.case import Case
from tsproxy.policy.faults import reject_fault, reject_whole
from tsproxy.policy.units import guess_unit, unit_hint

_SHOWN: Final = 3
"""How many record errors the text of INVALID_RECORD repeats."""


def records_are_readable(case: Case) -> Reject | None:
    if case.facts is None or case.facts.fault is None:
        return None
    fault = case.facts.fault
    if fault is Fault.VARINT_TOO_LONG and case.batch.codec_id != Codec.NONE:
        fault = Fault.PREMATURE_END  # what a broker's reader of streams makes of any such length
    return reject_fault(fault)


def each_record_is_valid(case: Case) -> Reject | None:
    """INVALID_TIMESTAMP or INVALID_RECORD with the culprits in ascending order."""
    if _only_their_range_matters(case):
        return _each_is_in_range(case)
    listed: list[Violation] = []
    first: Violation | None = None
    timely: Violation | None = None
    bad_records = 0
    for violation in _violations(case):  # one at a time: a small batch may hold a million
        first = first or violation
        bad_records += 1
        if bad_records <= case.culprits_listed:
            listed.append(violation)
        if timely is None and violation.error_code is ErrorCode.INVALID_TIMESTAMP:
            timely = violation
    if first is None:
        return None
    culprits = tuple(listed)
    if timely is None:
        text = _invalid_record_text(culprits, bad_records)
        return Reject(ErrorCode.INVALID_RECORD, text, first.reason, culprits, bad_records)
    is_of_value = timely.reason is not Reason.TYPE_MISMATCH
    guess = guess_unit(timely.timestamp_ms, case.now_ms) if is_of_value else None
    return Reject(
        ErrorCode.INVALID_TIMESTAMP, timestamps.REJECTED, timely.reason, culprits, bad_records, guess
    )


def _only_their_range_matters(case: Case) -> bool:
    """True where no record can be wrong but for a time outside two bounds, and all is told in a broker's
    words: the usual rejection, which then costs no object a record."""
    facts, limits, policy = case.facts, case.limits, case.policy
    if facts is None or facts.lowest_ms is None or limits is None or case.batch.magic < 2:
        return False
    has_own_words = policy.speaks_as_draft or policy.names_unit or policy.refuses_some_values
    wraps = facts.lowest_ms <= LONG_MIN + case.now_ms  # there the bounds are not all: see `timestamps`
    is_marked = case.batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    return not (has_own_words or wraps or is_marked or limits.is_compacted or case.is_extended)


def _each_is_in_range(case: Case) -> Reject | None:
    assert case.limits is not None, "asked only of those whose limits are known"
    bounds = timestamps.bounds(case.limits, case.now_ms)
    if bounds is None:
        return None
    outside = case.find_outside(bounds.lowest, bounds.highest, max(1, case.culprits_listed))
    if outside.count == 0:
        return None
    first_ms = outside.timestamps_ms[0]
    pieces = timestamps.out_of_range_pieces(case.limits, case.now_ms)
    return Reject(
        ErrorCode.INVALID_TIMESTAMP,
        timestamps.REJECTED,
        reason_out_of_range(first_ms, case.now_ms),
        OutOfRange(outside, case.batch.base_offset, pieces, case.now_ms) if case.culprits_listed else (),
        outside.count,
        guess_unit(first_ms, case.now_ms),
    )


def _violations(case: Case) -> Iterator[Violation]:
    if case.facts is None:
        return
    batch, records, limits, where = case.batch, case.read_records(), case.limits, case.topic_partition
    sets_append_time = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    refuses_values = case.policy.refuses_some_values
    for index, timestamp_ms in enumerate(records.timestamps_ms):
        if index in records.foreign:
            text = f"Record's magic does not match outer magic {batch.magic} in topic partition {where}"
            yield Violation(index, timestamp_ms, Reason.INVALID_MAGIC, text, ErrorCode.INVALID_RECORD)
        elif limits is not None and limits.is_compacted and records.key_sizes[index] < 0:
            text = f"Compacted topic cannot accept message without key in topic partition {where}"
            yield Violation(index, timestamp_ms, Reason.NO_KEY, text, ErrorCode.INVALID_RECORD)
        elif index in records.real_minus_ones:
            text = extended.text(wrap64(batch.base_offset + records.offset_deltas[index]))
            yield Violation(index, timestamp_ms, Reason.NEGATIVE, text, ErrorCode.INVALID_TIMESTAMP)
        elif limits is not None and timestamps.is_out_of_range(timestamp_ms, limits, case.now_ms):
            offset = wrap64(batch.base_offset + records.offset_deltas[index])
            text = _out_of_range_text(case, timestamp_ms, offset, limits)
            reason = reason_out_of_range(timestamp_ms, case.now_ms)
            yield Violation(index, timestamp_ms, reason, text, ErrorCode.INVALID_TIMESTAMP)
        elif (
            refuses_values and (reason_of_value := own_values.refused(timestamp_ms, case.policy)) is not None
        ):
            offset = wrap64(batch.base_offset + records.offset_deltas[index])
            text = own_values.text(timestamp_ms, offset, case.policy)
            yield Violation(index, timestamp_ms, reason_of_value, text, ErrorCode.INVALID_TIMESTAMP)
        elif sets_append_time:
            text = timestamps.log_append_time_text(_record_text(case, records, index))
            yield Violation(index, timestamp_ms, Reason.TYPE_MISMATCH, text, ErrorCode.INVALID_TIMESTAMP)


def _out_of_range_text(case: Case, timestamp_ms: int, offset: int, limits: TopicLimits) -> str:
    """The broker's words, or those that a rule asks for instead."""
    if case.policy.speaks_as_draft:
        text = timestamps.draft_text(offset)
    else:
        text = timestamps.out_of_range_text(timestamp_ms, offset, limits, case.now_ms)
    hint = unit_hint(timestamp_ms, case.now_ms) if case.policy.names_unit else None
    return f"{text} ({hint})" if hint else text


def is_converted(case: Case) -> bool:
    """True for bare messages of magic 0 and 1 in a topic that keeps them bare (`case` is the first).

    To write them anew in magic 2 a broker reads them all to learn their size, then judges and writes
    one after the other (`LogValidator.java#convertAndAssignOffsetsNonCompressed`).
    """
    is_bare = case.limits is None or case.limits.codec in (None, Codec.NONE)
    return is_bare and any(one.batch.magic < 2 for one in case.each_odd_batch())


def time_can_be_kept(case: Case) -> Reject | None:
    """No writer of magic 2 takes a negative time, so a message with one is refused before the next is
    judged. Compressed ones are all judged first: then it is the broker's business."""
    if case.batch.codec_id != Codec.NONE or not is_converted(case):
        return None
    time = case.batch.base_timestamp
    if time >= NO_TIMESTAMP:
        return None
    return reject_whole(ErrorCode.UNKNOWN_SERVER_ERROR, f"Invalid negative timestamp {time}")


def _record_text(case: Case, records: Records, index: int) -> str:
    """How the broker prints a record; under bit 3 it shows the header's maxTimestamp."""
    batch = case.batch
    name, key_size, value_size = "PartialDefaultRecord", records.key_sizes[index], records.value_sizes[index]
    if case.is_rebuilt or batch.codec_id == Codec.NONE:  # then it has read the record whole
        name, key_size, value_size = "DefaultRecord", max(key_size, 0), max(value_size, 0)
    return (
        f"{name}(offset={batch.base_offset + records.offset_deltas[index]}, "
        f"timestamp={batch.max_timestamp}, "
        f"key={key_size} bytes, value={value_size} bytes)"
    )


def _invalid_record_text(listed: tuple[Violation, ...], bad_records: int) -> str:
    shown = ", ".join(
        f"RecordError(batchIndex={v.batch_index}, message='{v.message}')" for v in listed[:_SHOWN]
    )
    return (
        f"One or more records have been rejected due to {bad_records} record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )
