"""Reads messages of magic 0 and 1: one uncompressed message, or all messages inside a compressed one.

Source: `LegacyRecord.java`, `AbstractLegacyRecordBatch.java` (`DeepRecordsIterator`) of Kafka 3.9. After its
header (`record_set`) a message has a key and a value, each as an int32 size (-1 is null) and bytes. A
compressed message is a wrapper: its decompressed value is a set of messages. At magic 1 their offsets count
from 0, and the wrapper has the offset of the last message (0 is tolerated). At magic 0 their offsets are
absolute. Brokers up to 3.9 accept such messages with Produce v0 to v2 and store them as magic 2. Brokers from
4.0 on do not accept them.

If a wrapper has the bit for LogAppendTime, a broker uses the wrapper's timestamp for all messages inside.
Here every message keeps its own timestamp, as in batches of magic 2.
"""

import struct
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tsproxy.model.kafka import NO_TIMESTAMP, Codec, wrap64
from tsproxy.model.records import Fault, RecordBatch, RecordFacts, Records
from tsproxy.model.view import SessionLimits
from tsproxy.wire import codecs, readers
from tsproxy.wire.record_batch import SHELLS, Charge, for_nothing
from tsproxy.wire.record_set import LOG_OVERHEAD, MAGIC_OFFSET, SMALLEST_RECORD, as_batch

_HEAD: Final = struct.Struct(">qi")
_SIZE: Final = struct.Struct(">i")
_KEY_AT: Final = {0: 18, 1: 26}
"""The position of the key's size, by magic."""
_NULL: Final = -1


def crc_is_valid(message: RecordBatch) -> bool:
    """True if the message has the right CRC-32 of the bytes from magic to the end."""
    return zlib.crc32(message.data[MAGIC_OFFSET:]) == message.crc


def read_messages(batch: RecordBatch, limits: SessionLimits, charge: Charge = for_nothing) -> Records:
    """The records of a message of magic 0 or 1 as columns, up to the first fault. Raises only the errors of
    `charge`."""
    if batch.codec_id == Codec.NONE:
        return _columns(batch, iter((batch,)), 0)
    opened = _opened(batch, limits, charge)
    if isinstance(opened, Fault):
        return Records((), (), (), (), fault=opened)
    base_offset = 0
    if batch.magic == 1:
        base_offset = (batch.base_offset or opened.last_offset) - opened.last_offset
    return _columns(batch, _inner_messages(opened.plain), base_offset)


def read_facts(batch: RecordBatch, limits: SessionLimits, charge: Charge = for_nothing) -> RecordFacts:
    """A summary of the records of a message of magic 0 or 1, up to the first fault. Raises only the errors of
    `charge`."""
    if batch.codec_id == Codec.NONE:
        return _facts_of(read_messages(batch, limits))
    opened = _opened(batch, limits, charge)
    if isinstance(opened, Fault):
        return RecordFacts(0, None, None, 0, opened)
    run = readers.messages(opened.plain, 0, batch.magic)
    if run.records == opened.count:
        return run.facts
    return _facts_of(_columns(batch, _inner_messages(opened.plain), 0))


def _facts_of(records: Records) -> RecordFacts:
    times = records.timestamps_ms
    missing = sum(1 for time_ms in times if time_ms == NO_TIMESTAMP)
    return RecordFacts(
        records=len(times),
        lowest_ms=min((time_ms for time_ms in times if time_ms != NO_TIMESTAMP), default=None),
        highest_ms=max((time_ms for time_ms in times if time_ms != NO_TIMESTAMP), default=None),
        missing=missing,
        fault=records.fault,
    )


@dataclass(frozen=True, slots=True)
class _Opened:
    """The set of messages inside a wrapper: their number, and the unchanged offset of the last one."""

    plain: memoryview
    count: int
    last_offset: int


