"""Reads the uncompressed records of a v2 batch: timestamps, offset deltas, sizes of keys and values.

Source: `DefaultRecord.java`, `ByteUtils.java`. A record is length varint, attributes int8,
timestamp_delta varlong, offset_delta varint, key, value, headers. Varints are zigzag, with the least
significant group first, in at most 5 bytes (varlong: 10). Longer ones are an error.

Records of an uncompressed batch must fill their declared length exactly. Records of a compressed batch are
read as brokers read them: keys, values and headers are skipped, and the declared length is not compared.
"""

from typing import Final

from tsproxy.model.kafka import wrap64
from tsproxy.model.records import Fault

Columns = tuple[list[int], list[int], list[int], list[int]]
"""timestamps_ms, offset_deltas, key_sizes and value_sizes, the columns of `model.records.Records`."""

_MASK: Final = (1 << 64) - 1

UNSIGNED: Final = 0xFFFFFFFF
"""Makes a size an int without its sign: a negative one is then above all others."""


def walk(
    columns: Columns, data: bytes, base_timestamp: int, count: int, lengths_must_fit: bool
) -> Fault | None:
    """Append `count` records to `columns`, up to the first fault. Returns the fault."""
    timestamps, offset_deltas, key_sizes, value_sizes = columns
    pos = 0
    for _ in range(count):
        try:
            length, pos = read_varint(data, pos)
        except IndexError:
            return Fault.PREMATURE_END
        except ValueError:
            return Fault.VARINT_TOO_LONG
        start = pos
        try:
            delta, pos = read_varlong(data, pos + 1)
            offset_delta, pos = read_varint(data, pos)
            key_size, pos = read_varint(data, pos)
            value_size, pos = read_varint(data, pos + max(key_size, 0))
            headers, pos = read_varint(data, pos + max(value_size, 0))
            pos = skip_headers(data, pos, headers)
        except (IndexError, ValueError):
            return Fault.MALFORMED_RECORD
        if lengths_must_fit and pos - start != length:
            return Fault.MALFORMED_RECORD
        timestamps.append(wrap64(base_timestamp + delta))
        offset_deltas.append(offset_delta)
        key_sizes.append(key_size)
        value_sizes.append(value_size)
    return Fault.RECORDS_REMAINING if pos < len(data) else None


def skip_headers(data: bytes, pos: int, count: int) -> int:
    """The end of the record. Raises ValueError for counts and sizes that Kafka rejects."""
    if count < 0:
        raise ValueError(f"negative number of headers: {count}")
    for _ in range(count):
        key_size, pos = read_varint(data, pos)
        if key_size < 0:
            raise ValueError(f"header key of {key_size} bytes")
        value_size, pos = read_varint(data, pos + key_size)
        pos += max(value_size, 0)
    if pos > len(data):
        raise IndexError
    return pos


def read_varint(data: bytes, pos: int) -> tuple[int, int]:
    """The value and the position after it. Bits above 31 are dropped in the fifth byte, as in Java's int."""
    byte = data[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        pos += 1
        byte = data[pos]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= UNSIGNED
            return (value >> 1) ^ -(value & 1), pos + 1
    raise ValueError("varint longer than 5 bytes")


def read_varlong(data: bytes, pos: int) -> tuple[int, int]:
    """The value and the position after it. Only the lowest bit of the tenth byte is used."""
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
