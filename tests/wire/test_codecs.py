"""Each codec reads what Kafka's reader reads, stops where it stops, and never gives more than its budget."""

import gzip
import struct
import zlib
from contextlib import suppress
from random import Random

import cramjam
import lz4.frame
import pytest
import xxhash
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st
from isal import isal_zlib

from tests.wire.batches import CODECS, COMPRESS, GZIP, LZ4, SNAPPY, XERIAL_HEADER, ZSTD, raw_snappy, xerial
from tests.wire.blobs import SKIPPABLE, gzip_of_empty_blocks, lz4_with
from tests.wire.gzip_calls import noted
from tsproxy.wire.codecs import GZIP_SLICE, BudgetError, CodecError, WindowError, decompress, stream

KIB = 1024
MIB = 1024 * KIB
WINDOW = 8 * MIB

PLAIN = b"".join(i.to_bytes(4, "big") for i in range(500))


def plain(codec, data, budget=MIB, window=WINDOW):
    return decompress(codec, memoryview(data), budget, window)


each_codec = pytest.mark.parametrize(
    "codec", [number for number in CODECS.values() if number], ids=[name for name in CODECS if CODECS[name]]
)

contents = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda part, n: part * n, st.binary(min_size=1, max_size=9), st.integers(0, 20_000)),
)


@each_codec
@given(content=contents, budget=st.integers(0, 300_000))
@example(content=PLAIN, budget=len(PLAIN))
@example(content=PLAIN, budget=len(PLAIN) - 1)
def test_there_is_never_more_than_the_budget(codec, content, budget):
    compressed = COMPRESS[codec](content)
    if len(content) <= budget:
        assert plain(codec, compressed, budget) == content
    else:
        with pytest.raises(BudgetError):
            plain(codec, compressed, budget)


@each_codec
@given(at=st.integers(0, 10_000), value=st.integers(0, 255))
def test_a_damaged_stream_is_output_or_one_of_three_errors(codec, at, value):
    data = bytearray(COMPRESS[codec](PLAIN))
    data[at % len(data)] = value
    with suppress(CodecError, BudgetError, WindowError):
        assert len(plain(codec, data)) <= MIB


WHOLE = {SNAPPY: {len(XERIAL_HEADER)}, ZSTD: {0}}
"""Positions where a truncated stream is still complete, and empty: it has no block and no frame."""


@each_codec
def test_a_stream_cut_anywhere_is_an_error(codec):
    data = COMPRESS[codec](PLAIN)
    for cut in range(len(data)):
        if cut in WHOLE.get(codec, ()):
            assert plain(codec, data[:cut]) == b""
        else:
            with pytest.raises(CodecError):
                plain(codec, data[:cut])


# -- gzip -------------------------------------------------------------------------------------------


def test_gzip_members_go_on_one_behind_the_other():
    data = gzip.compress(PLAIN) + gzip.compress(b"") + gzip.compress(PLAIN, 1)
    assert plain(GZIP, data) == PLAIN * 2


def test_a_gzip_header_may_carry_a_name_a_comment_and_a_checksum():
    head = b"\x1f\x8b\x08\x1e" + bytes(6) + struct.pack("<H", 3) + b"ext" + b"name\x00" + b"comment\x00"
    head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    deflate = zlib.compressobj(wbits=-15)
    body = deflate.compress(PLAIN) + deflate.flush()
    assert plain(GZIP, head + body + struct.pack("<II", zlib.crc32(PLAIN), len(PLAIN))) == PLAIN


@pytest.mark.parametrize("tail", [b"x", b"\x1f\x8b", bytes(18), bytes(40), b"not a member at all, but long"])
def test_what_is_no_gzip_member_behind_one_is_ignored(tail):
    """`GZIPInputStream.readTrailer`: a header that is none ends the stream."""
    assert plain(GZIP, gzip.compress(PLAIN) + tail) == PLAIN


@pytest.mark.parametrize("at", [-1, -5])
def test_a_gzip_trailer_that_does_not_fit_is_an_error(at):
    data = bytearray(gzip.compress(PLAIN))
    data[at] ^= 1
    with pytest.raises(CodecError):
        plain(GZIP, data)


def test_the_budget_counts_all_gzip_members_together():
    with pytest.raises(BudgetError):
        plain(GZIP, gzip.compress(bytes(600)) * 2, budget=1199)


