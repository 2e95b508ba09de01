"""Reads the records of a v2 batch: times, offset deltas, sizes of keys and values.

Source: `DefaultRecordBatch.java`, `DefaultRecord.java`, `ByteUtils.java`. A record is length
varint, attributes int8, timestamp_delta varlong, offset_delta varint, key, value, headers; varints
are zigzag, least group first, at most 5 bytes (varlong 10), longer ones an error.

Uncompressed records must fill their declared length exactly. Compressed ones are read as brokers
read them in place: keys, values and headers stepped over, the declared length not compared.
"""

from typing import Final

import google_crc32c

from tsproxy.model.kafka import LONG_MAX, Codec
from tsproxy.model.records import Fault, RecordBatch, Records
from tsproxy.model.view import SessionLimits
from tsproxy.wire import codecs
from tsproxy.wire.record_set import ATTRIBUTES_OFFSET, HEADER_SIZE


def crc_is_valid(batch: RecordBatch) -> bool:
    """True where the CRC-32C over attributes to the end is the one in the header."""
    return bool(google_crc32c.value(bytes(batch.data[ATTRIBUTES_OFFSET:])) == batch.crc)


def read_records(batch: RecordBatch, limits: SessionLimits) -> Records:
    """All records of a v2 batch as columns, up to the first fault. Never raises."""
    columns: _Columns = ([], [], [], [])
    return Records(*columns, fault=_read_into(columns, batch, limits))


_Columns = tuple[list[int], list[int], list[int], list[int]]


def _read_into(columns: _Columns, batch: RecordBatch, limits: SessionLimits) -> Fault | None:
    if batch.records_count > limits.records_per_batch:
        return Fault.TOO_MANY_RECORDS
    body = batch.data[HEADER_SIZE:]
    if batch.codec_id == Codec.NONE:
        return _walk(columns, bytes(body), batch, lengths_must_fit=True)
    if batch.codec_id > Codec.ZSTD:
        return Fault.UNKNOWN_CODEC
    try:
        plain = codecs.decompress(batch.codec_id, body, limits.decompressed_batch, limits.zstd_window)
    except codecs.CodecError:
        return Fault.UNDECOMPRESSABLE
    except codecs.BudgetError:
        return Fault.DECOMPRESSED_TOO_LARGE
    except codecs.WindowError:
        return Fault.ZSTD_WINDOW_TOO_LARGE
    return _walk(columns, plain, batch, lengths_must_fit=False)


_SIGN: Final = 1 << 63
_MASK: Final = (1 << 64) - 1


def _walk(columns: _Columns, data: bytes, batch: RecordBatch, lengths_must_fit: bool) -> Fault | None:
    timestamps, offset_deltas, key_sizes, value_sizes = columns
    base = batch.base_timestamp
    pos, end = 0, len(data)
    for _ in range(batch.records_count):
        try:
            length, pos = _varint(data, pos)
        except IndexError:
            return Fault.PREMATURE_END
        except ValueError:
            return Fault.VARINT_TOO_LONG
        start = pos
        if lengths_must_fit and length > end - start:
            return Fault.MALFORMED_RECORD
        try:
            delta, pos = _varlong(data, pos + 1)
            offset_delta, pos = _varint(data, pos)
            key_size, pos = _varint(data, pos)
            value_size, pos = _varint(data, pos + max(key_size, 0))
            headers, pos = _varint(data, pos + max(value_size, 0))
            pos = _skip_headers(data, pos, headers)
        except (IndexError, ValueError):
            return Fault.MALFORMED_RECORD
        if lengths_must_fit and pos - start != length:
            return Fault.MALFORMED_RECORD
        timestamp = base + delta
        if not -_SIGN <= timestamp <= LONG_MAX:
            timestamp = ((timestamp + _SIGN) & _MASK) - _SIGN
        timestamps.append(timestamp)
        offset_deltas.append(offset_delta)
        key_sizes.append(key_size if key_size >= 0 else -1)
        value_sizes.append(value_size if value_size >= 0 else -1)
    return Fault.RECORDS_REMAINING if pos < end else None


def _skip_headers(data: bytes, pos: int, count: int) -> int:
    """Where the record ends; ValueError for counts and sizes that Kafka refuses."""
    if count < 0 or count > len(data) - pos:
        raise ValueError(f"{count} headers")
    for _ in range(count):
        key_size, pos = _varint(data, pos)
        if key_size < 0:
            raise ValueError(f"header key of {key_size} bytes")
        value_size, pos = _varint(data, pos + key_size)
        pos += max(value_size, 0)
    if pos > len(data):
        raise IndexError
    return pos


def _varint(data: bytes, pos: int) -> tuple[int, int]:
    """(value, position after it); bits above 31 of the fifth byte are dropped, as Java's int does."""
    byte = data[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        pos += 1
        byte = data[pos]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return (value >> 1) ^ -(value & 1), pos + 1
    raise ValueError("varint longer than 5 bytes")


def _varlong(data: bytes, pos: int) -> tuple[int, int]:
    """(value, position after it); of the tenth byte only the lowest bit counts."""
    byte = data[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    value = byte & 0x7F
    for shift in (7, 14, 21, 28, 35, 42, 49, 56, 63):
        pos += 1
        byte = data[pos]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= _MASK
            return (value >> 1) ^ -(value & 1), pos + 1
    raise ValueError("varlong longer than 10 bytes")
