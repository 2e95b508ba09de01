"""Reads messages of magic 0 and 1: one bare message, or all that a compressed one wraps.

Source: `LegacyRecord.java`, `AbstractLegacyRecordBatch.java` (`DeepRecordsIterator`) of Kafka 3.9.
After its header (`record_set`) a message has key and value, each an int32 size (-1 null) and bytes.
A compressed message is a wrapper: its value, decompressed, is a set of messages. At magic 1 their
offsets count from 0, the wrapper's is the last one's (0 is tolerated); at magic 0 they are absolute.
Brokers up to 3.9 take them with Produce v0 to v2 and store them as magic 2; 4.0 and later do not.

The bit that says LogAppendTime on a wrapper makes a broker take the wrapper's time for all inside;
here every message keeps its own, as in batches of magic 2.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import Final

from tsproxy.model.kafka import NO_TIMESTAMP, Codec
from tsproxy.model.records import Fault, RecordBatch, RecordFacts, Records
from tsproxy.model.view import SessionLimits
from tsproxy.wire import codecs
from tsproxy.wire.record_set import LOG_OVERHEAD, MAGIC_OFFSET, SMALLEST_RECORD, as_batch

_HEAD: Final = struct.Struct(">qi")
_SIZE: Final = struct.Struct(">i")
_KEY_AT: Final = {0: 18, 1: 26}
"""Where the key's size lies, by magic."""
_NULL: Final = -1


def crc_is_valid(message: RecordBatch) -> bool:
    """True where the CRC-32 over magic to the end is the one in the message."""
    return zlib.crc32(message.data[MAGIC_OFFSET:]) == message.crc


def read_messages(batch: RecordBatch, limits: SessionLimits) -> Records:
    """The records of a message of magic 0 or 1, as columns, up to the first fault. Never raises."""
    if batch.codec_id == Codec.NONE:
        return _columns(batch, [batch], 0)
    inner = _unwrapped(batch, limits)
    if isinstance(inner, Fault):
        return Records((), (), (), (), fault=inner)
    first = inner[-1].base_offset if batch.magic == 1 and batch.base_offset == 0 else batch.base_offset
    if batch.magic == 1 and first < inner[-1].base_offset:
        return Records((), (), (), (), fault=Fault.WRAPPER_OFFSET)
    return _columns(batch, inner, first - inner[-1].base_offset if batch.magic == 1 else 0)


def read_facts(batch: RecordBatch, limits: SessionLimits) -> RecordFacts:
    """What the records of a message of magic 0 or 1 come to, up to the first fault. Never raises."""
    records = read_messages(batch, limits)
    times = [timestamp for timestamp in records.timestamps_ms if timestamp != NO_TIMESTAMP]
    return RecordFacts(
        records=len(records.timestamps_ms),
        lowest_ms=min(times, default=None),
        highest_ms=max(times, default=None),
        missing=len(records.timestamps_ms) - len(times),
        fault=records.fault,
    )


def _unwrapped(batch: RecordBatch, limits: SessionLimits) -> list[RecordBatch] | Fault:
    """The messages inside a wrapper, or why they cannot be had."""
    plain = decompressed(batch, limits)
    if isinstance(plain, Fault):
        return plain
    inner: list[RecordBatch] = []
    for found in _inner_messages(memoryview(plain)):
        if isinstance(found, Fault):
            return found
        if len(inner) == limits.records_per_batch:
            return Fault.TOO_MANY_RECORDS
        inner.append(found)
    return inner or Fault.NOTHING_INSIDE


def decompressed(batch: RecordBatch, limits: SessionLimits) -> bytes | Fault:
    """The set of messages that a wrapper holds, or why it cannot be had."""
    if batch.codec_id >= Codec.ZSTD:
        return Fault.WRAPPER_CODEC if batch.codec_id == Codec.ZSTD else Fault.UNKNOWN_CODEC
    fields = _key_and_value(batch)
    if fields is None:
        return Fault.MALFORMED_MESSAGE
    value_at, value_size = fields[1]
    if value_size == _NULL:
        return Fault.NOTHING_INSIDE
    try:
        return codecs.decompress(
            batch.codec_id,
            batch.data[value_at : value_at + value_size],
            limits.decompressed_batch,
            limits.zstd_window,
            ignores_lz4_checksum=batch.magic == 0,
        )
    except codecs.CodecError:
        return Fault.UNDECOMPRESSABLE
    except codecs.BudgetError:
        return Fault.DECOMPRESSED_TOO_LARGE


def _inner_messages(plain: memoryview) -> Iterator[RecordBatch | Fault]:
    """One after the other; a tail that is not a whole message is no fault."""
    pos = 0
    while len(plain) - pos >= LOG_OVERHEAD:
        size = _HEAD.unpack_from(plain, pos)[1]
        if size < SMALLEST_RECORD:
            yield Fault.INNER_SIZE_TOO_SMALL
            return
        end = pos + LOG_OVERHEAD + size
        if end > len(plain):
            return
        yield as_batch(plain[pos:end])
        pos = end


def _columns(batch: RecordBatch, messages: list[RecordBatch], base_offset: int) -> Records:
    """The messages as columns; `base_offset` is what their own offsets count from."""
    timestamps: list[int] = []
    offset_deltas: list[int] = []
    key_sizes: list[int] = []
    value_sizes: list[int] = []
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
        offset_deltas.append(base_offset + message.base_offset - batch.base_offset)
        key_sizes.append(_NULL if fields is None else fields[0][1])
        value_sizes.append(_NULL if fields is None else fields[1][1])
    return Records(timestamps, offset_deltas, key_sizes, value_sizes, fault, frozenset(foreign))


def _key_and_value(message: RecordBatch) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """((where the key begins, its size), the same for the value), size -1 for null; None where the
    message does not hold them."""
    at = _KEY_AT.get(message.magic)
    if at is None:
        return None
    found = []
    for _ in range(2):
        if at + _SIZE.size > len(message.data):
            return None
        (size,) = _SIZE.unpack_from(message.data, at)
        at += _SIZE.size
        found.append((at, max(size, _NULL)))
        at += max(size, 0)
    return (found[0], found[1]) if at <= len(message.data) else None
