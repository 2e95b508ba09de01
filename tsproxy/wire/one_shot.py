"""Decompresses small and ordinary data in one call, as a shortcut for `codecs`.

The result is None for data that is large (`most_input`), unusual or damaged, and for data that costs much
for its size: with very many blocks, or a very large output. The caller then uses `codecs`, which does exactly
what Kafka's reader does. A result that is not None has the same bytes as the result of `codecs`.

* gzip: one member that compresses its content, with nothing after it.
* snappy: the same streams as in `codecs`, into one buffer.
* lz4: one frame of independent blocks. If blocks have 64 KiB, and the content has a checksum, it is right.
  Kafka does not read that checksum.
* zstd: one frame, with nothing before or after it.

If a match copies data that is not there (`codecs`), the result is None as well.
"""

import zlib
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

import cramjam
import lz4.frame
import zstandard

from tsproxy.model.kafka import Codec
from tsproxy.wire import readers
from tsproxy.wire.codecs import (
    XERIAL_HEADER,
    XERIAL_MAGIC,
    BudgetError,
    CodecError,
    most_shells,
    stream,
    zstd_keeps_to_window,
)

MAX_BYTES: Final = 1 << 20
"""The largest output of one call, in bytes. The limit saves memory. So much output takes about a millisecond.
It is also the largest input: the usual batch of a producer decompresses to 1 MB at most, and has almost as
many bytes itself if its records hardly compress."""

_MAX_GZIP_BYTES: Final = 1 << 16
_GZIP_WEIGHT: Final = 32
"""A deflate block may describe codes in 14 bytes and use none, and no library counts blocks. zlib takes 0.055
us per byte of such blocks, which is 57 ms per MiB. So a call takes at most 4 ms, and all calls of one read
take 8 ms. isal, which `codecs` uses, takes 0.36 us per byte. For batches of 3 to 100 KB zlib takes 1 to 2.5
times as long as isal: 240 us for 100 KB. The way to a thread takes 250 us."""


def most_input(codec_id: int) -> int:
    """The largest input of one call, in bytes."""
    return _MAX_GZIP_BYTES if codec_id == Codec.GZIP else MAX_BYTES


def input_weight(codec_id: int) -> int:
    """The number of bytes of output for which the event loop is charged per byte of input."""
    return _GZIP_WEIGHT if codec_id == Codec.GZIP else 1


def most_output(size: int) -> int:
    """The largest output of compressed data of `size` bytes, in bytes. To make a byte and to read it takes up
    to 1.5 ns, and 100 bytes of lz4, zstd or gzip may come to a mebibyte of small records. Producers' batches
    compress to a twentieth at best, but for small ones and those of equal records. For these, the way to a
    thread is short beside their decompression."""
    return (48 << 10) + 24 * size


def decompressed(codec_id: int, data: bytes, most: int, zstd_window: int) -> bytes | bytearray | None:
    """The whole output of `data`, or None if it is larger than `most` bytes, or if `data` is large or
    unusual."""
    most = min(most, MAX_BYTES, most_output(len(data)))
    if most < 1 or len(data) > most_input(codec_id):  # in the libraries, 0 means no limit
        return None
    if codec_id == Codec.ZSTD:
        return _zstd(data, most, zstd_window)
    read = _READERS.get(codec_id)
    return None if read is None else read(data, most)


_GZIP_OVERHEAD: Final = 256
"""Bytes of a member's header and trailer, with a short name, and of the codes of a block. No compressor makes
more than these and five quarters of the content."""


def _gzip(data: bytes, most: int) -> bytes | None:
    size = int.from_bytes(data[-4:], "little")  # of the content, if these bytes are a trailer
    if size > most or len(data) > _GZIP_OVERHEAD + size + size // 4:
        return None
    member = zlib.decompressobj(wbits=31)
    try:
        plain = member.decompress(data, most)
    except zlib.error:
        return None
    return plain if member.eof and not member.unused_data else None


def pieces(codec_id: int, data: memoryview, budget: int, zstd_window: int) -> Iterable[bytes | memoryview]:
    """The output of `data` in one piece if that is possible, else piece by piece as `codecs` gives it.

    The event loop decompresses a batch that was read on it once more, to find its culprits or to rewrite it.
    For that, too, one call must not take long.
    """
    plain = None
    if len(data) <= most_input(codec_id):
        plain = decompressed(codec_id, bytes(data), budget, zstd_window)
    if plain is None:
        return stream(codec_id, data, budget, zstd_window)
    return (plain if isinstance(plain, bytes) else memoryview(plain),)


def _snappy(data: bytes, most: int) -> bytearray | None:
    blocks = _xerial_blocks(data)
    try:
        sizes = [cramjam.snappy.decompress_raw_len(block) for block in blocks]
        if sum(sizes) > most:
            return None
        plain, end = bytearray(sum(sizes)), 0
        out = memoryview(plain)
        for block, size in zip(blocks, sizes, strict=True):
            cramjam.snappy.decompress_raw_into(block, out[end : end + size])
            end += size
    except cramjam.DecompressionError:
        return None
    return plain


