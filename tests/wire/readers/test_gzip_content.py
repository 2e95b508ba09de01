"""A member of gzip is decompressed if it has few blocks and is not damaged."""

import gzip
import zlib
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from isal import isal_zlib

from tests.wire.batches import GZIP
from tests.wire.blobs import blobs, gzip_of_empty_blocks, plain
from tests.wire.readers.variants import VARIANTS, name_of
from tsproxy.wire import readers

MANY = 1 << 40

each_variant = pytest.mark.parametrize("variant", VARIANTS, ids=name_of)
seeds = st.integers(0, 2**32)


def skewed(random, size):
    """Bytes whose codes have all lengths, 15 bits among them."""
    return bytes(random.choices(range(30), weights=[1.7**n for n in range(30)], k=size))


def compressed(random, content):
    """As many programs write it, or in several blocks."""
    if random.random() < 0.3:
        return isal_zlib.compress(content, random.randrange(4), 31)
    strategies = [zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED]
    maker = zlib.compressobj(random.randrange(10), zlib.DEFLATED, 31, 8, random.choice(strategies))
    at = random.randrange(len(content) + 1)
    data = maker.compress(content[:at])
    if random.random() < 0.5:
        data += maker.flush(random.choice([zlib.Z_FULL_FLUSH, zlib.Z_SYNC_FLUSH]))
    return data + maker.compress(content[at:]) + maker.flush()


@each_variant
@given(seed=seeds, makes=st.sampled_from([plain, skewed]))
@example(seed=0, makes=lambda _, size: bytes(size))
def test_a_members_content_is_what_was_compressed(variant, seed, makes):
    content = makes(Random(seed), 6_000)
    data = compressed(Random(seed), content)
    assert variant.gzip_content(data, MANY, len(content)) == content
    assert variant.gzip_content(data + b"behind it", MANY, MANY) is None
    assert variant.gzip_content(data, MANY, len(content) - 1) is None


@pytest.mark.parametrize("size", [40_000, 300_000])
@given(seed=seeds)
def test_large_content_with_tables_of_joined_literals_is_what_was_compressed(size, seed):
    random = Random(seed)
    words = [random.randbytes(random.randint(1, 300)) for _ in range(200)]
    parts = [lambda: random.choice(words), lambda: skewed(random, 20), lambda: b"%x" % random.getrandbits(64)]
    content = b"".join(random.choice(parts)() for _ in range(size // 60))
    assert readers.gzip_content(compressed(random, content), MANY, MANY) == content


@given(seed=seeds)
def test_both_variants_say_the_same_of_odd_and_damaged_data(seed):
    random = Random(seed)
    for data in (*blobs(GZIP, seed, 3), compressed(random, skewed(random, 3_000))):
        out = bytearray(data[: random.choice([len(data), random.randrange(len(data) + 1)])])
        for _ in range(random.choice([0, 1, 3]) if out else 0):
            out[random.randrange(len(out))] = random.choice([0, 0xFF, random.getrandbits(8)])
        bounds = random.choice([1, 3, MANY]), random.choice([500, 1 << 20])
        assert len({variant.gzip_content(bytes(out), *bounds) for variant in VARIANTS}) == 1


@given(seed=seeds)
def test_odd_and_damaged_data_has_the_content_that_zlib_gives_it_or_none(seed):
    """Kafka's reader is zlib."""
    for data in blobs(GZIP, seed, 5):
        whole = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = whole.decompress(data[10:])
            end = len(data) - len(whole.unused_data) if whole.eof else 0
        except zlib.error:
            assert readers.gzip_content(data, MANY, MANY) is None
            continue
        member = data[:end] + bytes(4) + len(content).to_bytes(4, "little")
        expected = content if whole.eof and data[:4] == b"\x1f\x8b\x08\x00" else None
        assert readers.gzip_content(member, MANY, MANY) == expected


@given(seed=seeds)
def test_content_of_another_size_than_the_trailers_is_not_told(seed):
    data = compressed(Random(seed), plain(Random(seed)))
    size = int.from_bytes(data[-4:], "little")
    for other in {0, 1, size - 1, size + 1, size + 300, size // 2} - {size, -1}:
        for variant in VARIANTS:
            assert variant.gzip_content(data[:-4] + other.to_bytes(4, "little"), MANY, MANY) is None


@each_variant
@pytest.mark.parametrize("count", [1, 2, 100])
def test_blocks_are_counted(variant, count):
    data = gzip_of_empty_blocks(count)
    assert gzip.decompress(data) == b""
    assert variant.gzip_content(data, count + 1, MANY) == b""  # one more is the last
    assert variant.gzip_content(data, count, MANY) is None


@each_variant
@pytest.mark.parametrize("flags", [1, 2, 4, 8, 16, 0xE0])
def test_a_member_with_an_optional_field_is_not_read(variant, flags):
    data = gzip.compress(b"a", mtime=0)
    assert variant.gzip_content(data[:3] + bytes([flags]) + data[4:], MANY, MANY) is None
    assert variant.gzip_content(data, MANY, MANY) == b"a"


@each_variant
@given(data=st.binary(max_size=100))
@example(data=b"\x1f\x8b\x08" + bytes(7))
def test_garbage_gives_nothing_or_as_many_bytes_as_it_says(variant, data):
    for garbage in (data, b"\x1f\x8b\x08" + bytes(7) + data + bytes([200, 0, 0, 0])):
        content = variant.gzip_content(garbage, MANY, 1_000)
        assert content is None or len(content) == int.from_bytes(garbage[-4:], "little")
