"""The answer to a batch that cannot be read: the broker's error code, and its words.

The words are for logs, since a broker only sends the code. If a limit of the proxy was exceeded, the client
gets a text with the limit's key.
"""

from typing import Final

from tsproxy.model.kafka import ErrorCode
from tsproxy.model.records import Fault
from tsproxy.model.verdict import Reason, Reject

FAULTS: Final[dict[Fault, tuple[ErrorCode, str]]] = {
    Fault.RECORD_SIZE_TOO_SMALL: (
        ErrorCode.CORRUPT_MESSAGE,
        "Record size {} is less than the minimum record overhead (14)",
    ),
    Fault.INVALID_MAGIC: (ErrorCode.CORRUPT_MESSAGE, "Invalid magic found in record: {}"),
    Fault.UNKNOWN_CODEC: (ErrorCode.UNKNOWN_SERVER_ERROR, "Unknown compression type id"),
    Fault.UNDECOMPRESSABLE: (ErrorCode.UNKNOWN_SERVER_ERROR, "Failed to decompress record stream"),
    Fault.VARINT_TOO_LONG: (ErrorCode.UNKNOWN_SERVER_ERROR, "Varint is too long"),
    Fault.PREMATURE_END: (ErrorCode.INVALID_RECORD, "Incorrect declared batch size, premature EOF reached"),
    Fault.RECORDS_REMAINING: (
        ErrorCode.INVALID_RECORD,
        "Incorrect declared batch size, records still remaining in file",
    ),
    Fault.MALFORMED_RECORD: (ErrorCode.INVALID_RECORD, "Found invalid record structure"),
    Fault.MALFORMED_MESSAGE: (ErrorCode.UNKNOWN_SERVER_ERROR, "Found invalid message structure"),
    Fault.INNER_SIZE_TOO_SMALL: (
        ErrorCode.CORRUPT_MESSAGE,
        "Record size is less than the minimum record overhead (14)",
    ),
    Fault.INNER_CRC: (ErrorCode.CORRUPT_MESSAGE, "Record is corrupt"),
    Fault.NOTHING_INSIDE: (
        ErrorCode.INVALID_RECORD,
        "Found invalid compressed record set with null value or no inner records",
    ),
    Fault.WRAPPER_CODEC: (
        ErrorCode.INVALID_RECORD,
        "Invalid wrapper compressionType found in legacy deep record iterator",
    ),
    Fault.WRAPPER_OFFSET: (
        ErrorCode.INVALID_RECORD,
        "Found invalid wrapper offset in compressed v1 message set",
    ),
    Fault.NESTED_COMPRESSION: (ErrorCode.INVALID_RECORD, "Inner messages must not be compressed"),
}

OUR_LIMITS: Final[dict[Fault, str]] = {
    Fault.DECOMPRESSED_TOO_LARGE: (
        "The batch decompresses to more than the proxy's limits.decompressed_batch allows"
    ),
    Fault.TOO_MANY_RECORDS: "The batch holds more records than the proxy's limits.records_per_batch allows",
    Fault.ZSTD_WINDOW_TOO_LARGE: "The batch needs a zstd window above the proxy's limits.zstd_window",
    Fault.REQUEST_TOO_LARGE: (
        "The request's batches up to this one decompress to more than the proxy's "
        "limits.decompressed_request allows"
    ),
    Fault.REQUEST_OF_TOO_MANY_RECORDS: (
        "The request's batches up to this one hold more records than the proxy's limits.records_per_request "
        "allows"
    ),
    Fault.JUDGED_TOO_LONG: (
        "The request's batches up to this one took the proxy more than limits.judging_time allows"
    ),
}


def reject_fault(fault: Fault, value: int | None = None) -> Reject:
    """The rejection of a batch that cannot be read. `value` is the wrong size or magic."""
    ours = OUR_LIMITS.get(fault)
    if ours is not None:
        return Reject(ErrorCode.INVALID_RECORD, ours, Reason.BAD_RECORD, detail=ours)
    return reject_whole(FAULTS[fault][0], fault_text(fault, value), reason_of_fault(fault))


def reason_of_fault(fault: Fault) -> Reason:
    """The reason for the fault: the kind under which a broker counts it (KIP-467), or else `bad_record`."""
    return _REASONS.get(fault, Reason.BAD_RECORD)


_REASONS: Final = {Fault.INVALID_MAGIC: Reason.INVALID_MAGIC, Fault.INNER_CRC: Reason.INVALID_CRC}


def fault_text(fault: Fault, value: int | None) -> str:
    return FAULTS[fault][1].format(value)


def reject_whole(error_code: ErrorCode, detail: str, reason: Reason = Reason.BAD_RECORD) -> Reject:
    """A rejection of the batch as a whole. Brokers send its code without text or culprits."""
    return Reject(error_code, None, reason, detail=detail)
