"""What a broker checks of a batch as a whole, before it looks at records.

Source: `UnifiedLog.java#analyzeAndValidateRecords`, `LogValidator.java#validateBatch`. Each failure
is the whole batch's: the code alone goes on the wire, the text to the broker's log (and ours).
"""

from tsproxy.model.kafka import Codec, ErrorCode
from tsproxy.model.records import Fault
from tsproxy.model.verdict import Reject
from tsproxy.policy.case import Case
from tsproxy.policy.faults import reject_fault, reject_whole


def base_offset_is_zero(case: Case) -> Reject | None:
    if case.batch.base_offset == 0 or case.batch.magic < 2:
        return None
    return reject_whole(
        ErrorCode.INVALID_RECORD,
        f"The baseOffset of the record batch in the append to {case.topic_partition} should be 0, "
        f"but it is {case.batch.base_offset}",
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
    )


def codec_is_known(case: Case) -> Reject | None:
    return reject_fault(Fault.UNKNOWN_CODEC) if case.batch.codec_id > Codec.ZSTD else None


def batch_is_valid(case: Case) -> Reject | None:
    """`LogValidator.validateBatch`, row by row. Messages of magic 0 and 1 pass all but the first."""
    batch, where = case.batch, case.topic_partition
    first = case.record_set.batches[0].magic
    span = f"[{batch.base_offset}, {batch.last_offset}]"
    if batch.magic != first:
        text = (
            f"Batch magic {batch.magic} is not the same as the first batch's magic byte {first} "
            f"in topic partition {where}"
        )
    elif batch.last_offset_delta + 1 <= 0:
        text = f"Batch has an invalid offset range: {span} in topic partition {where}"
    elif batch.records_count <= 0:
        text = f"Invalid reported count for record batch: {batch.records_count} in topic partition {where}"
    elif batch.last_offset_delta + 1 != batch.records_count:
        text = (
            f"Inconsistent batch offset range {span} and count of records {batch.records_count} "
            f"in topic partition {where}"
        )
    elif batch.is_control:
        text = f"Clients are not allowed to write control records in topic partition {where}"
    elif batch.has_producer_id and batch.base_sequence < 0:
        text = (
            f"Invalid sequence number {batch.base_sequence} in record batch with producerId "
            f"{batch.producer_id} in topic partition {where}"
        )
    else:
        return None
    return reject_whole(ErrorCode.INVALID_RECORD, text)


def one_batch_where_one_is_right(case: Case) -> Reject | None:
    """Only messages of magic 0 and 1 may come as many, and only uncompressed."""
    following = next(case.following(), None)
    if following is None:
        return None
    if case.batch.magic < 2 and all(one.batch.codec_id == Codec.NONE for one in case.each_batch()):
        return None
    return reject_whole(ErrorCode.INVALID_RECORD, "Compressed outer record has more than one batch")


def delete_horizon_is_unset(case: Case) -> Reject | None:
    """Ours: brokers store bit 6 as it comes; their cleaner then takes the base timestamp for a deadline."""
    if not case.batch.has_delete_horizon:
        return None
    return reject_whole(
        ErrorCode.INVALID_RECORD, "Producers must not set the delete horizon (attribute bit 6)"
    )
