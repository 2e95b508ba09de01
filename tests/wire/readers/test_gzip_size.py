"""The size of a member of gzip is told without decompressing it, and only if it has few blocks."""

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
    flushed = maker.flush(zlib.Z_FULL_FLUSH) if random.random() < 0.5 else b""
    return maker.compress(content[:at]) + flushed + maker.compress(content[at:]) + maker.flush()


@each_variant
@given(seed=seeds, makes=st.sampled_from([plain, skewed]))
@example(seed=0, makes=lambda _, size: bytes(size))
def test_a_member_comes_to_what_it_was(variant, seed, makes):
    content = makes(Random(seed), 6_000)
    data = compressed(Random(seed), content)
    assert variant.gzip_size(data, MANY, MANY) == len(content)
    assert variant.gzip_size(data + b"behind it", MANY, len(content)) == len(content)
    assert variant.gzip_size(data, MANY, len(content) - 1) == -1


@given(seed=seeds)
def test_both_variants_say_the_same_of_odd_and_damaged_data(seed):
    random = Random(seed)
    for data in (*blobs(GZIP, seed, 3), compressed(random, skewed(random, 3_000))):
        out = bytearray(data[: random.choice([len(data), random.randrange(len(data) + 1)])])
        for _ in range(random.choice([0, 1, 3]) if out else 0):
            out[random.randrange(len(out))] = random.choice([0, 0xFF, random.getrandbits(8)])
        bounds = random.choice([1, 3, MANY]), random.choice([500, MANY])
        assert len({variant.gzip_size(bytes(out), *bounds) for variant in VARIANTS}) == 1


@given(seed=seeds)
def test_the_library_makes_as_many_bytes_of_damaged_data_as_are_told(seed):
    """Else it might find other blocks than those that were counted."""
    for data in blobs(GZIP, seed, 5):
        member = zlib.decompressobj(-zlib.MAX_WBITS)
        told = readers.gzip_size(data, MANY, MANY)
        try:
            made = member.decompress(data[10:])
        except zlib.error:
            continue
        if told >= 0 and member.eof:
            assert len(made) == told


@each_variant
@pytest.mark.parametrize("count", [1, 2, 100])
def test_blocks_are_counted(variant, count):
    data = gzip_of_empty_blocks(count)
    assert gzip.decompress(data) == b""
    assert variant.gzip_size(data, count + 1, MANY) == 0  # one more is the last
    assert variant.gzip_size(data, count, MANY) == -1


@each_variant
@pytest.mark.parametrize("flags", [1, 2, 4, 8, 16, 0xE0])
def test_a_member_with_an_optional_field_is_not_read(variant, flags):
    data = gzip.compress(b"a", mtime=0)
    assert variant.gzip_size(data[:3] + bytes([flags]) + data[4:], MANY, MANY) == -1
    assert variant.gzip_size(data, MANY, MANY) == 1


@each_variant
@given(data=st.binary(max_size=100))
@example(data=b"\x1f\x8b\x08" + bytes(7))
def test_of_garbage_nothing_is_told_or_a_size(variant, data):
    assert variant.gzip_size(data, MANY, MANY) >= -1
    assert variant.gzip_size(b"\x1f\x8b\x08" + bytes(7) + data, MANY, MANY) >= -1
