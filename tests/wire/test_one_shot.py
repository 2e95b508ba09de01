"""The short way gives what the long way gives, or nothing."""

import gzip
import random
import zlib

import lz4.block
import lz4.frame
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st
from isal import isal_zlib

from tests.wire.batches import CODECS, COMPRESS, GZIP, LZ4, SNAPPY, ZSTD, xerial
from tests.wire.blobs import BOMBS, blobs, lz4_with, plain
from tsproxy.wire import codecs, one_shot

MOST = 1 << 20
WINDOW = 8 << 20

each_codec = pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD], ids=[n for n in CODECS if CODECS[n]])


def lz4_of_go(content):
    """With a checksum of the content, as franz-go and sarama write it. Kafka does not read that."""
    return lz4.frame.compress(content, block_linked=False, content_checksum=True)


def lz4_of_large_blocks(content):
    """As franz-go writes it, in blocks of 4 MiB."""
    return lz4_with(content, 7, has_checksum=True)


def lz4_of_many_blocks(content):
    """In blocks of 256 KiB, so a large content has several."""
    return lz4_with(content, 5)


each_form = pytest.mark.parametrize(
    ("codec", "compress"),
    [
        *((codec, COMPRESS[codec]) for codec in (GZIP, SNAPPY, LZ4, ZSTD)),
        (LZ4, lz4_of_go),
        (LZ4, lz4_of_large_blocks),
        (LZ4, lz4_of_many_blocks),
    ],
    ids=[*(n for n in CODECS if CODECS[n]), "lz4 of Go", "lz4 of large blocks", "lz4 of many blocks"],
)

contents = st.binary(max_size=300) | st.builds(
    lambda part, n: part * n, st.binary(min_size=1, max_size=9), st.integers(0, 40_000)
)
small_contents = st.binary(max_size=300) | st.builds(
    lambda part, n: part * n, st.binary(min_size=1, max_size=9), st.integers(0, 4_000)
)
damage = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=3)
tails = st.sampled_from([b"", b"\x00", b"\x1f\x8b", bytes(18), bytes(19)]) | st.binary(max_size=30)


def in_one(codec, data, most=MOST, window=WINDOW):
    return one_shot.decompressed(codec, data, most, window)


def at_length(codec, data, budget=MOST, window=WINDOW):
    return codecs.decompress(codec, memoryview(data), budget, window)


@each_form
@given(content=small_contents)
@example(content=random.Random(1).randbytes(700_000))
@example(content=b"".join(b"%d is the %dth" % (n, n * n) for n in range(20_000)))
def test_what_producers_write_takes_the_short_way(codec, compress, content):
    data = compress(content)
    found = in_one(codec, data)
    assert found == (content if len(data) <= one_shot.most_input(codec) else None) or (
        codec == ZSTD and not content
    )


@each_form
@given(content=contents, changes=damage, cut=st.integers(0, 400), tail=tails, most=st.integers(0, 400_000))
@example(content=b"", changes=[], cut=0, tail=b"", most=MOST)
def test_the_short_way_gives_what_the_long_way_gives_or_nothing(
    codec, compress, content, changes, cut, tail, most
):
    data = bytearray(compress(content))
    for at, value in changes:
        data[at % len(data)] = value
    data = bytes(data[: len(data) - cut if cut < 20 else cut]) + tail
    found = in_one(codec, data, most)
    if found is not None:
        assert len(found) <= most
        assert at_length(codec, data) == found


@each_codec
@given(data=st.binary(max_size=200))
def test_of_garbage_the_short_way_makes_no_more_than_the_long_way(codec, data):
    found = in_one(codec, data)
    assert found is None or found == at_length(codec, data)


@each_form
@pytest.mark.parametrize("size", [0, 1_000, 10_000])
def test_an_output_may_be_24_times_as_large_and_48_kib_more(codec, compress, size):
    """For zstd less a part for each block and sequence."""
    noise = random.Random(1).randbytes(size)
    assert in_one(codec, compress(noise + bytes(20 * size + 20_000))) is not None
    assert in_one(codec, compress(noise + bytes(30 * size + 80_000))) is None or codec == SNAPPY


def test_a_large_lz4_block_is_not_decompressed_further_than_it_may_be(monkeypatch):
    """The library's frames would decompress a block of 4 MiB whole, and give the first bytes of it."""
    codec, body = BOMBS["zeros in lz4 of one block, with a checksum"]
    rooms = []
    decompress = lz4.block.decompress

    def seen(block, uncompressed_size):
        rooms.append(uncompressed_size)
        return decompress(block, uncompressed_size=uncompressed_size)

    monkeypatch.setattr(lz4.frame, "decompress_chunk", None)
    monkeypatch.setattr(lz4.block, "decompress", seen)
    content = random.Random(1).randbytes(100_000)
    assert in_one(codec, lz4_of_large_blocks(content)) == content
    assert in_one(codec, body) is None
    assert rooms == [1 + one_shot.most_output(len(body))]


@each_codec
def test_one_byte_too_many_takes_the_long_way(codec):
    data = COMPRESS[codec](bytes(1000))
    assert in_one(codec, data, 1000) == bytes(1000)
    assert in_one(codec, data, 999) is None


