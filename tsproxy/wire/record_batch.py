"""Opens a v2 batch: its checksum, its codec, and the records inside.

Source: `DefaultRecordBatch.java`. How one record is laid out stands in `records`.
"""

import sys
from array import array
from collections.abc import Callable
from typing import Final

import google_crc32c

from tsproxy.model.kafka import Codec
from tsproxy.model.records import Culprits, Fault, Outside, RecordBatch, RecordFacts, Records, Suspects
from tsproxy.model.view import SessionLimits
from tsproxy.wire import codecs, kernel, one_call, records
from tsproxy.wire.record_set import ATTRIBUTES_OFFSET, HEADER_SIZE

_CRC_STEP: Final = 1 << 20

SMALL_BYTES: Final = 256 * 1024
"""Below so many compressed bytes it may pay to try one call: a producer's usual batch unfolds to 1 MB at
most."""

Spend = Callable[[int], None]
"""Is told how many bytes go into a decompressor and how many came out, each time before they are read; what
it raises ends the reading."""

SHELLS: Final = sys.maxsize
"""What `Spend` is told of each piece once too many have come that hold next to nothing: more than a loop has
to spend. It is no number of bytes."""


def for_nothing(_size: int) -> None:
    """Nobody minds."""


def crc_is_valid(batch: RecordBatch) -> bool:
    """True where the header is whole, and the CRC-32C over attributes to the end is the one in it."""
    if batch.size_in_bytes < HEADER_SIZE:
        return False
    crc = 0
    for start in range(ATTRIBUTES_OFFSET, len(batch.data), _CRC_STEP):  # it takes bytes only: few at a time
        crc = google_crc32c.extend(crc, bytes(batch.data[start : start + _CRC_STEP]))
    return crc == batch.crc


def read_facts(
    batch: RecordBatch, limits: SessionLimits, is_rebuilt: bool = False, spend: Spend = for_nothing
) -> RecordFacts:
    """What the records of a v2 batch come to, up to the first fault. Raises nothing but what `spend` does.

    `is_rebuilt`: the topic's own codec makes the broker write the batch anew. To do that it reads
    compressed records whole, where it otherwise steps over their keys and values.
    """
    base_timestamp, count, body = batch.base_timestamp, batch.records_count, batch.data[HEADER_SIZE:]
    if count > limits.records_per_batch:
        return _unread(Fault.TOO_MANY_RECORDS)
    if batch.codec_id == Codec.NONE:
        return kernel.walk(body, base_timestamp, count, True)
    facts = read_small(batch.codec_id, body, base_timestamp, count, limits, is_rebuilt, spend)
    if facts is not None:
        return facts
    walker = kernel.StreamWalker(base_timestamp, count, is_rebuilt)
    fault = _unfold(batch, limits, walker.feed, spend)
    return walker.finish() if fault is None else _unread(fault)


def _unread(fault: Fault) -> RecordFacts:
    return RecordFacts(0, None, None, 0, fault)


def read_small(
    codec_id: int,
    body: bytes | memoryview,
    base_timestamp: int,
    records_count: int,
    limits: SessionLimits,
    is_rebuilt: bool,
    spend: Spend,
) -> RecordFacts | None:
    """What `read_facts` says of compressed records, where one call decompresses them; else None."""
    if len(body) >= SMALL_BYTES:
        return None
    spend(len(body))
    most = min(one_call.MOST_BYTES, limits.decompressed_batch)
    plain = one_call.decompressed(codec_id, bytes(body), most, limits.zstd_window)
    if plain is None:
        return None
    spend(len(plain))
    return kernel.walk(memoryview(plain), base_timestamp, records_count, is_rebuilt)


def read_records(
    batch: RecordBatch, limits: SessionLimits, is_rebuilt: bool = False, spend: Spend = for_nothing
) -> Records:
    """The same records as columns: dear, and needed only to say which of them are guilty."""
    columns: records.Columns = ([], [], [], [])
    pieces: list[bytes | memoryview] = []
    fault = _unfold(batch, limits, pieces.append, spend)
    if fault is None:
        plain = b"".join(pieces)
        pieces.clear()  # twice the records are enough
        lengths_must_fit = is_rebuilt or batch.codec_id == Codec.NONE
        fault = records.walk(columns, plain, batch.base_timestamp, batch.records_count, lengths_must_fit)
    return Records(*columns, fault=fault)


def find_outside(
    batch: RecordBatch,
    limits: SessionLimits,
    lowest_ms: int,
    highest_ms: int,
    most: int,
    spend: Spend = for_nothing,
) -> Outside:
    """Of records that were read without a fault, those that lie outside; the first `most` as columns."""
    if batch.codec_id == Codec.NONE:
        plain, count = batch.data[HEADER_SIZE:], batch.records_count
        return kernel.find_outside(plain, batch.base_timestamp, count, lowest_ms, highest_ms, most)
    found = find_culprits(batch, limits, Suspects(lowest_ms, highest_ms), most, spend)
    times, deltas = found.records.timestamps_ms, found.records.offset_deltas
    room = max(0, most)
    return Outside(
        found.count,
        array("i", found.positions[:room]),
        array("q", times[:room]),
        array("q", deltas[:room]),
    )


def find_culprits(
    batch: RecordBatch, limits: SessionLimits, suspects: Suspects, most: int, spend: Spend = for_nothing
) -> Culprits:
    """Of records that were read without a fault, those that are suspect; the first `most` as columns. Of what
    comes out of the decompressor nothing is kept."""
    finder = kernel.Finder(batch.base_timestamp, batch.records_count, suspects, most)
    fault = _unfold(batch, limits, finder.feed, spend)
    assert fault is None, "asked only of what could be read"
    return finder.finish()


def _unfold(
    batch: RecordBatch,
    limits: SessionLimits,
    take: Callable[[bytes | memoryview], None],
    spend: Spend = for_nothing,
) -> Fault | None:
    """Hand over the records' bytes as they were before compression, or say why they cannot be had."""
    if batch.records_count > limits.records_per_batch:
        return Fault.TOO_MANY_RECORDS
    body = batch.data[HEADER_SIZE:]
    if batch.codec_id == Codec.NONE:
        spend(len(body))
        take(body)
        return None
    if batch.codec_id > Codec.ZSTD:
        return Fault.UNKNOWN_CODEC
    try:
        shells_left = codecs.most_shells(len(body))
        for piece in codecs.stream(batch.codec_id, body, limits.decompressed_batch, limits.zstd_window):
            shells_left -= len(piece) < codecs.SHELL_BYTES
            spend(len(piece) if shells_left >= 0 else SHELLS)
            if piece:
                take(piece)
    except codecs.CodecError:
        return Fault.UNDECOMPRESSABLE
    except codecs.BudgetError:
        return Fault.DECOMPRESSED_TOO_LARGE
    except codecs.WindowError:
        return Fault.ZSTD_WINDOW_TOO_LARGE
    return None