def test_a_gzip_member_that_breaks_in_its_middle_is_an_error_behind_another_too():
    """Only a header that is none is ignored: `GZIPInputStream` throws for what is wrong inside."""
    second = bytearray(gzip.compress(zlib.compress(PLAIN * 500) * 500))
    second[-1000:-8] = b"\xff" * 992
    with pytest.raises(CodecError):
        plain(GZIP, gzip.compress(PLAIN) + second, budget=10 * MIB)


@pytest.mark.parametrize("data", [gzip_of_empty_blocks(5_000), gzip_of_empty_blocks(5_000) * 2], ids=len)
def test_gzip_without_any_content_gives_an_empty_piece_for_each_slice(data):
    """It takes 6 ms, and the caller looks between pieces whether it must stop."""
    pieces = list(stream(GZIP, memoryview(data), MIB, WINDOW))
    assert set(pieces) == {b""}
    assert len(pieces) >= len(data) // GZIP_SLICE


@pytest.mark.parametrize("behind", [b"", gzip.compress(PLAIN, 0) * 3, bytes(100_000)])
def test_no_call_of_gzips_library_gets_more_than_a_slice(monkeypatch, behind):
    """It copies what it leaves, at each call."""
    calls = noted(monkeypatch, isal_zlib)
    content = Random(1).randbytes(200_000) + bytes(2 * MIB)
    data = gzip.compress(content) + behind
    assert plain(GZIP, data, 4 * MIB).startswith(content)
    assert max(size for size, _ in calls) == GZIP_SLICE
    assert {most for _, most in calls} == {1 << 16}


# -- snappy -----------------------------------------------------------------------------------------


SNAPPY_FORMS = {
    "one raw block, as librdkafka and Sarama write it": (raw_snappy(PLAIN), PLAIN),
    "xerial blocks one behind the other": (xerial(PLAIN, b"", b"x", PLAIN), PLAIN + b"x" + PLAIN),
    "a second xerial header": (xerial(PLAIN) + xerial(b"more"), PLAIN + b"more"),
    "a xerial header with its magic alone": (b"\x82SNAPPY\x00" + b"\xff" * 8 + xerial(PLAIN)[16:], PLAIN),
}


@pytest.mark.parametrize(("data", "content"), SNAPPY_FORMS.values(), ids=SNAPPY_FORMS)
def test_each_form_of_snappy_is_read(data, content):
    assert plain(SNAPPY, data) == content


def test_a_xerial_block_that_claims_more_than_there_is_is_an_error():
    block = raw_snappy(PLAIN)
    with pytest.raises(CodecError, match=f"block of {len(block) + 1} bytes, {len(block)} left"):
        plain(SNAPPY, XERIAL_HEADER + struct.pack(">i", len(block) + 1) + block)


BAD_SNAPPY = {
    "nothing": b"",
    "a magic cut short": XERIAL_HEADER[:15],
    "a block size cut short": XERIAL_HEADER + b"\x00\x00",
    "a block longer than what is left": XERIAL_HEADER + b"\x00\x00\x00\x09abc",
    "a negative block": XERIAL_HEADER + b"\xff\xff\xff\xff",
    "an empty block": XERIAL_HEADER + b"\x00\x00\x00\x00",
    "a block that is none": XERIAL_HEADER + b"\x00\x00\x00\x03\xff\xff\xff",
}


@pytest.mark.parametrize("data", BAD_SNAPPY.values(), ids=BAD_SNAPPY)
def test_bad_snappy_is_an_error(data):
    with pytest.raises(CodecError):
        plain(SNAPPY, data)


def test_a_snappy_block_that_claims_too_much_is_over_budget_before_it_is_read():
    """The claim stands in front: 4 GiB in five bytes."""
    with pytest.raises(BudgetError):
        plain(SNAPPY, b"\xff\xff\xff\xff\x0f")


# -- lz4 --------------------------------------------------------------------------------------------


def lz4_header(flags=0x60, block=0x40, content_size=b"", checksum=None):
    descriptor = bytes([flags, block]) + content_size
    if checksum is None:
        checksum = xxhash.xxh32_intdigest(descriptor) >> 8 & 0xFF
    return b"\x04\x22\x4d\x18" + descriptor + bytes([checksum])


def stored(data, checksum=b""):
    """A block that is not compressed."""
    return struct.pack("<I", len(data) | 0x80000000) + data + checksum


END = bytes(4)


