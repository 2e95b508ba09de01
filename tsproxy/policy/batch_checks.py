"""What a broker checks of a batch as a whole, before it looks at records.

Source: `UnifiedLog.java#analyzeAndValidateRecords`, `LogValidator.java#validateBatch`. Each failure
is the whole batch's: the code alone goes on the wire, the text to the broker's log (and ours).
"""

from tsproxy.model.kafka import Codec, ErrorCode
from tsproxy.model.records import Fault, RecordBatch
from tsproxy.model.verdict import Reason, Reject
from tsproxy.policy.case import Case
from tsproxy.policy.faults import reject_fault, reject_whole


def base_offset_is_zero(case: Case) -> Reject | None:
    if case.batch.base_offset == 0 or case.batch.magic < 2:
        return None
    return reject_whole(
        ErrorCode.INVALID_RECORD,
        f"The baseOffset of the record batch in the append to {case.topic_partition} should be 0, "
        f"but it is {case.batch.base_offset}",
        Reason.INVALID_OFFSET_OR_SEQUENCE,
    )


def size_is_allowed(case: Case) -> Reject | None:
    if case.limits is None or case.batch.size_in_bytes <= case.limits.max_message_bytes:
        return None
    return reject_whole(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The record batch size in the append to {case.topic_partition} is {case.batch.size_in_bytes} bytes "
        f"which exceeds the maximum configured value of {case.limits.max_message_bytes}).",
    )


def crc_is_valid(case: Case) -> Reject | None:
    if case.crc_is_valid():
        return None
    return reject_whole(
        ErrorCode.CORRUPT_MESSAGE,
        f"Record is corrupt (stored crc = {case.batch.crc}) in topic partition {case.topic_partition}.",
        Reason.INVALID_CRC,
    )


def codec_is_known(case: Case) -> Reject | None:
    return reject_fault(Fault.UNKNOWN_CODEC) if case.batch.codec_id > Codec.ZSTD else None


def batch_is_valid(case: Case) -> Reject | None:
    """`LogValidator.validateBatch`."""
    batch, first = case.batch, case.record_set.batches[0].magic
    if batch.magic != first:
        return reject_whole(
            ErrorCode.INVALID_RECORD,
            f"Batch magic {batch.magic} is not the same as the first batch's magic byte {first} "
            f"in topic partition {case.topic_partition}",
            Reason.INVALID_MAGIC,
        )
    wrong = wrong_in_header(batch)
    if wrong is None:
        return None
    text = f"{wrong} in topic partition {case.topic_partition}"
    return reject_whole(ErrorCode.INVALID_RECORD, text, Reason.INVALID_OFFSET_OR_SEQUENCE)


def wrong_in_header(batch: RecordBatch) -> str | None:
    """The row of `validateBatch` that fails, in the broker's words. Messages of magic 0 and 1 pass all."""
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


def one_batch_where_one_is_right(case: Case) -> Reject | None:
    """Only messages of magic 0 and 1 may come as many, and only uncompressed."""
    if len(case.record_set.batches) < 2:
        return None
    if case.batch.magic < 2 and all(one.batch.codec_id == Codec.NONE for one in case.each_odd_batch()):
        return None
    return reject_whole(ErrorCode.INVALID_RECORD, "Compressed outer record has more than one batch")


def delete_horizon_is_unset(case: Case) -> Reject | None:
    """Ours: brokers store bit 6 as it comes; their cleaner then takes the base timestamp for a deadline."""
    if not case.batch.has_delete_horizon or case.is_extended:
        return None
    return reject_whole(
        ErrorCode.INVALID_RECORD, "Producers must not set the delete horizon (attribute bit 6)"
    )
