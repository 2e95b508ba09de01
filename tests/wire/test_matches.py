"""A match copies what its own stream has written, as far back as every reader keeps it; else it is rejected.

CVE-2025-66566 is the lz4 half of it: lz4's C code makes zeros of a match of offset 0, and lz4-java without
its native half leaves whatever its buffer held. A zstd match from before the frame's window gives what was
there, or what a reader that keeps only a window has written over it since.
"""

from random import Random

import lz4.block
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from tests.wire.batches import COMPRESS, LZ4, ZSTD, batch, record
from tests.wire.blobs import lz4_block, lz4_frame, narrowed, plain, zstd_of_sequences, zstd_of_tables
from tests.wire.readers import reference
from tests.wire.test_codecs import plain as decompressed
from tsproxy.model.records import Fault
from tsproxy.model.view import SessionLimits
from tsproxy.wire import one_shot, readers
from tsproxy.wire.codecs import CodecError
from tsproxy.wire.record_batch import read_facts
from tsproxy.wire.record_set import scan

WINDOW = 8 << 20


def is_rejected(codec, data):
    """By the short way, which says nothing of it, and by the long one."""
    assert one_shot.decompressed(codec, data, 1 << 20, WINDOW) is None
    with pytest.raises(CodecError, match="match"):
        decompressed(codec, data, 1 << 20)
    return True


# -- lz4 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("match", [4, 5, 7, 8, 15, 18, 19, 20, 300, 5000])
@pytest.mark.parametrize("literals", [b"", b"a", b"abc", b"abcdefgh", b"x" * 15, b"x" * 300])
def test_an_lz4_match_of_offset_0_is_no_data(literals, match):
    """For any copied length, in any block, near its end or far from it."""
    for end in (b"12345", b"123456789012", b"x" * 40):
        unsound = (lz4_block((literals, 0, match), end=end), True)
        sound = (lz4_block((b"abcd", 4, match), (literals, 1, match), end=end), True)
        assert is_rejected(LZ4, lz4_frame([unsound]))
        assert is_rejected(LZ4, lz4_frame([sound, unsound]))
        assert is_rejected(LZ4, lz4_frame([sound, (b"stored", False), unsound], flags=0x70))
        assert decompressed(LZ4, lz4_frame([sound])) == one_shot.decompressed(
            LZ4, lz4_frame([sound]), 1 << 20, WINDOW
        )


def test_no_match_of_lz4_reaches_into_the_block_before():
    first, second = (lz4_block((b"abcdefgh", 8, 8)), True), (lz4_block((b"a", 2, 8)), True)
    with pytest.raises(CodecError):
        decompressed(LZ4, lz4_frame([first, second]))
    assert one_shot.decompressed(LZ4, lz4_frame([first, second]), 1 << 20, WINDOW) is None


def test_zeros_that_were_really_written_are_read():
    content = bytes(40_000) + b"abc" + bytes(4)
    data = COMPRESS[LZ4](content)
    assert decompressed(LZ4, data) == one_shot.decompressed(LZ4, data, 1 << 20, WINDOW) == content


def test_zeros_are_looked_for_once_and_only_where_a_block_is_compressed(monkeypatch):
    """A block that is stored has no match."""
    looked_at = []
    monkeypatch.setattr(one_shot.readers, "holds_zeros", lambda content: bool(looked_at.append(content)))
    stored, compressed = (bytes(20), False), (lz4_block((b"abcd", 4, 8)), True)
    for blocks, looks in (([stored], 0), ([stored] * 3, 0), ([stored, compressed, compressed], 1)):
        content = one_shot.decompressed(LZ4, lz4_frame(blocks), 1 << 20, WINDOW)
        assert content.startswith(bytes(20))
        assert looked_at == [content] * looks


def test_an_lz4_frame_ends_at_an_empty_block_that_is_not_compressed():
    """`Lz4BlockInputStream.readBlock` takes any block of size 0 for the end mark."""
    data = lz4_frame([(b"seen", False), (b"", False), (b"unseen", False)])
    assert decompressed(LZ4, data) == b"seen"
    assert one_shot.decompressed(LZ4, data, 1 << 20, WINDOW) is None


# -- zstd -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("says_size", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_zstd_match_from_before_its_frames_window_is_no_data(seed, says_size):
    data = narrowed(Random(seed), says_size)
    assert one_shot.decompressed(ZSTD, data, 1 << 20, WINDOW) is None
    with pytest.raises(CodecError):
        decompressed(ZSTD, data)
    good = COMPRESS[ZSTD](b"before")
    with pytest.raises(CodecError):
        decompressed(ZSTD, good + data + good)