@pytest.mark.parametrize(
    "options",
    [
        {"block_size": lz4.frame.BLOCKSIZE_MAX64KB},
        {"block_size": lz4.frame.BLOCKSIZE_MAX4MB},
        {"content_checksum": True},
        {"block_checksum": True},
        {"store_size": True},
        {"compression_level": 9},
        {"compression_level": -5},
    ],
    ids=str,
)
def test_lz4_frames_are_read_with_every_option_that_kafka_reads(options):
    content = PLAIN * 100
    data = lz4.frame.compress(content, block_linked=False, **{"store_size": False} | options)
    assert plain(LZ4, data) == content
    assert plain(LZ4, data + b"what stands behind the end mark") == content


def test_an_lz4_content_checksum_is_not_compared():
    """`Lz4BlockInputStream` reads over it."""
    data = bytearray(lz4.frame.compress(PLAIN, block_linked=False, content_checksum=True))
    data[-1] ^= 1
    assert plain(LZ4, data) == PLAIN


def test_an_lz4_block_checksum_is_compared():
    good = struct.pack("<I", xxhash.xxh32_intdigest(b"abc"))
    head = lz4_header(flags=0x70)
    assert plain(LZ4, head + stored(b"abc", good) + END) == b"abc"
    with pytest.raises(CodecError, match="checksum"):
        plain(LZ4, head + stored(b"abc", b"oops") + END)


BAD_LZ4 = {
    "nothing": b"",
    "another magic": b"\x05\x22\x4d\x18" + lz4_header()[4:] + END,
    "version 0": lz4_header(flags=0x20) + END,
    "version 2": lz4_header(flags=0xA0) + END,
    "dependent blocks": lz4_header(flags=0x40) + END,
    "reserved flag": lz4_header(flags=0x62) + END,
    "a dictionary": lz4_header(flags=0x61) + END,
    "reserved bits of the block size": lz4_header(block=0x41) + END,
    "the highest bit of the block size": lz4_header(block=0xC0) + END,
    "a block size of no name": lz4_header(block=0x30) + END,
    "a wrong header checksum": lz4_header(checksum=0) + END,
    "no end mark": lz4_header() + stored(b"abc"),
    "a block longer than what is left": lz4_header() + stored(b"abc")[:-1],
    "a block above its frame's size": lz4_header() + stored(bytes(64 * KIB + 1)) + END,
    "a compressed block that is none": lz4_header() + struct.pack("<I", 3) + b"\xff\xff\xff" + END,
    "a legacy frame": b"\x02\x21\x4c\x18" + bytes(20),
}


@pytest.mark.parametrize("data", BAD_LZ4.values(), ids=BAD_LZ4)
def test_bad_lz4_is_an_error(data):
    with pytest.raises(CodecError):
        plain(LZ4, data)


@pytest.mark.parametrize(
    ("block", "size"), [(0x40, 64 * KIB), (0x50, 256 * KIB), (0x60, MIB), (0x70, 4 * MIB)]
)
def test_an_lz4_block_has_at_most_its_frames_size(block, size):
    most = stored(bytes(size))
    assert plain(LZ4, lz4_header(block=block) + most + END, 8 * MIB) == bytes(size)
    with pytest.raises(CodecError):
        plain(LZ4, lz4_header(block=block) + stored(bytes(size + 1)) + END, 8 * MIB)


def test_an_lz4_content_size_is_stepped_over_whatever_it_says():
    assert plain(LZ4, lz4_header(flags=0x68, content_size=b"\xff" * 8) + stored(b"abc") + END) == b"abc"


def test_an_old_producers_header_checksum_may_be_ignored():
    data = memoryview(lz4_header(checksum=0) + stored(b"abc") + END)
    assert decompress(LZ4, data, MIB, WINDOW, ignores_lz4_checksum=True) == b"abc"


# -- Pieces -----------------------------------------------------------------------------------------

LARGE = {
    "gzip": (GZIP, gzip.compress(bytes(9 * MIB))),
    "raw snappy": (SNAPPY, raw_snappy(bytes(9 * MIB))),
    "xerial": (SNAPPY, xerial(bytes(9 * MIB))),
    "lz4": (LZ4, lz4_with(bytes(9 * MIB), 7)),
    "zstd": (ZSTD, zstandard.compress(bytes(9 * MIB))),
}


