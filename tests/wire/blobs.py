"""Compressed data for the decoders, drawn from a seed: right, damaged, and such as no compressor writes."""

import gzip
import struct
import zlib
from collections.abc import Iterator
from random import Random

import lz4.block
import lz4.frame
import xxhash
import zstandard

from tests.wire.batches import (
    GZIP,
    LZ4,
    SNAPPY,
    XERIAL_HEADER,
    ZSTD,
    raw_snappy,
    record,
    unsigned,
    xerial,
)

SKIPPABLE = struct.pack("<II", 0x184D2A53, 4) + b"skip"


def blobs(codec: int, seed: int, count: int) -> Iterator[bytes]:
    """`count` blobs; each draws from a random of its own, so that one can be looked at alone."""
    for number in range(count):
        random = Random(f"{codec} {seed} {number}")
        made = _MAKERS[codec](random)
        yield _damaged(random, made) if random.random() < 0.4 else made


def plain(random: Random, most: int = 4000) -> bytes:
    """Words, some of them again, and zeros."""
    words = [random.randbytes(random.randint(1, 12)) for _ in range(random.choice([1, 5, 40]))] + [bytes(5)]
    out = bytearray()
    size = random.choice([0, 1, 30, most // 4, most])
    while len(out) < size:
        out += random.choice(words)
    return bytes(out[:size])


def _damaged(random: Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 6])):
        if out:
            out[random.randrange(len(out))] = random.choice([0, 0, 1, 0xFF, random.getrandbits(8)])
    if random.random() < 0.1:
        del out[random.randint(0, len(out)) :]
    if random.random() < 0.1:
        out += random.choice([b"\x00", bytes(30), data, random.randbytes(9)])
    return bytes(out)


# -- lz4 --------------------------------------------------------------------------------------------


def lz4_frame(blocks, flags=0x60, size_code=4, content_size=b"", tail=b""):
    """A frame of (data, is_compressed) pairs, its checksums right."""
    descriptor = bytes([flags, size_code << 4]) + content_size
    out = b"\x04\x22\x4d\x18" + descriptor + bytes([xxhash.xxh32_intdigest(descriptor) >> 8 & 0xFF])
    for block, is_compressed in blocks:
        out += struct.pack("<I", len(block) | (0 if is_compressed else 0x80000000)) + block
        if flags & 0x10:
            out += struct.pack("<I", xxhash.xxh32_intdigest(block))
    return out + bytes(4) + tail


def lz4_block(*sequences, end=b"123456789012"):
    """(literals, offset, length of the match) for each; `end` are the literals behind the last."""
    out = b""
    for literals, offset, match in sequences:
        out += bytes([min(len(literals), 15) << 4 | min(match - 4, 15)]) + _more(len(literals))
        out += literals + struct.pack("<H", offset) + _more(match - 4)
    return out + bytes([min(len(end), 15) << 4]) + _more(len(end)) + end


def _more(length):
    if length < 15:
        return b""
    return b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255])


def _lz4(random: Random) -> bytes:
    if random.random() < 0.3:
        options = {"block_size": random.choice([4, 5]), "content_checksum": random.random() < 0.2}
        options |= {"block_checksum": random.random() < 0.3, "store_size": random.random() < 0.2}
        return lz4.frame.compress(plain(random, 80_000), block_linked=False, **options)
    blocks = []
    for _ in range(random.choice([1, 1, 2, 4])):
        kind = random.random()
        if kind < 0.2:
            blocks.append((plain(random, 300), False))
        elif kind < 0.4:
            blocks.append((lz4.block.compress(plain(random), store_size=False), True))
        else:
            blocks.append((_lz4_sequences(random), True))
    flags = 0x60 | random.choice([0, 0, 0, 0x10, 0x04, 0x08])
    content_size, tail = bytes(8) if flags & 8 else b"", bytes(4) if flags & 4 else b""
    return lz4_frame(blocks, flags, random.choice([4, 4, 5]), content_size, tail)


