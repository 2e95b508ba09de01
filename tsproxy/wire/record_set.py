"""Finds the batches in a `records` field: `scan`.

Source: `ByteBufferLogInputStream.java`. A batch begins with base_offset int64 and length int32
(bytes after it, at least 14); its magic is the byte at 16. A tail that is too short to be a batch
is no fault.
"""

import struct
from typing import Final

from tsproxy.model.records import Fault, RecordBatch, RecordSet

LOG_OVERHEAD: Final = 12
SMALLEST_RECORD: Final = 14
MAGIC_OFFSET: Final = 16
ATTRIBUTES_OFFSET: Final = 21
HEADER_SIZE: Final = 61

_LENGTH: Final = struct.Struct(">i")
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""base_offset, length, partition_leader_epoch, magic, crc, attributes, last_offset_delta,
base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, records_count"""


def scan(records: memoryview | None, most: int) -> RecordSet:
    """The first `most` whole v2 batches of a `records` field, and why the scan ended early if it did.

    A batch of magic 0 or 1 stands in the set by its magic and size alone.
    """
    if records is None:
        return RecordSet(is_null=True, batches=())
    batches: list[RecordBatch] = []
    pos = 0
    while len(batches) < most and len(records) - pos >= LOG_OVERHEAD:
        length = _LENGTH.unpack_from(records, pos + 8)[0]
        if length < SMALLEST_RECORD:
            return RecordSet(False, tuple(batches), Fault.RECORD_SIZE_TOO_SMALL)
        if len(records) - pos <= MAGIC_OFFSET:
            break
        magic = records[pos + MAGIC_OFFSET]
        if magic > 2:
            return RecordSet(False, tuple(batches), Fault.INVALID_MAGIC)
        size = LOG_OVERHEAD + length
        if len(records) - pos < size:
            break
        if magic == 2 and size < HEADER_SIZE:
            return RecordSet(False, tuple(batches), Fault.HEADER_CUT)
        batches.append(_header(records[pos : pos + size], magic))
        pos += size
    return RecordSet(False, tuple(batches))


def _header(data: memoryview, magic: int) -> RecordBatch:
    if magic < 2:
        return RecordBatch(0, len(data), magic, 0, 0, 0, -1, -1, -1, -1, -1, 1, data)
    base_offset, _, _, _, crc, attributes, last_delta, base_ts, max_ts, pid, epoch, sequence, count = (
        _HEADER.unpack_from(data)
    )
    return RecordBatch(
        base_offset,
        len(data),
        magic,
        crc,
        attributes,
        last_delta,
        base_ts,
        max_ts,
        pid,
        epoch,
        sequence,
        count,
        data,
    )
