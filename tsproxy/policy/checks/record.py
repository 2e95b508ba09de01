"""The checks of each record. One answer names all culprits (KIP-467).

Source: `LogValidator.java#validateRecord`, `#processRecordErrors`. Every record is checked, the key before
the timestamp. One bad timestamp makes the whole answer INVALID_TIMESTAMP.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Self

from tsproxy.model.kafka import (
    INT_MAX,
    LONG_MAX,
    LONG_MIN,
    NO_TIMESTAMP,
    Codec,
    ErrorCode,
    TimestampType,
    wrap64,
)
from tsproxy.model.policy import Choice, TopicPolicy
from tsproxy.model.records import Culprits, Fault, Outside, Records, Suspects
from tsproxy.model.verdict import (
    Listed,
    OutOfRange,
    Reason,
    Reject,
    TopicLimits,
    Violation,
    reason_out_of_range,
)
from tsproxy.policy import extended, special_timestamps, timestamps
from tsproxy.policy.checks.check import ANY_TIME, FastPathBounds
from tsproxy.policy.checks.faults import reject_fault, reject_whole
from tsproxy.policy.context import BatchContext
from tsproxy.policy.units import guess_unit, unit_hint

_SHOWN: Final = 3
"""The number of record errors that the text of INVALID_RECORD repeats."""


def records_are_small_enough(context: BatchContext) -> Reject | None:
    """The rejection of a compressed batch with a record above `max.decompressed.message.bytes` (since 4.4).

    A broker meets the limit as it reads the size of a record, so culprits before it are not named. It does
    not compare the size with the record, and has read nothing behind it.
    """
    most = None if context.limits is None else context.limits.max_decompressed_message_bytes
    if most is None or context.facts is None or context.batch.magic < 2:
        return None
    if context.batch.codec_id == Codec.NONE:
        return None
    size = context.facts.largest_record
    if size <= most:
        return None
    wrong = f"{size} exceeds the configured maximum record size of {most}"
    if size > INT_MAX:
        wrong = f"{size - 2**32} is negative"
    return reject_whole(ErrorCode.INVALID_RECORD, f"Invalid record size: {wrong}.")


def records_are_readable(context: BatchContext) -> Reject | None:
    if context.facts is None or context.facts.fault is None:
        return None
    fault = context.facts.fault
    if fault is Fault.VARINT_TOO_LONG and context.batch.codec_id != Codec.NONE:
        fault = Fault.PREMATURE_END  # a broker's stream reader reports such a length in this way
    return reject_fault(fault)


def each_record_is_valid(context: BatchContext) -> Reject | None:
    """The rejection with INVALID_TIMESTAMP or INVALID_RECORD. It lists the culprits in ascending order."""
    if _only_their_range_matters(context):
        return _each_is_in_range(context)
    columns = _culprits(context)
    if columns is None or not columns.count:
        return None
    # A batch may have a million culprits. The listed ones stay columns: their texts are made when the
    # answer is.
    words, most = _Words.of_batch(context), context.culprits_listed
    fault = partial(words.fault, columns.records)
    culprits = Listed(columns.positions[:most], columns.records.timestamps_ms[:most], fault)
    if columns.timely is None:
        text = _invalid_record_text(culprits[:_SHOWN], columns.count)
        reason, _ = fault(0)
        return Reject(ErrorCode.INVALID_RECORD, text, reason, culprits, bad_records=columns.count)
    timely = columns.records.timestamps_ms[columns.timely]
    reason, _ = fault(columns.timely)
    guess = guess_unit(timely, context.now_ms) if reason is not Reason.TYPE_MISMATCH else None
    return Reject(
        ErrorCode.INVALID_TIMESTAMP,
        timestamps.REJECTED,
        reason,
        culprits,
        bad_records=columns.count,
        unit_guess=guess,
    )


def some_record_may_be_invalid(context: BatchContext) -> bool:
    """True if, by the known facts, some record may have a timestamp that is not allowed, or if bit 3 is set.
    Keys do not count, since the broker itself rejects a record without a key."""
    if context.batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return True
    policy, limits, facts = context.policy, context.limits, context.facts
    allowed = None if limits is None else limits.bounds(context.now_ms)
    if allowed is None and not policy.rejects_special_timestamps:
        return False
    if facts is None or facts.fault is not None:
        return True
    if not special_timestamps.are_certainly_allowed(facts, policy):
        return True
    if allowed is None or facts.lowest_ms is None or facts.highest_ms is None:
        return False
    return facts.lowest_ms < allowed.lowest or facts.highest_ms > allowed.highest


def bounds(policy: TopicPolicy) -> FastPathBounds | None:
    """The limits in force; None if special timestamps are rejected, since these may be within the limits."""
    if policy.rejects_special_timestamps:
        return None
    return ANY_TIME if policy.limits is None else within(policy.limits)


def within(limits: TopicLimits) -> FastPathBounds:
    if not limits.is_limited:
        return ANY_TIME
    return FastPathBounds(limits.before_max_ms, limits.after_max_ms)


def _only_their_range_matters(context: BatchContext) -> bool:
    """True for the usual rejection, which needs no object for each record."""
    facts = context.facts
    if not context.policy.needs_only_range or facts is None or facts.lowest_ms is None:
        return False
    wraps = facts.lowest_ms <= LONG_MIN + context.now_ms  # here Kafka's arithmetic wraps (`timestamps`)
    is_marked = context.batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    return not (wraps or is_marked or context.is_extended or context.batch.magic < 2)


def _each_is_in_range(context: BatchContext) -> Reject | None:
    assert context.limits is not None, "`needs_only_range` says so"
    allowed = context.limits.bounds(context.now_ms)
    if allowed is None:
        return None
    outside = context.reader.find_outside(allowed.lowest, allowed.highest, max(1, context.culprits_listed))
    return reject_out_of_range(context, outside, context.limits) if outside.count else None


def reject_out_of_range(context: BatchContext, outside: Outside, limits: TopicLimits) -> Reject:
    """The rejection of a batch for records outside `limits`. `outside` lists at least the first of them."""
    first_ms, pieces = outside.timestamps_ms[0], timestamps.out_of_range_pieces(limits, context.now_ms)
    violations = OutOfRange(outside, context.batch.base_offset, pieces, context.now_ms)
    return Reject(
        ErrorCode.INVALID_TIMESTAMP,
        timestamps.REJECTED,
        reason_out_of_range(first_ms, context.now_ms),
        violations if context.culprits_listed else (),
        bad_records=outside.count,
        unit_guess=guess_unit(first_ms, context.now_ms),
    )


def _culprits(context: BatchContext) -> Culprits | None:
    if context.facts is None:
        return None
    suspects, most = _suspects(context), max(1, context.culprits_listed)
    culprits = context.reader.find_culprits(suspects, most)
    return _culprits_among(context.reader.read_records(), suspects, most) if culprits is None else culprits


def _suspects(context: BatchContext) -> Suspects:
    limits, policy = context.limits, context.policy
    allowed = None if limits is None else limits.bounds(context.now_ms)
    clock = None
    if limits is not None and allowed is not None:
        is_limited = limits.before_max_ms is not None
        before_max_ms = limits.before_max_ms if limits.before_max_ms is not None else LONG_MAX
        clock = (context.now_ms, before_max_ms, limits.wrapped_after_ms, is_limited)
    return Suspects(
        lowest_ms=LONG_MIN if allowed is None else allowed.lowest,
        highest_ms=LONG_MAX if allowed is None else allowed.highest,
        clock=clock,
        needs_key=limits is not None and limits.is_compacted,
        is_each=context.batch.timestamp_type is TimestampType.LOG_APPEND_TIME,
        is_missing=policy.no_timestamp is Choice.REJECT,
        is_zero=policy.zero is Choice.REJECT,
        is_negative=policy.negative is Choice.REJECT,
    )


def _culprits_among(records: Records, suspects: Suspects, most: int) -> Culprits:
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
    if timely is not None and timely > listed[-1]:
        listed.append(timely)
    return Culprits(
        count, tuple(listed), records.at(listed), None if timely is None else listed.index(timely)
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """The facts that the texts about a batch's culprits need. It keeps none of the batch's bytes."""

    base_offset: int
    is_read_whole: bool
    limits: TopicLimits | None
    magic: int
    max_timestamp: int
    now_ms: int
    policy: TopicPolicy
    where: str

    @classmethod
    def of_batch(cls, context: BatchContext) -> Self:
        batch = context.batch
        return cls(
            base_offset=batch.base_offset,
            is_read_whole=context.is_recompressed or batch.codec_id == Codec.NONE,
            limits=context.limits,
            magic=batch.magic,
            max_timestamp=batch.max_timestamp,
            now_ms=context.now_ms,
            policy=context.policy,
            where=context.topic_partition,
        )

    def fault(self, records: Records, at: int) -> tuple[Reason, str]:
        """The first fault of one culprit, in a broker's order and words, with the operator's end."""
        reason, text = self._fault(records, at)
        return reason, self.policy.helped(text)

    def _fault(self, records: Records, at: int) -> tuple[Reason, str]:
        limits, timestamp_ms = self.limits, records.timestamps_ms[at]
        offset = wrap64(self.base_offset + records.offset_deltas[at])
        if at in records.foreign:
            text = f"Record's magic does not match outer magic {self.magic} in topic partition {self.where}"
            return Reason.INVALID_MAGIC, text
        if limits is not None and limits.is_compacted and records.key_sizes[at] < 0:
            text = f"Compacted topic cannot accept message without key in topic partition {self.where}"
            return Reason.NO_KEY, text
        if at in records.real_minus_ones:
            return Reason.NEGATIVE, extended.text(offset)
        if limits is not None and timestamps.is_out_of_range(timestamp_ms, limits, self.now_ms):
            text = self._out_of_range(timestamp_ms, offset, limits)
            return reason_out_of_range(timestamp_ms, self.now_ms), text
        if (reason := special_timestamps.rejected(timestamp_ms, self.policy)) is not None:
            return reason, special_timestamps.text(timestamp_ms, offset, self.policy)
        return Reason.TYPE_MISMATCH, timestamps.log_append_time_text(self._record(records, at))

    def _out_of_range(self, timestamp_ms: int, offset: int, limits: TopicLimits) -> str:
        """The broker's text, or the draft's text if the rule has that preset, with a hint about the unit if
        it is configured."""
        if self.policy.speaks_as_draft:
            text = timestamps.draft_text(offset)
        else:
            text = timestamps.out_of_range_text(timestamp_ms, offset, limits, self.now_ms)
        hint = unit_hint(timestamp_ms, self.now_ms) if self.policy.names_unit else None
        return f"{text} ({hint})" if hint else text

    def _record(self, records: Records, at: int) -> str:
        """The record as a broker prints it. With bit 3, the broker prints the header's maxTimestamp as the
        record's."""
        name, key_size, value_size = "PartialDefaultRecord", records.key_sizes[at], records.value_sizes[at]
        if self.is_read_whole:
            name, key_size, value_size = "DefaultRecord", max(key_size, 0), max(value_size, 0)
        return (
            f"{name}(offset={self.base_offset + records.offset_deltas[at]}, "
            f"timestamp={self.max_timestamp}, "
            f"key={key_size} bytes, value={value_size} bytes)"
        )


