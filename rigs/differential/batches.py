"""Writes record batches of magic 2, right or wrong on purpose: every field can be given a lie.

Nothing here is shared with the code under test. Layout: `DefaultRecordBatch.java`,
`DefaultRecord.java`. Times in ms.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import google_crc32c

from rigs.differential.dialects import GOOD
from tests.wire.batches import varint
from tsproxy.model.kafka import wrap64

_AFTER_CRC = struct.Struct(">hiqqqhii")
"""attributes, last_offset_delta, base_timestamp, max_timestamp, producer_id, producer_epoch,
base_sequence, records_count"""

BEFORE_CRC_BYTES = 21
HEADER_BYTES = 61


def nullable(data: bytes | None, null_size: int = -1) -> bytes:
    return varint(null_size) if data is None else varint(len(data)) + data


@dataclass(frozen=True, slots=True)
class Record:
    """One record; `offset_delta` None means its position, `length_off` is added to its true length.

    `null_size`: what stands for a key or value that is None; any negative number does.
    """

    timestamp_ms: int
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
    offset_delta: int | None = None
    length_off: int = 0
    headers_off: int = 0
    null_size: int = -1


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch to be written. A field that is None is written as an honest producer would."""

    records: tuple[Record, ...]
    codec: int = 0
    dialect: Callable[[bytes], bytes] | None = None
    attributes: int = 0
    """Bits besides the codec's three."""
    base_offset: int = 0
    base_timestamp: int | None = None
    max_timestamp: int | None = None
    last_offset_delta: int | None = None
    records_count: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    magic: int = 2
    length_off: int = 0
    crc_off: int = 0
    tail: bytes = b""
    payload: bytes | None = field(default=None, repr=False)
    """Instead of the records, as they would stand before compression."""


def write_record(record: Record, position: int, base_timestamp: int) -> bytes:
    delta = wrap64(record.timestamp_ms - base_timestamp)
    body = b"".join(
        [
            b"\x00",
            varint(delta),
            varint(position if record.offset_delta is None else record.offset_delta),
            nullable(record.key, record.null_size),
            nullable(record.value, record.null_size),
            varint(len(record.headers) + record.headers_off),
            *(varint(len(key)) + key + nullable(value) for key, value in record.headers),
        ]
    )
    return varint(len(body) + record.length_off) + body


def write_batch(batch: Batch) -> bytes:
    """The whole batch, `tail` behind it."""
    times = [record.timestamp_ms for record in batch.records]
    base = batch.base_timestamp if batch.base_timestamp is not None else (times[0] if times else -1)
    plain = batch.payload
    if plain is None:
        plain = b"".join(write_record(r, at, base) for at, r in enumerate(batch.records))
    compress = batch.dialect or GOOD[batch.codec if batch.codec in GOOD else 0][0]
    count = len(batch.records)
    after_crc = _AFTER_CRC.pack(
        batch.attributes | batch.codec,
        count - 1 if batch.last_offset_delta is None else batch.last_offset_delta,
        base,
        max(times, default=-1) if batch.max_timestamp is None else batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        count if batch.records_count is None else batch.records_count,
    ) + compress(plain)
    crc = (google_crc32c.value(after_crc) + batch.crc_off) & 0xFFFFFFFF
    length = BEFORE_CRC_BYTES - 12 + len(after_crc) + batch.length_off
    head = struct.pack(">qiibI", batch.base_offset, length, -1, batch.magic, crc)
    return head + after_crc + batch.tail
