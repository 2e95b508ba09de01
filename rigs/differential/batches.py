"""Writes record batches of magic 2, right or wrong on purpose: every field can be given a lie.

Nothing here is shared with the code under test. Layout: `DefaultRecordBatch.java`,
`DefaultRecord.java`. Times in ms.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields

from rigs.differential.dialects import GOOD
from tests.wire import batches
from tsproxy.model.kafka import wrap64


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
    offset = position if record.offset_delta is None else record.offset_delta
    lies = {name: getattr(record, name) for name in ("length_off", "headers_off", "null_size")}
    return batches.record(delta, offset, record.key, record.value, record.headers, **lies)


def write_batch(batch: Batch) -> bytes:
    """The whole batch, `tail` behind it."""
    times = [record.timestamp_ms for record in batch.records]
    base = batch.base_timestamp if batch.base_timestamp is not None else (times[0] if times else -1)
    plain = batch.payload
    if plain is None:
        plain = b"".join(write_record(r, at, base) for at, r in enumerate(batch.records))
    compress = batch.dialect or GOOD[batch.codec if batch.codec in GOOD else 0][0]
    count = len(batch.records)
    honest = {"base_timestamp": base, "max_timestamp": max(times, default=-1)}
    honest |= {"last_offset_delta": count - 1, "records_count": count}
    own = ("records", "codec", "dialect", "tail", "payload")
    header = {each.name: getattr(batch, each.name) for each in fields(batch) if each.name not in own}
    lies = {name: value for name, value in header.items() if value is not None}
    return batches.batch((), batch.codec, body=compress(plain), **(honest | lies)) + batch.tail