def _opened(batch: RecordBatch, limits: SessionLimits, charge: Charge) -> _Opened | Fault:
    """The contents of a wrapper, or the fault. No object is made for a message."""
    plain = decompressed(batch, limits, charge)
    if isinstance(plain, Fault):
        return plain
    count, pos, last_offset = 0, 0, 0
    while len(plain) - pos >= LOG_OVERHEAD:
        offset, size = _HEAD.unpack_from(plain, pos)
        if size < SMALLEST_RECORD:
            return Fault.INNER_SIZE_TOO_SMALL
        if pos + LOG_OVERHEAD + size > len(plain):
            break
        if count == limits.records_per_batch:
            return Fault.TOO_MANY_RECORDS
        count, last_offset = count + 1, offset
        pos += LOG_OVERHEAD + size
    if not count:
        return Fault.NOTHING_INSIDE
    if batch.magic == 1 and batch.base_offset and batch.base_offset < last_offset:
        return Fault.WRAPPER_OFFSET
    return _Opened(memoryview(plain), count, last_offset)


def decompressed(batch: RecordBatch, limits: SessionLimits, charge: Charge = for_nothing) -> bytes | Fault:
    """The decompressed set of messages inside a wrapper, or the fault."""
    if batch.codec_id >= Codec.ZSTD:
        return Fault.WRAPPER_CODEC if batch.codec_id == Codec.ZSTD else Fault.UNKNOWN_CODEC
    fields = _key_and_value(batch)
    if fields is None:
        return Fault.MALFORMED_MESSAGE
    value_at, value_size = fields[1]
    if value_size == _NULL:
        return Fault.NOTHING_INSIDE
    charge(SHELLS)  # 300 bytes may hold 10,000 messages
    pieces = []
    try:
        for piece in codecs.stream(
            batch.codec_id,
            batch.data[value_at : value_at + value_size],
            limits.decompressed_batch,
            limits.zstd_window,
            ignores_lz4_checksum=batch.magic == 0,
        ):
            charge(len(piece))
            pieces.append(bytes(piece))
    except codecs.CodecError:
        return Fault.UNDECOMPRESSABLE
    except codecs.BudgetError:
        return Fault.DECOMPRESSED_TOO_LARGE
    return b"".join(pieces)


def _inner_messages(plain: memoryview) -> Iterator[RecordBatch]:
    """The messages of a set that was opened, in order. An incomplete message at the end is no fault."""
    pos = 0
    while len(plain) - pos >= LOG_OVERHEAD:
        end = pos + LOG_OVERHEAD + _HEAD.unpack_from(plain, pos)[1]
        if end > len(plain):
            return
        yield as_batch(plain[pos:end])
        pos = end


def _columns(batch: RecordBatch, messages: Iterator[RecordBatch], base_offset: int) -> Records:
    """The messages as columns. Their offsets are relative to `base_offset`."""
    timestamps, offset_deltas = array("q"), array("q")
    key_sizes, value_sizes = array("i"), array("i")
    foreign: set[int] = set()
    fault = None
    for position, message in enumerate(messages):
        is_inner = message is not batch
        if is_inner and message.codec_id != Codec.NONE:
            fault = Fault.UNKNOWN_CODEC if message.codec_id > Codec.ZSTD else Fault.NESTED_COMPRESSION
            break
        is_foreign = message.magic != batch.magic
        fields = None if is_foreign else _key_and_value(message)
        if is_foreign:
            foreign.add(position)
        elif is_inner and not crc_is_valid(message):
            fault = Fault.INNER_CRC
            break
        elif fields is None:
            fault = Fault.MALFORMED_MESSAGE
            break
        timestamps.append(message.base_timestamp)
        offset_deltas.append(wrap64(base_offset + message.base_offset - batch.base_offset))
        key_sizes.append(_NULL if fields is None else fields[0][1])
        value_sizes.append(_NULL if fields is None else fields[1][1])
    return Records(timestamps, offset_deltas, key_sizes, value_sizes, fault, frozenset(foreign))


def _key_and_value(message: RecordBatch) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The position and size of the key, and the same for the value. The size is -1 for null. None if the
    message is too short for them."""
    at = _KEY_AT.get(message.magic)
    if at is None:
        return None
    spans = []
    for _ in range(2):
        if at + _SIZE.size > len(message.data):
            return None
        (size,) = _SIZE.unpack_from(message.data, at)
        at += _SIZE.size
        spans.append((at, max(size, _NULL)))
        at += max(size, 0)
    return (spans[0], spans[1]) if at <= len(message.data) else None
