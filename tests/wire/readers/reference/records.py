"""The facts of a batch, its culprits as columns, and their record errors as bytes, in Python."""

import re
from array import array
from contextlib import suppress
from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP, wrap64
from tsproxy.model.records import Outside, RecordFacts
from tsproxy.wire import primitives as put
from tsproxy.wire import records
from tsproxy.wire.primitives import DecodeError, Reader

_TIME: Final = re.compile(r"Timestamp (-?[0-9]{1,19}) of message ")


def walk(data: bytes | memoryview, base_timestamp: int, count: int, lengths_must_fit: bool) -> RecordFacts:
    """The facts of `count` records, up to the first fault, from the records read as columns."""
    data, columns = bytes(data), ([], [], [], [])
    fault = records.walk(columns, data, base_timestamp, count, lengths_must_fit)
    times = [timestamp for timestamp in columns[0] if timestamp != NO_TIMESTAMP]
    missing = len(columns[0]) - len(times)
    span = min(times, default=None), max(times, default=None)
    largest = _largest_size(data, min(count, len(columns[0]) + 1))
    return RecordFacts(len(columns[0]), *span, missing, fault, largest)


def _largest_size(data: bytes, count: int) -> int:
    """The largest size that one of the first `count` records declares, without its sign."""
    sizes, at = [0], 0
    with suppress(IndexError, ValueError):  # the record at fault is the last one
        for _ in range(count):
            size, at = records.read_varint(data, at)
            sizes.append(size & records.UNSIGNED)
            _, at = records.read_varlong(data, at + 1)
            _, at = records.read_varint(data, at)
            for _ in ("key", "value"):
                size, at = records.read_varint(data, at)
                at += max(size, 0)
            headers, at = records.read_varint(data, at)
            at = records.skip_headers(data, at, headers)
    return max(sizes)


def find_outside(
    data: bytes | memoryview, base_timestamp: int, count: int, lowest_ms: int, highest_ms: int, most: int
) -> Outside:
    columns: records.Columns = ([], [], [], [])
    records.walk(columns, bytes(data), base_timestamp, count, lengths_must_fit=False)
    return Outside.among(columns[0], columns[1], lowest_ms, highest_ms, most)


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
