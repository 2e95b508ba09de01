"""What a broker checks of each record, and how it tells of all culprits at once (KIP-467).

Source: `LogValidator.java#validateRecord`, `#processRecordErrors`. Every record is looked at; keys
come before times; one bad time makes the whole answer INVALID_TIMESTAMP.
"""

from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP, Codec, ErrorCode, TimestampType, wrap64
from tsproxy.model.policy import Choice
from tsproxy.model.records import Culprits, Fault, Records, Suspects
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
    found = _culprits(case)
    if found is None or not found.count:
        return None
    # Of a million culprits no more are made objects of than are listed.
    listed = found.positions[: max(0, case.culprits_listed)]
    culprits = tuple(_violation(case, found, at) for at in range(len(listed)))
    if found.timely is None:
        text = _invalid_record_text(culprits, found.count)
        first = _violation(case, found, 0)
        return Reject(ErrorCode.INVALID_RECORD, text, first.reason, culprits, found.count)
    timely = _violation(case, found, found.timely)
    is_of_value = timely.reason is not Reason.TYPE_MISMATCH
    guess = guess_unit(timely.timestamp_ms, case.now_ms) if is_of_value else None
    return Reject(
        ErrorCode.INVALID_TIMESTAMP, timestamps.REJECTED, timely.reason, culprits, found.count, guess
    )


def _only_their_range_matters(case: Case) -> bool:
    """True where no record can be wrong but for a time outside two bounds, and all is told in a broker's
    words: the usual rejection, which then costs no object a record."""
    facts, limits, policy = case.facts, case.limits, case.policy
    if facts is None or facts.lowest_ms is None or limits is None or case.batch.magic < 2:
        return False
    has_own_words = policy.speaks_as_draft or policy.names_unit or policy.rejects_some_values
    wraps = facts.lowest_ms <= LONG_MIN + case.now_ms  # there the bounds are not all: see `timestamps`
    is_marked = case.batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    return not (has_own_words or wraps or is_marked or limits.is_compacted or case.is_extended)


def _each_is_in_range(case: Case) -> Reject | None:
    assert case.limits is not None, "asked only of those whose limits are known"
    bounds = case.limits.bounds(case.now_ms)
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


def _culprits(case: Case) -> Culprits | None:
    """The records that are at fault; None where none was read."""
    if case.facts is None:
        return None
    suspects, most = _suspects(case), max(1, case.culprits_listed)
    if case.find_culprits is not None:
        return case.find_culprits(suspects, most)
    return _culprits_among(case.read_records(), suspects, most)


def _suspects(case: Case) -> Suspects:
    limits, policy = case.limits, case.policy
    bounds = None if limits is None else limits.bounds(case.now_ms)
    clock = None
    if limits is not None and bounds is not None:
        longs = [LONG_MAX if each is None else each for each in (limits.before_max_ms, limits.after_max_ms)]
        clock = (case.now_ms, longs[0], longs[1], limits.before_max_ms is not None)
    return Suspects(
        lowest_ms=LONG_MIN if bounds is None else bounds.lowest,
        highest_ms=LONG_MAX if bounds is None else bounds.highest,
        clock=clock,
        needs_key=limits is not None and limits.is_compacted,
        is_each=case.batch.timestamp_type is TimestampType.LOG_APPEND_TIME,
        is_missing=policy.no_timestamp is Choice.REJECT,
        is_zero=policy.zero is Choice.REJECT,
        is_negative=policy.negative is Choice.REJECT,
    )


def _culprits_among(records: Records, suspects: Suspects, most: int) -> Culprits:
    """Those of records that had to be read."""
    listed: list[int] = []
    timely: int | None = None
    count = 0
    for at, time_ms in enumerate(records.timestamps_ms):
        lacks_key = at in records.foreign or (suspects.needs_key and records.key_sizes[at] < 0)
        if not (lacks_key or at in records.real_minus_ones or suspects.has_time(time_ms)):
            continue
        count += 1
        if count <= most:
            listed.append(at)
        if timely is None and not lacks_key:
            timely = at
    if timely is not None and count > most and timely > listed[-1]:
        listed.append(timely)
    return Culprits(
        count, tuple(listed), records.at(listed), None if timely is None else listed.index(timely)
    )


def _violation(case: Case, found: Culprits, at: int) -> Violation:
    """What is wrong with one of them, in a broker's order and words."""
    records, limits, where = found.records, case.limits, case.topic_partition
    index, timestamp_ms = found.positions[at], records.timestamps_ms[at]
    offset = wrap64(case.batch.base_offset + records.offset_deltas[at])
    code = ErrorCode.INVALID_TIMESTAMP
    if at in records.foreign:
        text = f"Record's magic does not match outer magic {case.batch.magic} in topic partition {where}"
        return Violation(index, timestamp_ms, Reason.INVALID_MAGIC, text, ErrorCode.INVALID_RECORD)
    if limits is not None and limits.is_compacted and records.key_sizes[at] < 0:
        text = f"Compacted topic cannot accept message without key in topic partition {where}"
        return Violation(index, timestamp_ms, Reason.NO_KEY, text, ErrorCode.INVALID_RECORD)
    if at in records.real_minus_ones:
        return Violation(index, timestamp_ms, Reason.NEGATIVE, extended.text(offset), code)
    if limits is not None and timestamps.is_out_of_range(timestamp_ms, limits, case.now_ms):
        text = _out_of_range_text(case, timestamp_ms, offset, limits)
        return Violation(index, timestamp_ms, reason_out_of_range(timestamp_ms, case.now_ms), text, code)
    if (reason := own_values.rejected(timestamp_ms, case.policy)) is not None:
        return Violation(
            index, timestamp_ms, reason, own_values.text(timestamp_ms, offset, case.policy), code
        )
    text = timestamps.log_append_time_text(_record_text(case, records, at))
    return Violation(index, timestamp_ms, Reason.TYPE_MISMATCH, text, code)


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
    """No writer of magic 2 takes a negative time, so a message with one is rejected before the next is
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
