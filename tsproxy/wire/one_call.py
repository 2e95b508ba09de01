"""Decompresses what is small and plainly right in one call: the short way beside `codecs`.

It never says what is wrong. Wherever the data is large, odd, damaged or has very many blocks the answer is
None, and the long way, which knows what Kafka's reader makes of it, is to be taken. Where it is not None,
the long way would have given the same bytes.

* gzip: one member, with nothing behind it that a reader looks at.
* snappy: as `codecs` reads it, into one buffer.
* lz4: one frame of independent blocks, without a checksum over the content, which Kafka does not read.
* zstd: one frame, and nothing before or behind it.

Where a match copies what is not there (`codecs`), the answer is None as well.
"""

import struct
from collections.abc import Callable
from itertools import islice
from typing import Final

import cramjam
import lz4.frame
import zstandard
from isal import isal_zlib

from tsproxy.model.kafka import Codec
from tsproxy.wire import kernel
from tsproxy.wire.codecs import (
    GZIP_ERROR,
    GZIP_SMALLEST,
    XERIAL_HEADER,
    XERIAL_MAGIC,
    most_shells,
    zstd_block_ends,
    zstd_keeps_to_window,
)

MOST_BYTES: Final = 1 << 20
"""What one call may give: a piece of work of a millisecond or so, and a bound on memory."""


def decompressed(codec_id: int, data: bytes, most: int, zstd_window: int) -> bytes | bytearray | None:
    """All of `data`'s output where it is no more than `most` bytes and nothing is odd about it."""
    if most < 1:  # the libraries take 0 for no limit
        return None
    if codec_id == Codec.ZSTD:
        return _zstd(data, most, zstd_window)
    read = _READERS.get(codec_id)
    return None if read is None else read(data, most)


def _gzip(data: bytes, most: int) -> bytes | None:
    if int.from_bytes(data[-4:], "little") > most:  # as the trailer says, if it is one
        return None
    member = isal_zlib.decompressobj(wbits=31)
    try:
        plain = member.decompress(data, most)
    except GZIP_ERROR:
        return None
    return plain if member.eof and len(member.unused_data) <= GZIP_SMALLEST else None


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
    """The blocks; what is cut short or is no xerial stream comes to blocks that are none."""
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
_LZ4_MINDED: Final = 0b1110_0111
"""The flags that matter here: version, independence, content checksum, reserved, dictionary."""
_LZ4_WANTED: Final = 0b0110_0000
_LZ4_BLOCK_CHECKSUM: Final = 0b0001_0000
_LZ4_CONTENT_SIZE: Final = 0b0000_1000
_LZ4_UNCOMPRESSED: Final = 0x80000000


def _lz4(data: bytes, most: int) -> bytes | None:
    if data[:4] != _LZ4_MAGIC or len(data) < 7 or data[4] & _LZ4_MINDED != _LZ4_WANTED:
        return None
    try:
        plain, _, has_ended = lz4.frame.decompress_chunk(lz4.frame.create_decompression_context(), data, most)
    except RuntimeError:  # its only kind of error
        return None
    return plain if has_ended and _lz4_is_sound(data, plain) else None


def _lz4_is_sound(data: bytes, plain: bytes) -> bool:
    """True where a whole frame that came to `plain` ends where Kafka's reader sees its end, which an empty
    block is, too, and no match of its blocks copies what is not there. Not of very many blocks: nobody has
    counted these yet."""
    pos = 15 if data[4] & _LZ4_CONTENT_SIZE else 7
    checksum = 4 if data[4] & _LZ4_BLOCK_CHECKSUM else 0
    may_be_unsound: bool | None = None  # not looked for where no block is compressed
    for _ in range(most_shells(len(data))):
        word = int.from_bytes(data[pos : pos + 4], "little")
        if not word:
            return True
        end = pos + 4 + (word & ~_LZ4_UNCOMPRESSED)
        if word == _LZ4_UNCOMPRESSED:
            return False
        if word == end - pos - 4:
            if may_be_unsound is None:
                may_be_unsound = kernel.holds_zeros(plain)
            if may_be_unsound and kernel.lz4_unfolded(data[pos + 4 : end]) < 0:
                return False
        pos = end + checksum
    return False


_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"


def _zstd(data: bytes, most: int, window: int) -> bytes | None:
    if data[:4] != _ZSTD_MAGIC:
        return None
    try:
        frame = zstandard.get_frame_parameters(data)
        is_known = frame.content_size != zstandard.CONTENTSIZE_UNKNOWN
        # Of a frame that says it is empty the library reads no further; it reads any window where all fits.
        if frame.window_size > window or (is_known and not 0 < frame.content_size <= most):
            return None
        *others, end = islice(zstd_block_ends(data, 0), most_shells(len(data)) + 1)
        if end != len(data) or len(others) == most_shells(len(data)):
            return None
        plain = zstandard.ZstdDecompressor(max_window_size=window).decompress(data, max_output_size=most)
        if len(plain) > frame.window_size and not zstd_keeps_to_window(data, frame.window_size):
            return None
        return plain
    except (zstandard.ZstdError, struct.error, IndexError):
        return None


_READERS: Final[dict[int, Callable[[bytes, int], bytes | bytearray | None]]] = {
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
}