def _lz4_sequences(random: Random) -> bytes:
    written, sequences = 0, []
    for _ in range(random.choice([0, 1, 3, 20])):
        literals = random.randbytes(random.choice([0, 1, 3, 9, 14, 15, 16, 300]))
        written += len(literals)
        odd = random.random()
        if odd < 0.05:
            offset = 0
        elif odd < 0.08:
            offset = min(0xFFFF, written + random.choice([1, 2, 9]))
        else:
            offset = min(0xFFFF, random.choice([1, 2, 3, 7, 8, 9, 16, written, written // 2]))
            offset = max(1, min(written, offset))
        match = random.choice([4, 5, 7, 8, 12, 18, 19, 20, 300])
        written += match
        sequences.append((literals, offset, match))
    return lz4_block(*sequences, end=random.randbytes(random.choice([0, 1, 4, 5, 8, 12, 13, 40])))


# -- snappy -----------------------------------------------------------------------------------------


def _snappy(random: Random) -> bytes:
    kind = random.random()
    if kind < 0.2:
        return raw_snappy(plain(random))
    if kind < 0.4:
        return xerial(*(plain(random) for _ in range(random.choice([0, 1, 2, 3]))))
    if kind < 0.6:
        return _snappy_elements(random)
    out = XERIAL_HEADER
    for _ in range(random.choice([1, 2, 3])):
        block = raw_snappy(plain(random)) if random.random() < 0.4 else _snappy_elements(random)
        out += struct.pack(">i", len(block)) + block
        if random.random() < 0.1:
            out += random.choice([XERIAL_HEADER, bytes(4), b"\x00\x00\x00\x01\x00"])
    return out


def _snappy_elements(random: Random) -> bytes:
    out, written = b"", 0
    for _ in range(random.choice([0, 1, 3, 20])):
        kind = random.randrange(4) if written else 0
        if kind == 0:
            literal = random.randbytes(random.choice([1, 3, 59, 60, 61, 300]))
            out += _snappy_literal(random, literal)
            written += len(literal)
            continue
        odd = random.random()
        offset = 0 if odd < 0.05 else written + 1 if odd < 0.08 else random.randint(1, written)
        size = random.randint(4, 11) if kind == 1 else random.randint(1, 64)
        if kind == 1:
            offset &= 0x7FF
            out += bytes([1 | (size - 4) << 2 | offset >> 8 << 5, offset & 0xFF])
        else:
            out += bytes([kind | (size - 1) << 2]) + offset.to_bytes(2 if kind == 2 else 4, "little")
        written += size
    claimed = written if random.random() < 0.9 else max(0, written + random.choice([-1, 1, 5]))
    return unsigned(claimed) + out


def _snappy_literal(random: Random, literal: bytes) -> bytes:
    if len(literal) <= 60 and random.random() < 0.9:
        return bytes([(len(literal) - 1) << 2]) + literal
    width = random.choice([2, 2, 3, 4])
    return bytes([(59 + width) << 2]) + (len(literal) - 1).to_bytes(width, "little") + literal


# -- zstd -------------------------------------------------------------------------------------------


def _zstd(random: Random) -> bytes:
    frames = [_zstd_frame(random) for _ in range(random.choice([1, 1, 1, 2]))]
    if random.random() < 0.1:
        frames.insert(random.randint(0, len(frames)), SKIPPABLE)
    return b"".join(frames)


def _zstd_frame(random: Random) -> bytes:
    if random.random() < 0.3:
        return narrowed(random)
    data = plain(random, random.choice([4000, 40_000]))
    options = {
        "level": random.choice([-5, 1, 3, 9, 19]),
        "write_checksum": random.random() < 0.2,
        "write_content_size": random.random() < 0.5,
    }
    if random.random() < 0.1:
        options["dict_data"] = zstandard.ZstdCompressionDict(data[:100] * 3 or b"dictionary")
    whole = bytearray(zstandard.ZstdCompressor(**options).compress(data))
    if random.random() < 0.2 and not whole[4] & 0x20:
        whole[5] = random.choice([0, 1, 8, 40])  # another window
    return bytes(whole)


def narrowed(random: Random, says_size: bool | None = None, reach: tuple[int, int] = (2900, 3300)) -> bytes:
    """A frame whose header says a window of 1 KiB, and whose matches reach back further: to what a decoder
    that keeps no more has written over since."""
    says_size = random.random() < 0.5 if says_size is None else says_size
    data = bytearray(random.randbytes(6000))
    size = random.choice([20_000, 70_000])
    while len(data) < size:
        if len(data) % 2800 > 700 and random.random() < 0.5:
            back = random.randint(*reach)
            data += data[-back : len(data) - back + random.randint(10, 60)]
        data += random.randbytes(20)
    parameters = zstandard.ZstdCompressionParameters.from_level(
        19, window_log=14, write_content_size=says_size, write_checksum=False
    )
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj(
        size=len(data) if says_size else -1
    )
    out = bytearray()
    for start in range(0, len(data), 700):
        out += compressor.compress(bytes(data[start : start + 700]))
        out += compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    out += compressor.flush()
    if not out[4] & 0x20:
        out[5] = 0
    return bytes(out)


# -- gzip -------------------------------------------------------------------------------------------


def _gzip(random: Random) -> bytes:
    return b"".join(_gzip_member(random) for _ in range(random.choice([1, 1, 1, 2, 3])))


def _gzip_member(random: Random) -> bytes:
    whole = gzip.compress(plain(random, 40_000), random.choice([0, 1, 6, 9]), mtime=0)
    flags, fields = random.choice([0, 0, 2, 4, 8, 16, 30, 0x20, 0xE0]), b""
    if random.random() < 0.7:
        return whole
    if flags & 4:
        extra = random.randbytes(random.choice([0, 3, 300]))
        fields += struct.pack("<H", len(extra)) + extra
    fields += b"name\x00" if flags & 8 else b""
    fields += b"comment\x00" if flags & 16 else b""
    head = whole[:3] + bytes([flags]) + whole[4:10] + fields
    if flags & 2:
        checksum = zlib.crc32(head) & 0xFFFF if random.random() < 0.7 else 0
        head += struct.pack("<H", checksum)
    return head + whole[10:]


_DESCRIPTION = (
    *((0, 1), (2, 2), (0, 5), (0, 5), (14, 4)),  # not the last; 257 and 1 codes; 18 lengths, in the order
    *((0, 3), (0, 3), (1, 3), *[(0, 3)] * 8, (2, 3), *[(0, 3)] * 5, (2, 3)),  # of MANY_ZEROS, 4 and 1
    *[(3, 2)] * 15,  # 15 literals of 4 bits
    *((0, 1), (127, 7), (0, 1), (92, 7)),  # 241 without one
    *((3, 2), (1, 2)),  # the block's end of 4 bits; a distance of 1 bit
    (15, 4),  # the block's end
)
"""(value, bits) of a block without content. isal takes 5 us for its 16 bytes, since two or three codes fit
into each place of its table."""


def gzip_of_empty_blocks(count: int, content: bytes = b"") -> bytes:
    """One member of so many blocks that describe their codes and use none, behind the content, if any."""
    maker = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    begin = maker.compress(content) + maker.flush(zlib.Z_FULL_FLUSH) if content else b""
    bits = "".join(f"{value:0{size}b}"[::-1] for value, size in _DESCRIPTION) * count + "1100000000"
    bits += "0" * (-len(bits) % 8)
    blocks = bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))
    trailer = struct.pack("<II", zlib.crc32(content), len(content))
    return b"\x1f\x8b\x08" + bytes(7) + begin + blocks + trailer


# -- Much work for few bytes -------------------------------------------------------------------------


def zstd_frame(blocks, window=0x58, checksum=b""):
    """A frame of (kind of block, size in its header, its bytes), with a window of 2 MiB (0x38: 128 KiB)."""
    out = b"\x28\xb5\x2f\xfd" + bytes([4 if checksum else 0, window])
    for left, (kind, size, block) in zip(range(len(blocks) - 1, -1, -1), blocks, strict=True):
        out += (size << 3 | kind << 1 | (not left)).to_bytes(3, "little") + block
    return out + checksum


RAW_BLOCK, RLE_BLOCK, COMPRESSED_BLOCK = range(3)
_BEGIN = (RAW_BLOCK, 16, b"abcdefghijklmnop")
_OF_TABLES = bytes.fromhex("0001a824f03f23f80f24f03f00000004")
"""A block of one sequence, with tables of 512, 256 and 512 places."""
MAX_SEQUENCES = (1 << 17) // 3


def zstd_of_sequences(blocks, count=MAX_SEQUENCES):
    """Blocks of 11 bytes, each with so many sequences that copy three bytes: no sequence needs a bit."""
    block = b"\x00\xff" + (count - 0x7F00).to_bytes(2, "little") + b"\x54" + bytes(3) + b"\x01"
    return zstd_frame([_BEGIN] + [(COMPRESSED_BLOCK, len(block), block)] * blocks, window=0x38)


def zstd_of_tables(blocks):
    """Blocks of 19 bytes that describe tables for one sequence. Its window is smaller than what it holds."""
    few = (COMPRESSED_BLOCK, len(_OF_TABLES), _OF_TABLES)
    return zstd_frame([_BEGIN, (RLE_BLOCK, 1 << 10, b"\x00")] + [few] * blocks, window=0)


def lz4_with(content, block_size, has_checksum=False):
    """A frame of blocks of that size code (4: 64 KiB, 7: 4 MiB), as small as the library makes it."""
    return lz4.frame.compress(
        content,
        compression_level=9,
        block_linked=False,
        block_size=block_size,
        content_checksum=has_checksum,
        store_size=False,
    )


EQUAL = 149_000
_EQUAL_RECORDS = record(key=None, value=None) * EQUAL
"""Small records that are all alike, in less than a mebibyte."""

BOMBS = {
    "zstd sequences of no bits": (ZSTD, zstd_of_sequences(7)),
    "zstd tables": (ZSTD, zstd_of_tables(40)),
    "equal records in zstd": (ZSTD, zstandard.ZstdCompressor(19).compress(_EQUAL_RECORDS)),
    "equal records in zstd of no declared size": (
        ZSTD,
        zstandard.ZstdCompressor(19, write_content_size=False).compress(_EQUAL_RECORDS),
    ),
    "gzip blocks that describe codes": (GZIP, gzip_of_empty_blocks(40)),
    "equal records in gzip": (GZIP, gzip.compress(_EQUAL_RECORDS, mtime=0)),
    "equal records in lz4": (LZ4, lz4_with(_EQUAL_RECORDS, 4)),
    "equal records in lz4 with a checksum": (LZ4, lz4_with(_EQUAL_RECORDS, 4, has_checksum=True)),
    "equal records in lz4 of one block": (LZ4, lz4_with(_EQUAL_RECORDS, 7)),
    "zeros in lz4 of one block, with a checksum": (LZ4, lz4_with(bytes(4 << 20), 7, has_checksum=True)),
    "zeros in zstd": (ZSTD, zstandard.compress(bytes(1 << 20))),
    "a large size in snappy": (SNAPPY, unsigned(1 << 20) + b"\x00a"),
}
"""(codec, body) of a batch of `EQUAL` records, as it says. To decompress or read it takes 40 to 6,000 us. All
but the one of 4 MiB have less than 5 KB."""

_MAKERS = {GZIP: _gzip, SNAPPY: _snappy, LZ4: _lz4, ZSTD: _zstd}
