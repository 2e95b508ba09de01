"""Decompresses a batch's records as Kafka's own readers do, within a budget.

Source: `org.apache.kafka.common.compress`, xerial's snappy framing, the LZ4 frame format. Each codec
continues and stops where Kafka's reader does:

* gzip: reads concatenated members. Bytes after a member are ignored if they are not a member header, as in
  Java.
* snappy: reads xerial blocks, or one raw block if the stream does not begin with xerial's magic.
* lz4: reads one frame of independent blocks. It verifies the checksums of blocks and not the checksum of
  the content. It does not read bytes after the end mark.
* zstd: reads all frames to the end of the data.

Two kinds of data are rejected here, because decoders do not agree about them: an lz4 match of offset 0
(CVE-2025-66566), and a zstd match from before its frame's window. A decoder that accepts such a match
copies whatever its buffer holds. No compressor writes either.

Raises CodecError for data that the codec rejects, BudgetError above `budget` bytes of output, and
WindowError for a zstd window above the limit. The budget is checked before memory is allocated. `stream`
holds only one piece at a time: 64 KiB, or one block if the codec has blocks (lz4: up to 4 MiB; snappy: the
size that the block declares, which brokers hold as a whole, too). No piece has more than 4 MiB: while one
is copied, no other thread runs, nor the event loop. To join many pieces lets others run if all are `bytes`.

Each member, block or frame gives at least one piece, even if it is empty, and so does each slice of gzip
(`GZIP_SLICE`). An empty piece costs as much time as a full one, so the caller can stop after too many nearly
empty pieces (`most_shells`).
"""

import struct
from collections.abc import Callable, Iterator
from typing import Final, cast

import cramjam
import lz4.block
import xxhash
import zstandard
from isal import isal_zlib

from tsproxy.model.kafka import Codec
from tsproxy.wire import readers


class CodecError(ValueError):
    """The data is not valid for its codec. Brokers answer UNKNOWN_SERVER_ERROR."""


class BudgetError(ValueError):
    """The output is larger than `limits.decompressed_batch`."""


class WindowError(ValueError):
    """A zstd frame needs a window above `limits.zstd_window`."""


def decompress(
    codec_id: int, data: memoryview, budget: int, zstd_window: int, *, ignores_lz4_checksum: bool = False
) -> bytes:
    """The whole output of `data` in one piece. Arguments and errors are those of `stream`."""
    pieces = stream(codec_id, data, budget, zstd_window, ignores_lz4_checksum=ignores_lz4_checksum)
    return b"".join(map(bytes, pieces))


def stream(
    codec_id: int, data: memoryview, budget: int, zstd_window: int, *, ignores_lz4_checksum: bool = False
) -> Iterator[bytes | memoryview]:
    """The output of `data`, piece by piece, of at most `budget` bytes.

    If an error is raised, the pieces before it are no valid output, and the caller drops them.
    `ignores_lz4_checksum`: old producers computed the checksum of an lz4 header over the wrong bytes, so
    readers do not check it in messages of magic 0 (KAFKA-3160).
    """
    if codec_id == Codec.ZSTD:
        return _zstd(data, budget, zstd_window)
    if codec_id == Codec.LZ4:
        return _lz4(data, budget, ignores_lz4_checksum)
    return _READERS[codec_id](data, budget)


SHELL_BYTES: Final = 1 << 10
"""A piece of fewer bytes is a shell: to open it costs more than to read it."""


def most_shells(size: int) -> int:
    """How many shells compressed data of `size` bytes may have before it is suspicious. The blocks that
    producers write have at least 32 KiB of output, and at best compress to 200 bytes."""
    return 16 + size // 256


_PIECE: Final = 1 << 16

_GZIP_ERROR: Final = cast("type[Exception]", isal_zlib.error)  # its type stub declares an instance
_GZIP_SMALLEST: Final = 18
"""The size of a header and a trailer. Java does not search for another member if no more bytes than this are
left."""
GZIP_SLICE: Final = 1 << 14
"""The largest input of one call of the library, in bytes. It copies what it leaves of its input at each call,
and may take 6 ms for so many bytes without any output."""
_GZIP_FIRST_SLICE: Final = 1 << 12
"""The same for the first slice of each member after the first one. Each further slice is twice as large, up
to `GZIP_SLICE`. The library copies the bytes after the member's end, so many small members would cost
quadratic time if each got all the data."""


def _gzip(data: memoryview, budget: int) -> Iterator[bytes]:
    pos = 0
    while True:
        member = _GzipMember(data, pos)
        given = 0
        if pos:
            yield b""
        try:
            for piece in member.pieces(budget):
                given += len(piece)
                yield piece
        except _GZIP_ERROR as error:
            if pos and not given:
                return
            raise CodecError(str(error)) from error
        budget -= given
        pos = member.end
        if len(data) - pos <= _GZIP_SMALLEST:
            return


class _GzipMember:
    """The gzip member that begins at position `end`. `pieces` moves `end` to the end of the member. A slice
    without any output gives an empty piece, so that the caller can stop."""

    def __init__(self, data: memoryview, end: int) -> None:
        self._data = data
        self.end = end

    def pieces(self, budget: int) -> Iterator[bytes]:
        member = isal_zlib.decompressobj(wbits=31)
        held, size = b"", _GZIP_FIRST_SLICE if self.end else GZIP_SLICE
        is_full = False
        while not member.eof:
            given: bytes | memoryview = held
            if not held and not is_full:
                given = self._data[self.end : self.end + size]
                self.end += len(given)
                size = min(2 * size, GZIP_SLICE)
                if not given:
                    raise CodecError("gzip data is cut short")
            piece = member.decompress(given, _PIECE)
            held, is_full = member.unconsumed_tail, len(piece) == _PIECE
            budget -= len(piece)
            if budget < 0:
                raise BudgetError
            if piece or not member.eof:
                yield piece
        self.end -= len(member.unused_data)


XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER: Final = 16


def _snappy(data: memoryview, budget: int) -> Iterator[bytes | memoryview]:
    if len(data) < XERIAL_HEADER or bytes(data[:8]) != XERIAL_MAGIC:
        yield from _snappy_block(data, budget)
        return
    pos, left = XERIAL_HEADER, budget
    while pos < len(data):
        if len(data) - pos < 4:
            raise CodecError("snappy block size is cut short")
        size = int.from_bytes(data[pos : pos + 4], "big", signed=True)
        pos += 4
        if bytes(data[pos - 4 : pos]) == XERIAL_MAGIC[:4]:  # another stream begins: skip its header
            pos += XERIAL_HEADER - 4
            yield b""
            continue
        if size < 0 or size > len(data) - pos:
            raise CodecError(f"snappy block of {size} bytes, {len(data) - pos} left")
        for piece in _snappy_block(data[pos : pos + size], left):
            left -= len(piece)
            yield piece
        pos += size


_SNAPPY_PIECE: Final = 1 << 20


