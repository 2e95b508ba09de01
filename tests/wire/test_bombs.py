"""A batch that decompresses to much more than it is costs no more memory than its budget allows."""

import subprocess
import sys
import zlib
from pathlib import Path

import cramjam
import lz4.frame
import pytest
import zstandard

from tests.wire.batches import GZIP, LZ4, SNAPPY, XERIAL_HEADER, ZSTD, raw_snappy

MIB = 1024 * 1024
BUDGET = 4 * MIB
INFLATED = 256 * MIB

ZEROS = bytes(MIB)


def gzip_bomb():
    compressor = zlib.compressobj(wbits=31)
    return b"".join(compressor.compress(ZEROS) for _ in range(INFLATED // MIB)) + compressor.flush()


def xerial_bomb():
    block = raw_snappy(ZEROS)
    return XERIAL_HEADER + (len(block).to_bytes(4, "big") + block) * (INFLATED // MIB)


def lz4_bomb():
    with lz4.frame.LZ4FrameCompressor(block_linked=False) as compressor:
        parts = [compressor.begin(), *(compressor.compress(ZEROS) for _ in range(INFLATED // MIB))]
        return b"".join([*parts, compressor.flush()])


def zstd_bomb():
    compressor = zstandard.ZstdCompressor().compressobj()
    return b"".join(compressor.compress(ZEROS) for _ in range(INFLATED // MIB)) + compressor.flush()


BOMBS = {
    "gzip": (GZIP, gzip_bomb),
    "gzip, many members": (GZIP, lambda: zlib.compress(ZEROS, wbits=31) * (INFLATED // MIB)),
    "xerial": (SNAPPY, xerial_bomb),
    "raw snappy": (SNAPPY, lambda: bytes(cramjam.snappy.compress_raw(bytes(INFLATED)))),
    "lz4": (LZ4, lz4_bomb),
    "zstd": (ZSTD, zstd_bomb),
    "zstd in one frame of known size": (ZSTD, lambda: zstandard.ZstdCompressor().compress(bytes(INFLATED))),
}

DEFUSE = """
import re, sys
from pathlib import Path
from tsproxy.wire.codecs import BudgetError, WindowError, decompress

def most_resident_kib():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

codec, budget = int(sys.argv[1]), int(sys.argv[2])
bomb = memoryview(sys.stdin.buffer.read())
before = most_resident_kib()
try:
    decompress(codec, bomb, budget, 8 << 20)
except (BudgetError, WindowError):
    print((most_resident_kib() - before) // 1024)
"""
"""In a process of its own: the codecs' memory is not Python's, and only its highest mark is told."""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells a process's peak memory")
@pytest.mark.parametrize(("codec", "bomb"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_costs_no_more_than_its_budget(codec, bomb):
    command = [sys.executable, "-c", DEFUSE, str(codec), str(BUDGET)]
    told = subprocess.run(command, input=bomb(), capture_output=True, check=True)
    grown_mib = int(told.stdout)
    assert grown_mib <= 4 * BUDGET // MIB