@each_codec
@pytest.mark.parametrize("is_too_large", [False, True])
def test_one_byte_of_input_too_many_takes_the_long_way(codec, is_too_large):
    """A mebibyte is the most, 64 KiB for gzip: zlib takes up to 4 ms for so many bytes."""
    most = one_shot.most_input(codec)
    noise = random.Random(1).randbytes(most)
    made = (COMPRESS[codec](noise[:size]) for size in range(most - 200, most))
    data = next(each for each in made if len(each) == most + is_too_large)
    assert (in_one(codec, data, 2 * most) is None) is is_too_large


@pytest.mark.parametrize(("overhead", "takes_the_short_way"), [(256, True), (257, False)])
def test_gzip_that_is_larger_than_its_content_takes_the_long_way(overhead, takes_the_short_way):
    """It has blocks of nothing, and each may take 5 us."""
    content = random.Random(1).randbytes(1_000)
    whole = gzip.compress(content, mtime=0)
    name = b"n" * (overhead + 1_250 - len(whole) - 1) + b"\x00"
    data = whole[:3] + b"\x08" + whole[4:10] + name + whole[10:]
    assert gzip.decompress(data) == content
    assert in_one(GZIP, data) == (content if takes_the_short_way else None)


def skewed(draw, size):
    """Bytes whose codes have all lengths, 15 bits among them."""
    return bytes(draw.choices(range(30), weights=[1.7**n for n in range(30)], k=size))


def gzip_of_any_compressor(draw, content):
    """As many programs write it, or in several blocks."""
    if draw.random() < 0.3:
        return isal_zlib.compress(content, draw.randrange(4), 31)
    strategies = [zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED]
    maker = zlib.compressobj(draw.randrange(10), zlib.DEFLATED, 31, 8, draw.choice(strategies))
    at = draw.randrange(len(content) + 1)
    data = maker.compress(content[:at])
    if draw.random() < 0.5:
        data += maker.flush(draw.choice([zlib.Z_FULL_FLUSH, zlib.Z_SYNC_FLUSH]))
    return data + maker.compress(content[at:]) + maker.flush()


@given(seed=st.integers(0, 2**32), makes=st.sampled_from([plain, skewed]))
def test_gzip_of_any_compressor_takes_the_short_way(seed, makes):
    draw = random.Random(seed)
    content = makes(draw, 40_000)
    data = gzip_of_any_compressor(draw, content)
    assert in_one(GZIP, data) == content == at_length(GZIP, data)


@given(seed=st.integers(0, 2**32))
def test_the_short_ways_library_for_gzip_accepts_no_more_than_the_long_ways(seed):
    """One is zlib, as in Kafka, and the other is isal."""
    draw = random.Random(seed)
    for data in (*blobs(GZIP, seed, 3), gzip_of_any_compressor(draw, skewed(draw, 3_000))):
        out = bytearray(data)
        for _ in range(draw.choice([0, 0, 1, 3]) if out else 0):
            out[draw.randrange(len(out))] = draw.choice([0, 0xFF, draw.getrandbits(8)])
        found = in_one(GZIP, bytes(out))
        assert found is None or found == at_length(GZIP, bytes(out))


def test_kept_decompressors_read_on_after_damaged_data_and_with_another_window():
    content = bytes(range(256)) * 40
    data = COMPRESS[ZSTD](content)
    for window in (WINDOW, WINDOW // 2, WINDOW):
        assert in_one(ZSTD, data[:-9] + bytes(9), window=window) is None
        assert in_one(ZSTD, data, window=window) == content


ODD = {
    "two gzip members": (GZIP, gzip.compress(b"a") + gzip.compress(b"b")),
    "a gzip member and much behind it": (GZIP, gzip.compress(b"a") + bytes(19)),
    "two xerial streams": (SNAPPY, xerial(b"a") * 2),
    "lz4 with a wrong checksum over its content": (LZ4, lz4_of_go(b"a")[:-1] + b"?"),
    "lz4 without its checksum over its content": (LZ4, lz4_of_go(b"a")[:-4]),
    "lz4 with linked blocks": (LZ4, lz4.frame.compress(bytes(200_000), block_linked=True)),
    "two zstd frames": (ZSTD, zstandard.ZstdCompressor().compress(b"a") * 2),
    "a zstd frame that claims to be empty": (ZSTD, zstandard.ZstdCompressor().compress(b"")),
    "zstd behind a frame to be skipped": (
        ZSTD,
        b"\x50\x2a\x4d\x18\x01\x00\x00\x00x" + zstandard.ZstdCompressor().compress(b"a"),
    ),
    "no such codec": (5, b"a"),
}


@pytest.mark.parametrize(("codec", "data"), ODD.values(), ids=ODD)
def test_what_is_odd_takes_the_long_way(codec, data):
    assert in_one(codec, data) is None


def test_a_zstd_window_above_the_bound_takes_the_long_way_however_small_the_content():
    params = zstandard.ZstdCompressionParameters(window_log=24, write_content_size=False)
    maker = zstandard.ZstdCompressor(compression_params=params).compressobj()
    data = maker.compress(b"a" * 100) + maker.flush()
    assert in_one(ZSTD, data) is None
    assert in_one(ZSTD, data, window=1 << 24) == b"a" * 100
