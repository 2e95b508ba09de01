"""The columns, positions and facts of a batch, its culprits, and their record errors as bytes, in Python."""

import re
from array import array
from contextlib import suppress
from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP, wrap64
from tsproxy.model.records import Fault, Outside, RecordFacts, Records
from tsproxy.wire import primitives as put
from tsproxy.wire.primitives import DecodeError, Reader
from tsproxy.wire.records import UNSIGNED, read_varint, read_varlong

_TIME: Final = re.compile(r"Timestamp (-?[0-9]{1,19}) of message ")


def columns(data: bytes | memoryview, base_timestamp: int, count: int, lengths_must_fit: bool) -> Records:
    """The columns of `count` records, up to the first fault."""
    data, pos, fault = bytes(data), 0, None
    timestamps, offset_deltas, key_sizes, value_sizes = array("q"), array("i"), array("i"), array("i")
    for _ in range(count):
        try:
            length, pos = read_varint(data, pos)
        except (IndexError, ValueError) as error:
            fault = Fault.PREMATURE_END if isinstance(error, IndexError) else Fault.VARINT_TOO_LONG
            break
        start = pos
        try:
            delta, pos = read_varlong(data, pos + 1)
            offset_delta, pos = read_varint(data, pos)
            key_size, pos = read_varint(data, pos)
            value_size, pos = read_varint(data, pos + max(key_size, 0))
            pos = _skip_headers(data, pos + max(value_size, 0))
        except (IndexError, ValueError):
            fault = Fault.MALFORMED_RECORD
            break
        if lengths_must_fit and pos - start != length:
            fault = Fault.MALFORMED_RECORD
            break
        timestamps.append(wrap64(base_timestamp + delta))
        offset_deltas.append(offset_delta)
        key_sizes.append(key_size)
        value_sizes.append(value_size)
    if fault is None and pos < len(data):
        fault = Fault.RECORDS_REMAINING
    return Records(timestamps, offset_deltas, key_sizes, value_sizes, fault)


def walk(data: bytes | memoryview, base_timestamp: int, count: int, lengths_must_fit: bool) -> RecordFacts:
    """The facts of `count` records, up to the first fault, from the records read as columns."""
    found = columns(data, base_timestamp, count, lengths_must_fit)
    times = [timestamp for timestamp in found.timestamps_ms if timestamp != NO_TIMESTAMP]
    records = len(found.timestamps_ms)
    largest = _largest_size(bytes(data), min(count, records + 1))
    span = min(times, default=None), max(times, default=None)
    return RecordFacts(records, *span, records - len(times), found.fault, largest)


def spans(data: bytes | memoryview, start: int, most: int, lengths_must_fit: bool) -> "array[int]":
    """Four positions in each of up to `most` records from `start` on."""
    data, found = bytes(data), array("q")
    with suppress(IndexError, ValueError):
        for _ in range(most):
            length, at = read_varint(data, start)
            _, delta_end = read_varlong(data, at + 1)
            headers_at = _headers_at(data, delta_end)
            start = _skip_headers(data, headers_at)
            if lengths_must_fit and start - at != length:
                break
            found.extend((at, delta_end, headers_at, start))
    return found


def _largest_size(data: bytes, count: int) -> int:
    """The largest size that one of the first `count` records declares, without its sign."""
    largest = at = 0
    with suppress(IndexError, ValueError):  # the record at fault is the last one
        for _ in range(count):
            size, at = read_varint(data, at)
            largest = max(largest, size & UNSIGNED)
            _, at = read_varlong(data, at + 1)
            at = _skip_headers(data, _headers_at(data, at))
    return largest


def _headers_at(data: bytes, pos: int) -> int:
    """The position of a record's header count. Its offset_delta begins at `pos`."""
    _, pos = read_varint(data, pos)
    for _ in ("key", "value"):
        size, pos = read_varint(data, pos)
        pos += max(size, 0)
    return pos


def _skip_headers(data: bytes, pos: int) -> int:
    """The end of the record. Raises ValueError for counts and sizes that Kafka rejects."""
    count, pos = read_varint(data, pos)
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


def find_outside(
    data: bytes | memoryview, base_timestamp: int, count: int, lowest_ms: int, highest_ms: int, most: int
) -> Outside:
    found = columns(data, base_timestamp, count, lengths_must_fit=False)
    return Outside.among(found.timestamps_ms, found.offset_deltas, lowest_ms, highest_ms, most)


def record_errors(
    indices: "array[int]",
    times: "array[int]",
    offset_deltas: "array[int]",
    base_offset: int,
    pieces: tuple[bytes, bytes, bytes],
    is_flexible: bool,
) -> bytes:
    """The errors of an answer's partition, one after the other, without their count."""
    before, between, after = pieces
    parts = []
    for index, time, delta in zip(indices, times, offset_deltas, strict=True):
        text = b"%b%d%b%d%b" % (before, time, between, wrap64(base_offset + delta), after)
        parts += [put.int32(index), put.string(text.decode(), is_flexible), put.tags(b"", is_flexible)]
    return b"".join(parts)


def skim_errors(
    data: bytes | memoryview, start: int, count: int, is_flexible: bool
) -> tuple[int, int, int | None, int | None]:
    """(how many of `count` errors were stepped over, where the next begins, the lowest and the highest time
    in their texts).

    The function stops before the first error that has tags, is not whole, or is encoded differently than
    `wire.primitives` encodes the same values.
    """
    reader, skimmed, times = Reader(data, start), 0, []
    while skimmed < count:
        try:
            index, text, tags = reader.int32(), reader.nullable_string(is_flexible), reader.tags(is_flexible)
        except DecodeError:
            break
        plain = put.int32(index) + put.string(text, is_flexible) + put.tags(b"", is_flexible)
        if tags not in (b"", b"\x00") or reader.data[start : reader.pos] != plain:
            break
        start, skimmed = reader.pos, skimmed + 1
        told = _TIME.match(text or "")
        if told and LONG_MIN <= int(told[1]) <= LONG_MAX and int(told[1]) != NO_TIMESTAMP:
            times.append(int(told[1]))
    return skimmed, start, min(times, default=None), max(times, default=None)
