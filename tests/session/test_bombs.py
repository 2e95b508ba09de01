"""A batch that unfolds to 1 GiB is rejected by name, and costs 16 MiB at most while it is read."""

import subprocess
import sys
from pathlib import Path

import lz4.frame
import pytest
import zstandard
from isal import isal_zlib

from tests.session.messages import produce
from tests.wire.batches import GZIP, LZ4, SNAPPY, XERIAL_HEADER, ZSTD, batch, raw_snappy

MIB = 1 << 20
UNFOLDED_MIB = 1024
ZEROS = bytes(MIB)


def one_stream(compressor):
    return b"".join(compressor.compress(ZEROS) for _ in range(UNFOLDED_MIB)) + compressor.flush()


def lz4_frame():
    compressor = lz4.frame.LZ4FrameCompressor(block_linked=False)
    return compressor.begin() + one_stream(compressor)


def xerial_blocks():
    block = raw_snappy(ZEROS)
    return XERIAL_HEADER + (len(block).to_bytes(4, "big") + block) * UNFOLDED_MIB


BOMBS = {
    "gzip": (GZIP, lambda: one_stream(isal_zlib.compressobj(1, wbits=31))),
    "gzip, many members": (GZIP, lambda: isal_zlib.compress(ZEROS, 1, 31) * UNFOLDED_MIB),
    "xerial": (SNAPPY, xerial_blocks),
    "raw snappy": (SNAPPY, lambda: b"\x80\x80\x80\x80\x04" + raw_snappy(ZEROS)[3:]),
    "lz4": (LZ4, lz4_frame),
    "zstd": (ZSTD, lambda: one_stream(zstandard.ZstdCompressor().compressobj())),
    "zstd in one frame of known size": (
        ZSTD,
        lambda: one_stream(zstandard.ZstdCompressor().compressobj(size=UNFOLDED_MIB * MIB)),
    ),
}

JUDGE = """
import re, sys
from pathlib import Path
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import View
from tsproxy.session.produce.judge_partitions import judge_all
from tsproxy.wire.headers import read_request_header
from tsproxy.wire.k00_produce import read_request

def most_resident_kib():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

asked = memoryview(sys.stdin.buffer.read())[4:]
header = read_request_header(asked)
request = read_request(header.api_version, asked[header.body_start:])
view = View(topics={"t": TopicLimits(after_max_ms=0, max_message_bytes=1 << 30)})
before = most_resident_kib()
(judged,) = judge_all(header, request, view, 0)
print((most_resident_kib() - before) // 1024)
print(judged.verdict.error_code, len(judged.verdict.record_errors))
print(judged.verdict.error_message)
"""
"""In a process of its own: the codecs' memory is not Python's, and only its highest mark is told."""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells a process's peak memory")
@pytest.mark.parametrize(("codec", "bomb"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_rejected_by_name_and_costs_little(codec, bomb):
    asked = produce({"t": {0: batch(codec=codec, body=bomb(), records_count=1)}})
    told = subprocess.run([sys.executable, "-c", JUDGE], input=asked, capture_output=True, check=True)
    grown_mib, code, text = told.stdout.decode().splitlines()
    assert int(grown_mib) <= 16
    assert code == "87 0"
    assert "limits.decompressed_batch" in text
