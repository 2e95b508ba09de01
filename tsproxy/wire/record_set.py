"""Finds the batches in a `records` field: `scan` returns the first ones, `batch_at` returns any other one.

Source: `ByteBufferLogInputStream.java`, `LegacyRecord.java`. A batch begins with base_offset int64
and length int32 (the number of bytes after it, at least 14). Its magic is the byte at position 16. A tail
that is too short for a batch is no fault. A message of magic 0 or 1 is a batch of its own: offset, size, crc
int32, magic, attributes int8, timestamp int64 (magic 1), then key and value.
"""

import struct
from collections.abc import Generator
from typing import Final

from tsproxy.model.kafka import NO_TIMESTAMP
from tsproxy.model.records import Fault, RecordBatch, RecordSet

LOG_OVERHEAD: Final = 12
SMALLEST_RECORD: Final = 14
MAGIC_OFFSET: Final = 16
ATTRIBUTES_OFFSET: Final = 21
HEADER_SIZE: Final = 61

_INT32: Final = struct.Struct(">i")
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""base_offset, length, partition_leader_epoch, magic, crc, attributes, last_offset_delta,
base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, records_count"""

_COUNT_AT: Final = 57
_CODEC: Final = 0x07
_SMALLEST_OF_MAGIC_2: Final = 7
"""The bytes of a record of magic 2 without key, value and headers."""
_MESSAGE: Final = struct.Struct(">qiIbB")
"""offset, size, crc, magic, attributes"""
_TIMESTAMP: Final = struct.Struct(">q")
_MEANING_AT_0: Final = 0x07
_MEANING_AT_1: Final = 0x0F
"""The attribute bits that have a meaning: the codec, and from magic 1 on the timestamp type."""


def scan(records: memoryview | None, most: int, *, to_the_end: bool = False) -> RecordSet:
    """The first `most` complete batches of a `records` field, and the fault if the scan ended early.

    `to_the_end`: search for a fault after them, too, as brokers do if they accept more than one batch.
    """
    if records is None:
        return RecordSet(is_null=True, batches=())
    batches: list[RecordBatch] = []
    for result in _walk(records):
        if isinstance(result, tuple):
            return RecordSet(False, tuple(batches), *result)
        batches.append(result)
        if len(batches) == most:
            break
    if to_the_end and len(batches) == most:
        end = sum(batch.size_in_bytes for batch in batches)
        return RecordSet(False, tuple(batches), *(_fault_from(records, end) or ()))
    return RecordSet(False, tuple(batches))


def batch_at(records: memoryview, pos: int) -> RecordBatch | None:
    """The batch that begins at `pos`, or None if there is a fault or only the tail."""
    result = next(_walk(records[pos:]), None)
    return None if isinstance(result, tuple) else result


def count_records(records: memoryview, pos: int, most: int) -> tuple[int, int]:
    """(the number of records in the batches from `pos` on, at most `most` batches; the end of the last one).
    Nothing is read: a batch of magic 2 has as many records as it states, but no more than its bytes have room
    for. If it is compressed, it counts as one, like a compressed message."""
    count = 0
    for _ in range(most):
        if len(records) - pos <= MAGIC_OFFSET:
            break
        (length,) = _INT32.unpack_from(records, pos + 8)
        magic, end = records[pos + MAGIC_OFFSET], pos + LOG_OVERHEAD + length
        if length < SMALLEST_RECORD or magic > 2 or end > len(records):
            break
        if magic < 2:
            count += 1
        elif end - pos >= HEADER_SIZE:
            is_compressed = records[pos + ATTRIBUTES_OFFSET + 1] & _CODEC
            most_here = 1 if is_compressed else (end - pos - HEADER_SIZE) // _SMALLEST_OF_MAGIC_2
            count += min(most_here, max(0, _INT32.unpack_from(records, pos + _COUNT_AT)[0]))
        pos = end
    return count, pos


def _fault_from(records: memoryview, pos: int) -> tuple[Fault, int] | None:
    """The first fault from `pos` on, or None. No object is made for a batch, because a set may have
    millions."""
    while len(records) - pos >= LOG_OVERHEAD:
        (length,) = _INT32.unpack_from(records, pos + 8)
        magic = records[pos + MAGIC_OFFSET] if len(records) - pos > MAGIC_OFFSET else 3
        if length < SMALLEST_RECORD or magic > 2:
            result = next(_walk(records[pos:]), None)
            return result if isinstance(result, tuple) else None
        pos += LOG_OVERHEAD + length
    return None


def read_header(head: bytes) -> RecordBatch | None:
    """The header fields of the batch that begins with `head`, or None if `head` is too short or does not
    begin a batch."""
    if len(head) <= ATTRIBUTES_OFFSET or head[MAGIC_OFFSET] > 2:
        return None
    data = memoryview(head)
    return _batch(data) if head[MAGIC_OFFSET] == 2 else as_batch(data)


def _walk(records: memoryview) -> Generator[RecordBatch | tuple[Fault, int], None, None]:
    pos = 0
    while len(records) - pos >= LOG_OVERHEAD:
        (length,) = _INT32.unpack_from(records, pos + 8)
        if length < SMALLEST_RECORD:
            yield Fault.RECORD_SIZE_TOO_SMALL, length
            return
        if len(records) - pos <= MAGIC_OFFSET:
            return
        magic = records[pos + MAGIC_OFFSET]
        if magic > 2:
            yield Fault.INVALID_MAGIC, magic - 256 if magic > 127 else magic
            return
        end = pos + LOG_OVERHEAD + length
        if end > len(records):
            return
        yield _batch(records[pos:end]) if magic == 2 else as_batch(records[pos:end])
        pos = end


def _batch(data: memoryview) -> RecordBatch:
    header = bytes(data[:HEADER_SIZE]).ljust(HEADER_SIZE, b"\x00")  # it may be truncated
    base_offset, _, _, magic, crc, attributes, last_delta, base_ts, max_ts, pid, epoch, sequence, count = (
        _HEADER.unpack_from(header)
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


def as_batch(data: memoryview) -> RecordBatch:
    """The message in `data`, as a batch of one record. Its magic should be 0 or 1, but may be any number."""
    offset, _, crc, magic, attributes = _MESSAGE.unpack_from(data)
    timestamp = NO_TIMESTAMP
    if magic > 0 and len(data) >= _MESSAGE.size + _TIMESTAMP.size:
        (timestamp,) = _TIMESTAMP.unpack_from(data, _MESSAGE.size)
    return RecordBatch(
        base_offset=offset,
        size_in_bytes=len(data),
        magic=magic,
        crc=crc,
        attributes=attributes & (_MEANING_AT_1 if magic > 0 else _MEANING_AT_0),
        last_offset_delta=0,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records_count=1,
        data=data,
    )
