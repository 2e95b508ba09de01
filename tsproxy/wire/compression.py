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
from tsproxy.wire.record_batch import Charge, for_nothing

_PIECE: Final = 1 << 18
"""The bytes that gzip gets in one call: about 10 ms."""
_SNAPPY_BLOCK: Final = 32 * 1024
_XERIAL_HEAD: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_GZIP: Final = 16  # added to the window bits, it selects gzip's header and trailer
_ZSTD_LEVEL: Final = 3
ZSTD_WINDOW: Final = 1 << 21
"""The largest window that this level needs."""


def compress(codec: Codec, data: bytes, charge: Charge = for_nothing) -> bytes:
    """The compressed `data`. `charge` gets the number of bytes of each piece before it is compressed. Raises
    only the errors of `charge`."""
    return _WRITERS[codec](data, charge)


def _plain(data: bytes, _charge: Charge) -> bytes:
    return data


def _gzip(data: bytes, charge: Charge) -> bytes:
    writer = zlib.compressobj(wbits=zlib.MAX_WBITS | _GZIP)
    out = []
    for start in range(0, len(data), _PIECE):
        charge(_PIECE)
        out.append(writer.compress(data[start : start + _PIECE]))
    return b"".join(out) + writer.flush()


def _snappy(data: bytes, charge: Charge) -> bytes:
    out = [_XERIAL_HEAD]
    for start in range(0, len(data), _SNAPPY_BLOCK):
        charge(_SNAPPY_BLOCK)
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _SNAPPY_BLOCK]))
        out += [struct.pack(">i", len(block)), block]
    return b"".join(out)


def _lz4(data: bytes, charge: Charge) -> bytes:
    charge(len(data))
    return bytes(
        lz4.frame.compress(
            data,
            block_size=lz4.frame.BLOCKSIZE_MAX64KB,
            block_linked=False,
            content_checksum=False,
            store_size=False,
        )
    )


def _zstd(data: bytes, charge: Charge) -> bytes:
    charge(len(data))
    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(data)


_WRITERS: Final[dict[Codec, Callable[[bytes, Charge], bytes]]] = {
    Codec.NONE: _plain,
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
    Codec.ZSTD: _zstd,
}
