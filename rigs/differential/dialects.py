"""Compressed bytes in every dialect that some producer writes, and in a few that none should.

Each dialect is a function bytes -> bytes. Kafka's brokers read the dialects in `GOOD`, and reject those in
`BAD` as data that does not decompress.
"""

import gzip
from collections.abc import Callable
from typing import Final

import lz4.frame
import xxhash
import zstandard

from tests.wire.batches import raw_snappy, xerial
from tsproxy.model.kafka import Codec

Dialect = Callable[[bytes], bytes]


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def _gzip_members(data: bytes) -> bytes:
    middle = len(data) // 2
    return _gzip(data[:middle]) + _gzip(data[middle:])


def _gzip_with_tail(data: bytes) -> bytes:
    return _gzip(data) + b"\x00" * 7


def _xerial(data: bytes, block_bytes: int = 32 * 1024) -> bytes:
    return xerial(*(data[at : at + block_bytes] for at in range(0, len(data), block_bytes)))


def _xerial_twice(data: bytes) -> bytes:
    middle = len(data) // 2
    return _xerial(data[:middle]) + _xerial(data[middle:])


def lz4_frame(data: bytes, **options: object) -> bytes:
    settings = {"block_linked": False, "store_size": False, "block_size": lz4.frame.BLOCKSIZE_MAX64KB}
    return bytes(lz4.frame.compress(data, **(settings | options)))


def _lz4_all_flags(data: bytes) -> bytes:
    return lz4_frame(
        data,
        store_size=True,
        block_checksum=True,
        content_checksum=True,
        block_size=lz4.frame.BLOCKSIZE_MAX4MB,
    )


def lz4_with_magic_in_checksum(data: bytes) -> bytes:
    """The frame of Kafka's producers before 0.10: the header's checksum covers the magic as well."""
    frame = bytearray(lz4_frame(data))
    frame[6] = xxhash.xxh32_intdigest(bytes(frame[:6])) >> 8 & 0xFF
    return bytes(frame)


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def _zstd_frames(data: bytes) -> bytes:
    middle = len(data) // 2
    return _zstd(data[:middle]) + _zstd(data[middle:])


def _zstd_streamed(data: bytes) -> bytes:
    compressor = zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compressobj()
    return compressor.compress(data) + compressor.flush()


def _plain(data: bytes) -> bytes:
    return data


GOOD: Final[dict[int, tuple[Dialect, ...]]] = {
    Codec.NONE: (_plain,),
    Codec.GZIP: (_gzip, _gzip_members, _gzip_with_tail),
    Codec.SNAPPY: (_xerial, raw_snappy, _xerial_twice),
    Codec.LZ4: (lz4_frame, _lz4_all_flags, lambda data: lz4_frame(data) + b"tail"),
    Codec.ZSTD: (_zstd, _zstd_frames, _zstd_streamed),
}


def _cut(dialect: Dialect) -> Dialect:
    return lambda data: dialect(data)[:-3]


def _scrambled(data: bytes) -> bytes:
    return b"\xde\xad\xbe\xef" * 5 + data[:5]


BAD: Final[dict[int, tuple[Dialect, ...]]] = {
    Codec.GZIP: (_scrambled, _cut(_gzip)),
    Codec.SNAPPY: (_scrambled, _cut(_xerial)),
    Codec.LZ4: (_scrambled, _cut(lz4_frame), lz4_with_magic_in_checksum),
    Codec.ZSTD: (_scrambled, _cut(_zstd)),
}
"""`lz4_with_magic_in_checksum` is right in messages of magic 0, and wrong in all others."""