def _xerial_blocks(data: bytes) -> list[bytes]:
    """The blocks. Data without xerial's magic is one block. Truncated data, and data of very many blocks,
    give one invalid block."""
    if len(data) < XERIAL_HEADER or data[:8] != XERIAL_MAGIC:
        return [data]
    blocks: list[bytes] = []
    pos = XERIAL_HEADER
    while pos < len(data):
        size = int.from_bytes(data[pos : pos + 4], "big")
        pos += 4
        if size > len(data) - pos or len(blocks) > most_shells(len(data)):
            return [b""]
        blocks.append(data[pos : pos + size])
        pos += size
    return blocks


_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_CHECKED_FLAGS: Final = 0b1110_0011
"""The flags that are checked: version, independence, reserved, dictionary."""
_LZ4_REQUIRED_FLAGS: Final = 0b0110_0000
_LZ4_BLOCK_CHECKSUM: Final = 0b0001_0000
_LZ4_CONTENT_SIZE: Final = 0b0000_1000
_LZ4_UNCOMPRESSED: Final = 0x80000000
_LZ4_64_KIB: Final = 0x40
"""The size of blocks, as the second byte after the magic says it."""


def _lz4(data: bytes, most: int) -> bytes | None:
    if data[:4] != _LZ4_MAGIC or len(data) < 7 or data[4] & _LZ4_CHECKED_FLAGS != _LZ4_REQUIRED_FLAGS:
        return None
    if data[5] > _LZ4_64_KIB:
        return _lz4_blocks(data, most)
    try:
        plain, _, has_ended = lz4.frame.decompress_chunk(lz4.frame.create_decompression_context(), data, most)
    except RuntimeError:  # the only error that the library raises
        return None
    return plain if has_ended and _lz4_is_sound(data, plain) else None


def _lz4_blocks(data: bytes, most: int) -> bytes | None:
    """For larger blocks, as Go clients write them: the library would decompress one of up to 4 MiB whole, and
    then copy `most` bytes of it."""
    most_blocks = most_shells(len(data))
    try:
        blocks = list(islice(stream(Codec.LZ4, memoryview(data), most, 0), most_blocks + 1))
    except (CodecError, BudgetError):
        return None
    return None if len(blocks) > most_blocks else b"".join(blocks)


def _lz4_is_sound(data: bytes, plain: bytes) -> bool:
    """True if Kafka's reader ends the complete frame in `data` at the same place, and if no match copies data
    that is not there. For Kafka's reader, an empty block is an end, too. `plain` is the output of the frame.

    The result is also False for very many blocks, because nothing has counted the blocks before.
    """
    pos = 15 if data[4] & _LZ4_CONTENT_SIZE else 7
    checksum = 4 if data[4] & _LZ4_BLOCK_CHECKSUM else 0
    may_be_unsound: bool | None = None  # not checked if no block is compressed
    for _ in range(most_shells(len(data))):
        word = int.from_bytes(data[pos : pos + 4], "little")
        if not word:
            return True
        end = pos + 4 + (word & ~_LZ4_UNCOMPRESSED)
        if word == _LZ4_UNCOMPRESSED:
            return False
        if word == end - pos - 4:
            if may_be_unsound is None:
                may_be_unsound = readers.holds_zeros(plain)
            if may_be_unsound and readers.lz4_size(data[pos + 4 : end]) < 0:
                return False
        pos = end + checksum
    return False


_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"


_FREE: Final[list[tuple[int, zstandard.ZstdDecompressor]]] = []
"""Decompressors that no thread uses, with their windows. To make one takes as long as to decompress 10 KB.
There are never more than threads that have decompressed at the same time."""


def _zstd_decompressed(data: bytes, most: int, window: int) -> bytes:
    try:
        of_window, decompressor = _FREE.pop()
    except IndexError:  # not asked before: another thread may take the last one
        of_window, decompressor = window, zstandard.ZstdDecompressor(max_window_size=window)
    if of_window != window:
        decompressor = zstandard.ZstdDecompressor(max_window_size=window)
    plain = decompressor.decompress(data, max_output_size=most)
    _FREE.append((window, decompressor))
    return plain


def _zstd(data: bytes, most: int, window: int) -> bytes | None:
    if data[:4] != _ZSTD_MAGIC:
        return None
    try:
        frame = zstandard.get_frame_parameters(data)
        work = readers.zstd_work(data, zstandard.frame_header_size(data), 4 * frame.has_checksum)
        is_known = frame.content_size != zstandard.CONTENTSIZE_UNKNOWN
        is_in_window = frame.window_size >= (frame.content_size if is_known else most)
        # Half of the work is to look for matches from before the window.
        most = min(most, most_output(len(data)) - (work // 2 if is_in_window else work))
        if work < 0 or most < 1:
            return None
        # The library stops at a frame that declares an empty content. It accepts any window if all data fits.
        if frame.window_size > window or (is_known and not 0 < frame.content_size <= most):
            return None
        plain = _zstd_decompressed(data, most, window)
    except zstandard.ZstdError:
        return None
    is_sound = len(plain) <= frame.window_size or zstd_keeps_to_window(data, frame.window_size)
    return plain if is_sound else None


_READERS: Final[dict[int, Callable[[bytes, int], bytes | bytearray | None]]] = {
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
}