def is_converted(context: BatchContext) -> bool:
    """True for bare messages of magic 0 and 1 in a topic that does not compress them. `context` is that of
    the first.

    To rewrite them in magic 2, a broker first reads them all for their size. Then it judges and writes the
    messages one after the other (`LogValidator.java#convertAndAssignOffsetsNonCompressed`).
    """
    is_bare = context.limits is None or context.limits.codec in (None, Codec.NONE)
    return is_bare and any(one.batch.magic < 2 for one in context.each_odd_batch())


def time_can_be_kept(context: BatchContext) -> Reject | None:
    """The rejection of a message with a timestamp below -1. A broker cannot write it to a batch of magic 2,
    so it rejects the message before it judges the next one. Brokers judge all compressed messages first, so
    the proxy leaves these to the broker."""
    if context.batch.codec_id != Codec.NONE or not is_converted(context):
        return None
    time = context.batch.base_timestamp
    if time >= NO_TIMESTAMP:
        return None
    return reject_whole(ErrorCode.UNKNOWN_SERVER_ERROR, f"Invalid negative timestamp {time}")


def _invalid_record_text(first: Sequence[Violation], bad_records: int) -> str:
    shown = ", ".join(f"RecordError(batchIndex={v.batch_index}, message='{v.message}')" for v in first)
    return (
        f"One or more records have been rejected due to {bad_records} record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )
