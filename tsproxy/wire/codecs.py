"""Decompresses a batch's records as Kafka's own readers do, within a budget.

Source: `org.apache.kafka.common.compress`, xerial's snappy framing, the LZ4 frame format. Each
codec reads on, or stops, where Kafka's reader does:

* gzip: concatenated members go on; what is no member header after one is ignored, as Java does.
* snappy: xerial blocks, or one raw block where the stream does not begin with xerial's magic.
* lz4: one frame, independent blocks; block checksums are verified, the content's is not; bytes
  after the end mark are not read.
* zstd: frames go on to the end of the data.

Two kinds of data are rejected here although some decoders read them, because each reads something else: an
lz4 match of offset 0 (CVE-2025-66566) and a zstd match from before its frame's window. A decoder copies
whatever stands in its buffer then. No compressor writes either.

Raises CodecError for data that the codec rejects, BudgetError above `budget` bytes of output,
WindowError for a zstd window above the bound. The budget holds before memory is spent, and `stream`
holds no more than one piece at a time: 64 KiB, or a block where the codec has blocks (lz4: up to 4 MiB;
snappy: as long as its block says, which brokers hold whole, too).

Each member, block or frame comes to a piece at least, be it an empty one: a few bytes of nothing cost as much
as many of something, and whoever takes the pieces may have enough (`most_shells`).
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
from tsproxy.wire import kernel


class CodecError(ValueError):
    """The data is not what its codec says; brokers answer UNKNOWN_SERVER_ERROR."""


class BudgetError(ValueError):
    """More output than `limits.decompressed_batch`."""


class WindowError(ValueError):
    """A zstd frame that wants a window above `limits.zstd_window`."""


def decompress(
    codec_id: int, data: memoryview, budget: int, zstd_window: int, *, ignores_lz4_checksum: bool = False
) -> bytes:
    """All of `data`'s output in one piece; arguments and errors as in `stream`."""
    return b"".join(stream(codec_id, data, budget, zstd_window, ignores_lz4_checksum=ignores_lz4_checksum))


def stream(
    codec_id: int, data: memoryview, budget: int, zstd_window: int, *, ignores_lz4_checksum: bool = False
) -> Iterator[bytes]:
    """`data`'s output, piece by piece, at most `budget` bytes of it.

    What came before an error is part of no output: its owner drops it.
    `ignores_lz4_checksum`: old producers computed an lz4 header's checksum over the wrong bytes, so
    readers do not look at it in messages of magic 0 (KAFKA-3160).
    """
    if codec_id == Codec.ZSTD:
        return _zstd(data, budget, zstd_window)
    if codec_id == Codec.LZ4:
        return _lz4(data, budget, ignores_lz4_checksum)
    return _READERS[codec_id](data, budget)


SHELL_BYTES: Final = 1 << 10
"""A piece of fewer bytes is a shell: opening it costs more than reading it."""


def most_shells(size: int) -> int:
    """How many shells compressed data of `size` bytes may have before it is odd: of what producers write,
    blocks have 32 KiB of output at least, and 200 bytes of input where they compress best."""
    return 16 + size // 256


_PIECE: Final = 1 << 16

GZIP_ERROR: Final = cast("type[Exception]", isal_zlib.error)  # its stub calls the class an instance
GZIP_SMALLEST: Final = 18
"""A header and a trailer: Java does not look for another member in as few bytes or fewer."""
_GZIP_CHUNK: Final = 1 << 12
"""What any member but the first is fed first, then twice as much each time: it copies what was fed and
is not its own, so that many small ones, fed whole, would cost a square."""


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
        except GZIP_ERROR as error:
            if pos and not given:
                return
            raise CodecError(str(error)) from error
        budget -= given
        pos = member.end
        if len(data) - pos <= GZIP_SMALLEST:
            return


