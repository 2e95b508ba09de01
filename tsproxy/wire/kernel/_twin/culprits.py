"""Culprits as columns, and their errors as bytes, in Python."""

from array import array

from tsproxy.model.kafka import wrap64
from tsproxy.model.records import Outside
from tsproxy.wire import primitives as put
from tsproxy.wire import records


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
