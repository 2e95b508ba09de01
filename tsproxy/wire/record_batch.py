"""Reads a v2 batch: its checksum, its codec, and the records inside.

Source: `DefaultRecordBatch.java`. `records` describes the layout of one record.
"""

import sys
from array import array
from collections.abc import Callable, Iterable
from typing import Final, Protocol

import google_crc32c

from tsproxy.model.kafka import Codec
from tsproxy.model.records import Culprits, Fault, Outside, RecordBatch, RecordFacts, Records, Suspects
from tsproxy.model.view import SessionLimits
from tsproxy.wire import codecs, one_shot, readers
from tsproxy.wire.record_set import ATTRIBUTES_OFFSET, HEADER_SIZE

_CRC_STEP: Final = 1 << 20


class Charge(Protocol):
    """A function that gets numbers of bytes: of compressed bytes before `read_small` decompresses them, and
    of uncompressed bytes before they are read. An error that the function raises ends the reading."""

    def __call__(self, size: int, weight: int = 1, /) -> None:
        """Charge `size` bytes. For the event loop, each of them weighs as much as `weight` bytes."""


Pieces = Callable[[int, memoryview, int, int], Iterable[bytes | memoryview]]
"""A function that decompresses: `codecs.stream`, or `one_shot.pieces`."""

SHELLS: Final = sys.maxsize
"""The value that `Charge` gets for each piece after too many nearly empty pieces, and before data that
`one_shot` does not decompress. It is not a number of bytes. It is more than the event loop may spend."""


def for_nothing(_size: int, _weight: int = 1) -> None:
    """A `Charge` without a limit."""


def crc_is_valid(batch: RecordBatch) -> bool:
    """True if the header is complete and has the right CRC-32C of the bytes from attributes to the end."""
    if batch.size_in_bytes < HEADER_SIZE:
        return False
    crc = 0
    for start in range(ATTRIBUTES_OFFSET, len(batch.data), _CRC_STEP):  # needs `bytes`: the copies are small
        crc = google_crc32c.extend(crc, bytes(batch.data[start : start + _CRC_STEP]))
    return crc == batch.crc


def read_facts(
    batch: RecordBatch, limits: SessionLimits, is_recompressed: bool = False, charge: Charge = for_nothing
) -> RecordFacts:
    """A summary of the records of a v2 batch, up to the first fault. Raises only the errors of `charge`.

    `is_recompressed`: the broker recompresses the batch with the topic's codec. To do so, the broker reads
    compressed records completely. Otherwise it skips their keys and values.
    """
    base_timestamp, count, body = batch.base_timestamp, batch.records_count, batch.data[HEADER_SIZE:]
    if count > limits.records_per_batch:
        return _unread(Fault.TOO_MANY_RECORDS)
    if batch.codec_id == Codec.NONE:
        return readers.walk(body, base_timestamp, count, True)
    facts = read_small(batch.codec_id, body, base_timestamp, count, limits, is_recompressed, charge)
    if facts is not None:
        return facts
    walker = readers.StreamWalker(base_timestamp, count, is_recompressed)
    fault = decompress(batch, limits, walker.feed, charge, codecs.stream)
    return walker.finish() if fault is None else _unread(fault)


def _unread(fault: Fault) -> RecordFacts:
    return RecordFacts(0, None, None, 0, fault)


def read_small(
    codec_id: int,
    body: bytes | memoryview,
    base_timestamp: int,
    records_count: int,
    limits: SessionLimits,
    is_recompressed: bool,
    charge: Charge,
) -> RecordFacts | None:
    """The result of `read_facts` for compressed records that `one_shot` can decompress, or None. For the
    event loop it is never None: `charge` raises its error before."""
    plain = None
    if len(body) <= one_shot.most_input(codec_id):
        charge(len(body), one_shot.input_weight(codec_id))
        plain = one_shot.decompressed(codec_id, bytes(body), limits.decompressed_batch, limits.zstd_window)
    if plain is None:
        charge(SHELLS)  # a library may work long on a few bytes before the first piece comes out
        return None
    charge(len(plain))
    return readers.walk(memoryview(plain), base_timestamp, records_count, is_recompressed)


def read_records(
    batch: RecordBatch, limits: SessionLimits, is_recompressed: bool = False, charge: Charge = for_nothing
) -> Records:
    """The records of a v2 batch as columns, up to the first fault. To read them is expensive, and is needed
    only to find the culprits. Arguments and errors are those of `read_facts`."""
    pieces: list[bytes] = []
    fault = decompress(batch, limits, lambda piece: pieces.append(bytes(piece)), charge)
    if fault is not None:
        return Records((), (), (), (), fault=fault)
    plain = b"".join(pieces)
    pieces.clear()  # the records are in memory twice, which is enough
    lengths_must_fit = is_recompressed or batch.codec_id == Codec.NONE
    return readers.columns(plain, batch.base_timestamp, batch.records_count, lengths_must_fit)


def find_outside(
    batch: RecordBatch,
    limits: SessionLimits,
    lowest_ms: int,
    highest_ms: int,
    most: int,
    charge: Charge = for_nothing,
) -> Outside:
    """The records outside the bounds, in a batch that was read without a fault. The columns hold the first
    `most`."""
    if batch.codec_id == Codec.NONE:
        plain, count = batch.data[HEADER_SIZE:], batch.records_count
        return readers.find_outside(plain, batch.base_timestamp, count, lowest_ms, highest_ms, most)
    culprits = find_culprits(batch, limits, Suspects(lowest_ms, highest_ms), most, charge)
    times, deltas = culprits.records.timestamps_ms, culprits.records.offset_deltas
    room = max(0, most)
    return Outside(
        culprits.count,
        array("i", culprits.positions[:room]),
        array("q", times[:room]),
        array("q", deltas[:room]),
    )


def find_culprits(
    batch: RecordBatch, limits: SessionLimits, suspects: Suspects, most: int, charge: Charge = for_nothing
) -> Culprits:
    """The suspect records of a batch that was read without a fault. The columns hold the first `most`. None
    of the decompressed bytes are kept."""
    finder = readers.Finder(batch.base_timestamp, batch.records_count, suspects, most)
    fault = decompress(batch, limits, finder.feed, charge)
    assert fault is None, "asked only of what could be read"
    return finder.finish()


def decompress(
    batch: RecordBatch,
    limits: SessionLimits,
    take: Callable[[bytes | memoryview], None],
    charge: Charge,
    pieces: Pieces = one_shot.pieces,
) -> Fault | None:
    """Pass the uncompressed bytes of the records to `take`. Returns the fault, or None."""
    if batch.records_count > limits.records_per_batch:
        return Fault.TOO_MANY_RECORDS
    body = batch.data[HEADER_SIZE:]
    if batch.codec_id == Codec.NONE:
        charge(len(body))
        take(body)
        return None
    if batch.codec_id > Codec.ZSTD:
        return Fault.UNKNOWN_CODEC
    try:
        shells_left = codecs.most_shells(len(body))
        for piece in pieces(batch.codec_id, body, limits.decompressed_batch, limits.zstd_window):
            shells_left -= len(piece) < codecs.SHELL_BYTES
            charge(len(piece) if shells_left >= 0 else SHELLS)
            if piece:
                take(piece)
    except codecs.CodecError:
        return Fault.UNDECOMPRESSABLE
    except codecs.BudgetError:
        return Fault.DECOMPRESSED_TOO_LARGE
    except codecs.WindowError:
        return Fault.ZSTD_WINDOW_TOO_LARGE
    return None