class _GzipMember:
    """The member that begins at `end`, which is moved to where it ends."""

    def __init__(self, data: memoryview, end: int) -> None:
        self._data = data
        self.end = end

    def pieces(self, budget: int) -> Iterator[bytes]:
        member = isal_zlib.decompressobj(wbits=31)
        held, chunk_size = b"", _GZIP_CHUNK if self.end else _PIECE
        is_full = False
        while not member.eof:
            chunk: bytes | memoryview = held
            if not held and not is_full:
                chunk = self._data[self.end : self.end + chunk_size]
                self.end += len(chunk)
                chunk_size = min(2 * chunk_size, _PIECE)
                if not chunk:
                    raise CodecError("gzip data is cut short")
            piece = member.decompress(chunk, _PIECE)
            held, is_full = member.unconsumed_tail, len(piece) == _PIECE
            budget -= len(piece)
            if budget < 0:
                raise BudgetError
            if piece:
                yield piece
        self.end -= len(member.unused_data)


XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER: Final = 16


def _snappy(data: memoryview, budget: int) -> Iterator[bytes]:
    if len(data) < XERIAL_HEADER or bytes(data[:8]) != XERIAL_MAGIC:
        yield _snappy_block(data, budget)
        return
    pos, left = XERIAL_HEADER, budget
    while pos < len(data):
        if len(data) - pos < 4:
            raise CodecError("snappy block size is cut short")
        size = int.from_bytes(data[pos : pos + 4], "big", signed=True)
        pos += 4
        if bytes(data[pos - 4 : pos]) == XERIAL_MAGIC[:4]:  # another stream begins: step over its header
            pos += XERIAL_HEADER - 4
            yield b""
            continue
        if size < 0 or size > len(data) - pos:
            raise CodecError(f"snappy block of {size} bytes, {len(data) - pos} left")
        block = _snappy_block(data[pos : pos + size], left)
        left -= len(block)
        pos += size
        yield block


def _snappy_block(block: memoryview, budget: int) -> bytes:
    raw = bytes(block)
    try:
        if cramjam.snappy.decompress_raw_len(raw) > budget:
            raise BudgetError
        return bytes(cramjam.snappy.decompress_raw(raw))
    except cramjam.DecompressionError as error:
        raise CodecError(str(error)) from error


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
    """(where the blocks begin, the largest block's size, whether blocks carry checksums)."""
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
            try:
                out = lz4.block.decompress(block, uncompressed_size=block_size)
            except lz4.block.LZ4BlockError as error:
                raise CodecError(str(error)) from error
            if kernel.holds_zeros(out) and kernel.lz4_unfolded(block) != len(out):
                raise CodecError("an lz4 match copies what is not there")
        left -= len(out)
        if left < 0:
            raise BudgetError
        yield out


def _zstd(data: memoryview, budget: int, window: int) -> Iterator[bytes]:
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
    yield from _zstd_to_its_end(data, budget - left)  # the reader takes a cut frame for a finished one


_ZSTD_SMALLEST_WINDOW: Final = 1 << 10
_ZSTD_SKIPPABLE: Final = 0x184D2A50
_ZSTD_RLE: Final = 1


def _zstd_to_its_end(data: memoryview, size: int) -> Iterator[bytes]:
    """An empty piece for each block. CodecError unless the last frame's last block, and its checksum, are
    all there, and every match keeps to its frame's window. `size` is what all frames come to."""
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
    """True where no match of this whole frame, or skippable frame, reaches back before its window. `size` is
    what all frames come to: a frame whose window is as large needs no look."""
    if size <= _ZSTD_SMALLEST_WINDOW or _UINT32_LE.unpack_from(frame, 0)[0] & 0xFFFFFFF0 == _ZSTD_SKIPPABLE:
        return True
    window = zstandard.get_frame_parameters(frame).window_size
    return window >= size or zstd_keeps_to_window(frame, window)


def zstd_keeps_to_window(frame: bytes | memoryview, window: int) -> bool:
    """True where no match of one whole frame reaches back further than `window`, the frame's own.

    A decoder that has room for all of a frame copies what was there; one that keeps a window copies what it
    has written over it since. Which of them a broker takes depends on sizes and on its version.
    """
    return kernel.zstd_unfolded(frame, zstandard.frame_header_size(frame), window) >= 0


def zstd_block_ends(data: bytes | memoryview, pos: int) -> Iterator[int]:
    """Where each block of the frame at `pos` ends, as their sizes say (RFC 8878, 3.1), which may be past the
    data; the last is where the frame ends.

    Raises struct.error or IndexError where a size that it asks for is not there.
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


_READERS: Final[dict[int, Callable[[memoryview, int], Iterator[bytes]]]] = {
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
}
