"""`compress`: compresses records as Kafka's own producers do, so that every reader can read them.

Source: `org.apache.kafka.common.compress`. gzip · snappy in xerial's framing with blocks of 32 KiB · lz4
frames with independent blocks of 64 KiB and no checksum of the content · zstd. Levels are Kafka's defaults.
"""

import struct
import zlib
from collections.abc import Callable
from typing import Final

import cramjam
import lz4.frame
import zstandard

from tsproxy.model.kafka import Codec

_SNAPPY_BLOCK: Final = 32 * 1024
_XERIAL_HEAD: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_GZIP: Final = 16  # added to the window bits, it selects gzip's header and trailer
_ZSTD_LEVEL: Final = 3


def compress(codec: Codec, data: bytes) -> bytes:
    return _WRITERS[codec](data)


def _gzip(data: bytes) -> bytes:
    writer = zlib.compressobj(wbits=zlib.MAX_WBITS | _GZIP)
    return writer.compress(data) + writer.flush()


def _snappy(data: bytes) -> bytes:
    out = [_XERIAL_HEAD]
    for start in range(0, len(data), _SNAPPY_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _SNAPPY_BLOCK]))
        out += [struct.pack(">i", len(block)), block]
    return b"".join(out)


def _lz4(data: bytes) -> bytes:
    return bytes(
        lz4.frame.compress(
            data,
            block_size=lz4.frame.BLOCKSIZE_MAX64KB,
            block_linked=False,
            content_checksum=False,
            store_size=False,
        )
    )


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(data)


_WRITERS: Final[dict[Codec, Callable[[bytes], bytes]]] = {
    Codec.NONE: bytes,
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
    Codec.ZSTD: _zstd,
}
