"""The checks of a batch as a whole, before a broker reads its records.

Source: `UnifiedLog.java#analyzeAndValidateRecords`, `LogValidator.java#validateBatch`. A failure concerns the
whole batch: the client only gets the error code. The text is for logs.
"""

from tsproxy.model.kafka import Codec, ErrorCode
from tsproxy.model.records import Fault, RecordBatch
from tsproxy.model.verdict import Reason, Reject
from tsproxy.policy.checks.faults import reject_fault, reject_whole
from tsproxy.policy.context import BatchContext


def base_offset_is_zero(context: BatchContext) -> Reject | None:
    if context.batch.base_offset == 0 or context.batch.magic < 2:
        return None
    return reject_whole(
        ErrorCode.INVALID_RECORD,
        f"The baseOffset of the record batch in the append to {context.topic_partition} should be 0, "
        f"but it is {context.batch.base_offset}",
        Reason.INVALID_OFFSET_OR_SEQUENCE,
    )


def size_is_allowed(context: BatchContext) -> Reject | None:
    if context.limits is None or context.batch.size_in_bytes <= context.limits.max_message_bytes:
        return None
    return reject_whole(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The record batch size in the append to {context.topic_partition} is "
        f"{context.batch.size_in_bytes} bytes which exceeds the maximum configured value of "
        f"{context.limits.max_message_bytes}).",
    )


def crc_is_valid(context: BatchContext) -> Reject | None:
    if context.reader.crc_is_valid():
        return None
    return reject_whole(
        ErrorCode.CORRUPT_MESSAGE,
        f"Record is corrupt (stored crc = {context.batch.crc}) in topic partition {context.topic_partition}.",
        Reason.INVALID_CRC,
    )


def codec_is_known(context: BatchContext) -> Reject | None:
    return reject_fault(Fault.UNKNOWN_CODEC) if context.batch.codec_id > Codec.ZSTD else None


def batch_is_valid(context: BatchContext) -> Reject | None:
    """The checks of `LogValidator.validateBatch`."""
    batch, first = context.batch, context.record_set.batches[0].magic
    if batch.magic != first:
        return reject_whole(
            ErrorCode.INVALID_RECORD,
            f"Batch magic {batch.magic} is not the same as the first batch's magic byte {first} "
            f"in topic partition {context.topic_partition}",
            Reason.INVALID_MAGIC,
        )
    wrong = wrong_in_header(batch)
    if wrong is None:
        return None
    text = f"{wrong} in topic partition {context.topic_partition}"
    return reject_whole(ErrorCode.INVALID_RECORD, text, Reason.INVALID_OFFSET_OR_SEQUENCE)


def wrong_in_header(batch: RecordBatch) -> str | None:
    """The broker's text for the first check of `validateBatch` that fails; None if all pass. Messages of
    magic 0 and 1 pass all of them."""
    span = f"[{batch.base_offset}, {batch.last_offset}]"
    if batch.last_offset_delta + 1 <= 0:
        return f"Batch has an invalid offset range: {span}"
    if batch.records_count <= 0:
        return f"Invalid reported count for record batch: {batch.records_count}"
    if batch.last_offset_delta + 1 != batch.records_count:
        return f"Inconsistent batch offset range {span} and count of records {batch.records_count}"
    if batch.is_control:
        return "Clients are not allowed to write control records"
    if batch.has_producer_id and batch.base_sequence < 0:
        return (
            f"Invalid sequence number {batch.base_sequence} in record batch with producerId "
            f"{batch.producer_id}"
        )
    return None


def set_is_readable(context: BatchContext) -> Reject | None:
    """The rejection for a fault of the record set itself: the bytes after its last batch are no batch."""
    record_set = context.record_set
    return None if record_set.fault is None else reject_fault(record_set.fault, record_set.fault_value)


def one_batch_where_one_is_right(context: BatchContext) -> Reject | None:
    """The rejection of several batches. Only uncompressed messages of magic 0 and 1 may be more than one."""
    if len(context.record_set.batches) < 2:
        return None
    if context.batch.magic < 2 and all(one.batch.codec_id == Codec.NONE for one in context.each_odd_batch()):
        return None
    return reject_whole(ErrorCode.INVALID_RECORD, "Compressed outer record has more than one batch")


def delete_horizon_is_unset(context: BatchContext) -> Reject | None:
    """The rejection of a batch with bit 6. Brokers have no such check: they store the bit unchanged, and
    their cleaner then uses the base timestamp as a deadline."""
    if not delete_horizon_is_set(context) or context.is_extended:
        return None
    return reject_whole(
        ErrorCode.INVALID_RECORD, "Producers must not set the delete horizon (attribute bit 6)"
    )


def delete_horizon_is_set(context: BatchContext) -> bool:
    return context.batch.has_delete_horizon