@pytest.mark.parametrize("kind", LARGE)
def test_no_piece_is_so_large_that_its_copy_holds_the_event_loop(kind):
    """A thread that copies 256 MiB lets no other run: one batch of 12 MB held the loop for 0.3 to 0.6 s."""
    codec, data = LARGE[kind]
    sizes = [len(piece) for piece in stream(codec, memoryview(data), 16 * MIB, WINDOW)]
    assert sum(sizes) == 9 * MIB
    assert max(sizes) <= 4 * MIB


def test_a_snappy_block_is_copied_neither_before_nor_after_the_library_has_it(monkeypatch):
    decompress_raw, given = cramjam.snappy.decompress_raw, []
    monkeypatch.setattr(
        cramjam.snappy, "decompress_raw", lambda one: given.append(one) or decompress_raw(one)
    )
    data = memoryview(raw_snappy(bytes(3 * MIB)))
    first, *others = stream(SNAPPY, data, 4 * MIB, WINDOW)
    assert given == [data]
    assert given[0].obj is data.obj
    assert all(piece.obj is first.obj for piece in others)


# -- zstd -------------------------------------------------------------------------------------------


def zstd(data, **options):
    return zstandard.ZstdCompressor(**options).compress(data)


def every_cut_is_an_error(data):
    for cut in range(1, len(data)):
        with pytest.raises(CodecError):
            plain(ZSTD, data[:cut])


def test_zstd_frames_go_on_one_behind_the_other():
    assert plain(ZSTD, zstd(PLAIN) + SKIPPABLE + zstd(b"more") + SKIPPABLE) == PLAIN + b"more"
    assert plain(ZSTD, SKIPPABLE + zstd(b"") + zstd(PLAIN) + zstd(b"") + zstd(b"more")) == PLAIN + b"more"


@pytest.mark.parametrize(
    "options",
    [{"write_checksum": True}, {"write_content_size": False}, {"level": 19}, {"level": -5}],
    ids=str,
)
def test_zstd_frames_are_read_with_every_option(options):
    data = zstd(PLAIN, **options)
    assert plain(ZSTD, data) == PLAIN
    every_cut_is_an_error(data)


def test_a_zstd_stream_of_many_blocks_is_read_and_its_every_cut_is_an_error():
    """Blocks of each kind: compressed, raw, one byte repeated."""
    compressor = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    blocks = [PLAIN, bytes(1000), zlib.compress(PLAIN * 3)]
    data = b"".join(
        compressor.compress(block) + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for block in blocks
    )
    data += compressor.flush()
    assert plain(ZSTD, data) == b"".join(blocks)
    every_cut_is_an_error(data)


def test_a_zstd_checksum_that_does_not_fit_is_an_error():
    data = bytearray(zstd(PLAIN, write_checksum=True))
    data[-1] ^= 1
    with pytest.raises(CodecError):
        plain(ZSTD, data)


def test_a_zstd_window_above_the_limit_is_an_error_of_its_own():
    wide = zstandard.ZstdCompressionParameters(window_log=24, enable_ldm=True)
    compressor = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    data = compressor.compress(PLAIN) + compressor.flush()
    assert plain(ZSTD, data, window=16 * MIB) == PLAIN
    for limit in (8 * MIB, 1):  # the library has no windows below 1 KiB
        with pytest.raises(WindowError):
            plain(ZSTD, data, window=limit)


SIZE_CODES = {0: 0, 2: 1, 4: 2, 8: 3}
"""Bytes of the content's size in a frame's header -> its flags (RFC 8878, 3.1.1.1.1)."""


@pytest.mark.parametrize("id_code", [0, 1, 2, 3])
@pytest.mark.parametrize("size_bytes", SIZE_CODES)
def test_a_zstd_header_may_have_a_dictionary_of_number_0_and_a_size_of_any_width(id_code, size_bytes):
    """Number 0 means that there is no dictionary."""
    frame = zstd(PLAIN, write_content_size=False)
    magic, window, blocks = frame[:4], frame[5:6], frame[6:]
    declared = len(PLAIN) - (256 if size_bytes == 2 else 0)  # two bytes begin at 256
    size = declared.to_bytes(size_bytes, "little") if size_bytes else b""
    flags = bytes([SIZE_CODES[size_bytes] << 6 | id_code])
    data = magic + flags + window + bytes((0, 1, 2, 4)[id_code]) + size + blocks
    assert plain(ZSTD, data) == PLAIN
    every_cut_is_an_error(data)


def test_garbage_behind_a_zstd_frame_is_an_error():
    with pytest.raises(CodecError):
        plain(ZSTD, zstd(PLAIN) + b"garbage")
