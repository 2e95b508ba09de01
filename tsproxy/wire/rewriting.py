"""`rewrite`: writes a v2 batch with other timestamps and with added headers.

Source: `DefaultRecordBatch.java`, `DefaultRecord.java`. These values change: base_timestamp, max_timestamp,
each record's timestamp_delta, its headers if some are added, attribute bits that are to be cleared, and
the values that depend on these (lengths, the compressed form, the CRC-32C). Everything else stays the same:
order, offset deltas, keys, values, codec, transaction, producer id and epoch, base_sequence, and the count
of records, on which an idempotent producer's sequence numbers depend.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Final

import google_crc32c

from tsproxy.model.kafka import Codec, wrap64
from tsproxy.model.records import RecordBatch
from tsproxy.model.view import SessionLimits
from tsproxy.wire import compression, readers
from tsproxy.wire.record_batch import Charge, decompress, for_nothing
from tsproxy.wire.record_set import ATTRIBUTES_OFFSET, HEADER_SIZE, LOG_OVERHEAD
from tsproxy.wire.records import read_varint, varint

Headers = Sequence[tuple[bytes, bytes]]
"""Header names and values."""

_LENGTH_AT: Final = 8
_CRC_AT: Final = 17
_TIMES_AT: Final = 27
_TIMES: Final = struct.Struct(">qq")
_SLICE: Final = 4096
"""The number of records that are written in one piece of work."""
_A_RECORD: Final = 64
"""The charge for a record beside its bytes, in bytes."""
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_UINT32: Final = struct.Struct(">I")


def rewrite(
    batch: RecordBatch,
    limits: SessionLimits,
    times_ms: Sequence[int],
    added: Callable[[int], Headers] | None = None,
    cleared: int = 0,
    charge: Charge = for_nothing,
) -> bytes | None:
    """The batch with `times_ms`, one for each record, and with the headers that `added` returns for a
    record's position, after the record's own headers. The attribute bits in `cleared` are 0.

    None if the batch cannot be read to its end, if it has no records or not as many as `times_ms`, or if a
    record does not fit its declared length. Raises only the errors of `charge`.
    """
    plain = plain_records(batch, limits, charge)
    if plain is None or not times_ms or len(times_ms) != batch.records_count:
        return None
    written = _records(plain, times_ms, added or _no_headers, charge)
    if written is None:
        return None
    body = compression.compress(Codec(batch.codec_id), written, charge)
    head = bytearray(batch.data[:HEADER_SIZE])
    _INT32.pack_into(head, _LENGTH_AT, HEADER_SIZE - LOG_OVERHEAD + len(body))
    _INT16.pack_into(head, ATTRIBUTES_OFFSET, batch.attributes & ~cleared)
    _TIMES.pack_into(head, _TIMES_AT, times_ms[0], max(times_ms))
    crc = google_crc32c.extend(google_crc32c.value(bytes(head[ATTRIBUTES_OFFSET:])), body)
    _UINT32.pack_into(head, _CRC_AT, crc)
    return bytes(head) + body


def plain_records(batch: RecordBatch, limits: SessionLimits, charge: Charge = for_nothing) -> bytes | None:
    """The uncompressed bytes after the batch header, or None if they cannot be decompressed."""
    pieces: list[bytes] = []
    fault = decompress(batch, limits, lambda piece: pieces.append(bytes(piece)), charge)
    return None if fault is not None else b"".join(pieces)


def _records(
    plain: bytes, times_ms: Sequence[int], added: Callable[[int], Headers], charge: Charge
) -> bytes | None:
    """The rewritten records. None if the records do not fit their lengths."""
    out: list[bytes] = []
    pos = 0
    for first in range(0, len(times_ms), _SLICE):
        count = min(_SLICE, len(times_ms) - first)
        spans = readers.spans(plain, pos, count, lengths_must_fit=True)
        if len(spans) != 4 * count:
            return None
        out.append(_slice(plain, spans, first, times_ms, added))
        charge(spans[-1] - pos + _A_RECORD * count)
        pos = spans[-1]
    return b"".join(out) if pos == len(plain) else None


def _slice(
    plain: bytes, spans: Sequence[int], first: int, times_ms: Sequence[int], added: Callable[[int], Headers]
) -> bytes:
    """The rewritten records whose positions are `spans`. The first of them has the index `first`."""
    out: list[bytes] = []
    positions = iter(spans)
    base_ms = times_ms[0]
    for index, (start, delta_end, headers_at, end) in enumerate(zip(*[positions] * 4, strict=True), first):
        record = [plain[start : start + 1], varint(wrap64(times_ms[index] - base_ms))]
        headers = added(index)
        if headers:
            count, count_end = read_varint(plain, headers_at)
            record += [plain[delta_end:headers_at], varint(count + len(headers)), plain[count_end:end]]
            record += [_sized(name) + _sized(value) for name, value in headers]
        else:
            record.append(plain[delta_end:end])
        out += [varint(sum(map(len, record))), *record]
    return b"".join(out)


def _no_headers(_index: int) -> Headers:
    return ()


def _sized(data: bytes) -> bytes:
    return varint(len(data)) + data
