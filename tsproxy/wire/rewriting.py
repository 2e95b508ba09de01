"""`rewrite`: writes a v2 batch with other timestamps and with added headers.

Source: `DefaultRecordBatch.java`, `DefaultRecord.java`. These values change: base_timestamp, max_timestamp,
each record's timestamp_delta, its headers if some are added, attribute bits that are to be cleared, and
the values that depend on these (lengths, the compressed form, the CRC-32C). Everything else stays the same:
order, offset deltas, keys, values, codec, transaction, producer id and epoch, base_sequence, and the count
of records, on which an idempotent producer's sequence numbers depend.
"""

import struct
from collections.abc import Sequence
from typing import Final

import google_crc32c

from tsproxy.model.kafka import Codec, wrap64
from tsproxy.model.records import RecordBatch
from tsproxy.model.view import SessionLimits
from tsproxy.wire import codecs, compression, one_shot
from tsproxy.wire.record_set import ATTRIBUTES_OFFSET, HEADER_SIZE, LOG_OVERHEAD
from tsproxy.wire.records import read_varint, read_varlong, skip_headers

Headers = Sequence[tuple[bytes, bytes]]
"""Header names and values."""

_LENGTH_AT: Final = 8
_CRC_AT: Final = 17
_TIMES_AT: Final = 27
_TIMES: Final = struct.Struct(">qq")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_UINT32: Final = struct.Struct(">I")


def rewrite(
    batch: RecordBatch,
    limits: SessionLimits,
    times_ms: Sequence[int],
    added: Sequence[Headers] = (),
    cleared: int = 0,
) -> bytes | None:
    """The batch with `times_ms`, one for each record, and with the `added` headers after each record's own
    headers. The attribute bits in `cleared` are 0.

    None if the batch cannot be read to its end, if it has no records or not as many as `times_ms`, or if a
    record does not fit its declared length.
    """
    plain = plain_records(batch, limits)
    if plain is None or not times_ms or len(times_ms) != batch.records_count:
        return None
    try:
        written = _records(plain, times_ms, added)
    except (IndexError, ValueError):
        return None
    body = compression.compress(Codec(batch.codec_id), written)
    head = bytearray(batch.data[:HEADER_SIZE])
    _INT32.pack_into(head, _LENGTH_AT, HEADER_SIZE - LOG_OVERHEAD + len(body))
    _INT16.pack_into(head, ATTRIBUTES_OFFSET, batch.attributes & ~cleared)
    _TIMES.pack_into(head, _TIMES_AT, times_ms[0], max(times_ms))
    crc = google_crc32c.extend(google_crc32c.value(bytes(head[ATTRIBUTES_OFFSET:])), body)
    _UINT32.pack_into(head, _CRC_AT, crc)
    return bytes(head) + body


def plain_records(batch: RecordBatch, limits: SessionLimits) -> bytes | None:
    """The uncompressed bytes after the batch header, or None if they cannot be decompressed."""
    body = batch.data[HEADER_SIZE:]
    if batch.codec_id == Codec.NONE:
        return bytes(body)
    if batch.codec_id > Codec.ZSTD:
        return None
    try:
        pieces = one_shot.pieces(batch.codec_id, body, limits.decompressed_batch, limits.zstd_window)
        return b"".join(map(bytes, pieces))
    except (codecs.CodecError, codecs.BudgetError, codecs.WindowError):
        return None


def _records(plain: bytes, times_ms: Sequence[int], added: Sequence[Headers]) -> bytes:
    """The rewritten records. Raises IndexError or ValueError if the records do not fit their lengths."""
    out: list[bytes] = []
    pos, base_ms = 0, times_ms[0]
    for index, time_ms in enumerate(times_ms):
        length, start = read_varint(plain, pos)
        _, delta_end = read_varlong(plain, start + 1)
        end = start + length
        record = [plain[start : start + 1], varint(wrap64(time_ms - base_ms))]
        count_at, count, count_end = _headers_at(plain, delta_end)
        if skip_headers(plain, count_end, count) != end:
            raise ValueError("a record that is longer or shorter than it says")
        headers = added[index] if added else ()
        if headers:
            record += [plain[delta_end:count_at], varint(count + len(headers)), plain[count_end:end]]
            record += [_sized(name) + _sized(value) for name, value in headers]
        else:
            record.append(plain[delta_end:end])
        out += [varint(sum(map(len, record))), *record]
        pos = end
    if pos != len(plain):
        raise ValueError("records remain")
    return b"".join(out)


def _headers_at(plain: bytes, pos: int) -> tuple[int, int, int]:
    """The start of a record's header count, the count itself, and its end. `pos` is at the offset_delta."""
    _, pos = read_varint(plain, pos)
    key_size, pos = read_varint(plain, pos)
    value_size, pos = read_varint(plain, pos + max(key_size, 0))
    count_at = pos + max(value_size, 0)
    count, count_end = read_varint(plain, count_at)
    return count_at, count, count_end


def varint(value: int) -> bytes:
    """`value` of 64 bits as a zigzag varint, with the least significant group first."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _sized(data: bytes) -> bytes:
    return varint(len(data)) + data