@pytest.mark.parametrize("window_log", [10, 12, 16])
@pytest.mark.parametrize("says_size", [True, False])
@pytest.mark.parametrize("level", [1, 3, 19])
def test_a_zstd_frame_larger_than_its_window_is_read(level, says_size, window_log):
    """franz-go's windows are of 64 KiB, so that many a batch is larger."""
    words = [Random(level).randbytes(size) for size in range(1, 30)]
    content = b"".join(Random(window_log).choices(words, k=20_000))
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level, window_log=window_log, write_content_size=says_size
    )
    maker = zstandard.ZstdCompressor(compression_params=parameters).compressobj(
        size=len(content) if says_size else -1
    )
    data = maker.compress(content) + maker.flush()
    assert zstandard.get_frame_parameters(data).window_size < len(content)
    assert decompressed(ZSTD, data) == content
    # Blocks are no longer than the window: of very many the short way leaves the data to the long one.
    short = one_shot.decompressed(ZSTD, data, 1 << 20, WINDOW)
    assert short == content or (short is None and window_log < 16)


# -- A batch ----------------------------------------------------------------------------------------

UNSOUND = {
    LZ4: lz4_frame([(lz4_block((record(0, 0)[:-1], 0, 4)), True)]),
    ZSTD: narrowed(Random(3), says_size=True),
}


@pytest.mark.parametrize("codec", UNSOUND, ids=["lz4", "zstd"])
def test_a_batch_with_such_a_match_does_not_decompress(codec):
    (found,) = scan(memoryview(batch([0], codec, body=UNSOUND[codec])), 2).batches
    assert read_facts(found, SessionLimits()).fault is Fault.UNDECOMPRESSABLE


# -- The readers ------------------------------------------------------------------------------------

seeds = st.integers(0, 2**32)


@given(seed=seeds)
def test_a_block_of_lz4_comes_to_what_it_was(seed):
    content = plain(Random(seed), 70_000)
    assert readers.lz4_size(lz4.block.compress(content, store_size=False)) == len(content)


@given(content=seeds.map(lambda seed: plain(Random(seed), 40_000)), level=st.sampled_from([-5, 1, 3, 9, 19]))
@example(content=bytes(300_000), level=3)  # its blocks hold the byte and a count
def test_a_frame_of_zstd_comes_to_what_it_was(content, level):
    data = zstandard.ZstdCompressor(level=level).compress(content)
    blocks_at, window = zstandard.frame_header_size(data), zstandard.get_frame_parameters(data).window_size
    assert readers.zstd_size(data, blocks_at, window) == len(content)


def damaged(random, data):
    out = bytearray(data)
    for _ in range(random.choice([1, 1, 3])):
        out[random.randrange(len(out))] = random.choice([0, 0xFF, random.getrandbits(8)])
    return bytes(out[: random.choice([len(out), random.randint(0, len(out))])])


@given(seed=seeds)
def test_damaged_data_has_the_size_and_the_work_that_python_finds(seed):
    random, content = Random(seed), plain(Random(seed), 6_000)
    block = damaged(random, lz4.block.compress(content, store_size=False))
    assert readers.lz4_size(block) == reference.lz4_size(block)
    frame = damaged(random, zstandard.ZstdCompressor(level=random.choice([1, 3, 19])).compress(content))
    window = random.choice([100, 1 << 10, 1 << 40])
    assert readers.zstd_size(frame, 6, window) == reference.zstd_size(frame, 6, window)
    behind = random.choice([0, 4])
    assert readers.zstd_work(frame, 6, behind) == reference.zstd_work(frame, 6, behind)


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("sequences", [0x7F00, 40_000])
def test_the_work_of_a_frame_of_zstd_is_that_of_its_blocks_and_sequences(blocks, sequences):
    data = zstd_of_sequences(blocks, sequences)
    assert len(zstandard.decompress(data, 1 << 20)) == 16 + blocks * 3 * sequences
    assert readers.zstd_work(data, 6, 0) == 6_000 * (1 + blocks) + 20 * blocks * sequences


@given(seed=seeds)
def test_the_work_of_a_frame_of_zstd_is_told_without_reading_its_sequences(seed):
    """One table for each block, and numbers of sequences in one, two and three bytes."""
    random = Random(seed)
    content = random.randbytes(random.choice([10, 5_000, 200_000]))
    for data, blocks in (
        (zstandard.compress(content), 1 + (len(content) - 1) // (1 << 17)),
        (zstd_of_tables(9), 11),
    ):
        at = zstandard.frame_header_size(data)
        assert readers.zstd_work(data, at, 0) >= 6_000 * blocks
        assert readers.zstd_work(data + bytes(4), at, 4) == readers.zstd_work(data, at, 0)
        for wrong in (data + b"a", data[:-1], data[:at]):
            assert readers.zstd_work(wrong, at, 0) == -1