def _snappy_block(block: memoryview, budget: int) -> Iterator[memoryview]:
    """The output of one block, in pieces that share its memory."""
    try:
        if cramjam.snappy.decompress_raw_len(block) > budget:
            raise BudgetError
        plain = memoryview(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CodecError(str(error)) from error
    for start in range(0, max(1, len(plain)), _SNAPPY_PIECE):
        yield plain[start : start + _SNAPPY_PIECE]


_LZ4_MAGIC: Final = 0x184D2204
_LZ4_BLOCK_SIZES: Final = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
_LZ4_UNCOMPRESSED: Final = 0x80000000
_UINT32_LE: Final = struct.Struct("<I")


def _lz4(data: memoryview, budget: int, ignores_checksum: bool) -> Iterator[bytes]:
    try:
        pos, block_size, has_block_checksums = _lz4_header(data, ignores_checksum)
        yield from _lz4_blocks(data, pos, block_size, has_block_checksums, budget)
    except (struct.error, IndexError) as error:
        raise CodecError("lz4 frame is cut short") from error


def _lz4_header(data: memoryview, ignores_checksum: bool) -> tuple[int, int, bool]:
    """The position of the first block, the size limit of a block, and whether blocks have checksums."""
    if _UINT32_LE.unpack_from(data, 0)[0] != _LZ4_MAGIC:
        raise CodecError("not an lz4 frame")
    flags, descriptor = data[4], data[5]
    if flags >> 6 != 1:
        raise CodecError(f"lz4 frame version {flags >> 6}")
    if not flags & 0x20:
        raise CodecError("lz4 dependent blocks, which Kafka does not read")
    if flags & 0x03 or descriptor & 0x8F:
        raise CodecError("lz4 reserved bits are set")
    block_size = _LZ4_BLOCK_SIZES.get(descriptor >> 4)
    if block_size is None:
        raise CodecError(f"lz4 block size code {descriptor >> 4}")
    end = 14 if flags & 0x08 else 6
    checksum = data[end]
    if not ignores_checksum and (xxhash.xxh32_intdigest(bytes(data[4:end])) >> 8) & 0xFF != checksum:
        raise CodecError("lz4 header checksum is wrong")
    return end + 1, block_size, bool(flags & 0x10)


def _lz4_blocks(
    data: memoryview, pos: int, block_size: int, has_checksums: bool, budget: int
) -> Iterator[bytes]:
    left = budget
    while size := (word := _UINT32_LE.unpack_from(data, pos)[0]) & ~_LZ4_UNCOMPRESSED:
        block = data[pos + 4 : pos + 4 + size]
        pos += 4 + size
        if len(block) < size or size > block_size:
            raise CodecError(f"lz4 block of {size} bytes, {len(block)} there, {block_size} at most")
        if has_checksums:
            if _UINT32_LE.unpack_from(data, pos)[0] != xxhash.xxh32_intdigest(bytes(block)):
                raise CodecError("lz4 block checksum is wrong")
            pos += 4
        if word & _LZ4_UNCOMPRESSED:
            out = bytes(block)
        else:
            room = min(block_size, left + 1)
            try:
                out = lz4.block.decompress(block, uncompressed_size=room)
            except lz4.block.LZ4BlockError as error:
                if room < block_size:  # the library does not say which of the two it is
                    raise BudgetError from error
                raise CodecError(str(error)) from error
            if readers.holds_zeros(out) and readers.lz4_size(block) != len(out):
                raise CodecError("an lz4 match copies what is not there")
        left -= len(out)
        if left < 0:
            raise BudgetError
        yield out


def _zstd(data: memoryview, budget: int, window: int) -> Iterator[bytes]:
    window = max(window, _ZSTD_SMALLEST_WINDOW)  # the library raises an error for a smaller limit
    reader = zstandard.ZstdDecompressor(max_window_size=window).stream_reader(data, read_across_frames=True)
    left = budget
    try:
        while chunk := reader.read(_PIECE):
            left -= len(chunk)
            if left < 0:
                raise BudgetError
            yield chunk
    except zstandard.ZstdError as error:
        if "too much memory" in str(error):
            raise WindowError from error
        raise CodecError(str(error)) from error
    yield from _zstd_to_its_end(data, budget - left)  # the reader reports no error for a truncated frame


_ZSTD_SMALLEST_WINDOW: Final = 1 << 10
_ZSTD_SKIPPABLE: Final = 0x184D2A50
_ZSTD_RLE: Final = 1


def _zstd_to_its_end(data: memoryview, size: int) -> Iterator[bytes]:
    """An empty piece for each block. Raises CodecError if the last frame's last block or checksum is
    incomplete, or if a match reaches back before its frame's window. `size` is the output size of all frames
    together."""
    pos = 0
    try:
        while pos < len(data):
            start = pos
            for end in zstd_block_ends(data, start):
                pos = end
                yield b""
            if pos <= len(data) and not _keeps_to_window(data[start:pos], size):
                raise CodecError("a zstd match is further back than its frame's window")
    except (struct.error, IndexError):
        raise CodecError("zstd frame is cut short") from None
    if pos != len(data):
        raise CodecError("zstd frame is cut short")


def _keeps_to_window(frame: memoryview, size: int) -> bool:
    """True if no match of this complete frame (or skippable frame) reaches back before its window. `size` is
    the output size of all frames together: a frame with a window of that size needs no check."""
    if size <= _ZSTD_SMALLEST_WINDOW or _UINT32_LE.unpack_from(frame, 0)[0] & 0xFFFFFFF0 == _ZSTD_SKIPPABLE:
        return True
    window = zstandard.get_frame_parameters(frame).window_size
    return window >= size or zstd_keeps_to_window(frame, window)


def zstd_keeps_to_window(frame: bytes | memoryview, window: int) -> bool:
    """True if no match of one complete frame reaches back further than `window`, the frame's own window.

    For a match that reaches back further, a decoder with a buffer for the whole frame copies the original
    bytes. A decoder with a buffer for one window has overwritten these bytes, and copies the newer ones.
    Brokers use either decoder, depending on sizes and on their version.

    To decode both ways and compare was tried, and finds too little. libzstd's stream keeps a block more than
    the window, so both decoders agreed on 376 of 400 frames whose matches reached 6 to 16 bytes too far. A
    decoder that keeps less reads other bytes.
    """
    return readers.zstd_size(frame, zstandard.frame_header_size(frame), window) >= 0


def zstd_block_ends(data: bytes | memoryview, pos: int) -> Iterator[int]:
    """The end of each block of the frame at `pos`, as the declared sizes say (RFC 8878, 3.1). It may be
    beyond the data. The last end is the end of the frame.

    Raises struct.error or IndexError if a size field is missing.
    """
    magic = _UINT32_LE.unpack_from(data, pos)[0]
    if magic & 0xFFFFFFF0 == _ZSTD_SKIPPABLE:
        yield pos + 8 + int(_UINT32_LE.unpack_from(data, pos + 4)[0])
        return
    flags = data[pos + 4]
    is_single_segment = bool(flags & 0x20)
    content_size = (1 if is_single_segment else 0, 2, 4, 8)[flags >> 6]
    pos += 5 + (not is_single_segment) + (0, 1, 2, 4)[flags & 3] + content_size
    is_last = False
    while not is_last:
        block = int.from_bytes(data[pos : pos + 3], "little") if pos + 3 <= len(data) else data[pos + 3]
        is_last = bool(block & 1)
        pos += 3 + (1 if block >> 1 & 3 == _ZSTD_RLE else block >> 3)
        yield pos + (4 if is_last and flags & 0x04 else 0)


_READERS: Final[dict[int, Callable[[memoryview, int], Iterator[bytes | memoryview]]]] = {
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
}
