"""The native code under AddressSanitizer and UBSan, over the fuzz corpus.

    python -m tests.fastpath.memory_safety [--seeds 2000]

Builds the native code with both sanitizers into a folder of its own (gcc is needed), and lets it read what
the tests draw, each input in a buffer that ends exactly where its bytes end: a single byte read or written
outside ends the run with a report. The readers in Python, and a session without the fast path, must give the
same results. Then whole connections run through the pipe on a simulated network, and sessions whose requests
real threads judge. Both end at every point.
"""

import argparse
import ctypes
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.wire.readers.byte_strings import record

ROOT = Path(__file__).parents[2]
SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--seeds", type=int, default=2_000, help="conversations and record sets to read")
    options.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.inside:
        read_corpus(chosen.seeds)
        run_connections(chosen.seeds)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        return run_inside(Path(folder), chosen.seeds)


def build(folder: Path) -> None:
    flags = {"CFLAGS": SANITIZERS, "LDFLAGS": SANITIZERS}
    command = ["setup.py", "-q", "build", "--build-base", folder / "base", "--build-lib", folder / "lib"]
    subprocess.run([sys.executable, *command], cwd=ROOT, env=os.environ | flags, check=True)


def run_inside(folder: Path, seeds: int) -> int:
    """Run this module again, on the code just built. The sanitizers must be loaded before Python."""
    environment = os.environ | {
        "LD_PRELOAD": " ".join(library(name) for name in ("libasan.so", "libubsan.so")),
        "ASAN_OPTIONS": "detect_leaks=0",  # CPython keeps much until its end
        "PYTHONMALLOC": "malloc",  # otherwise small objects share blocks, and hide what is beside them
        "PYTHONPATH": os.pathsep.join([str(folder / "lib"), str(ROOT)]),
    }
    command = [sys.executable, "-P", "-m", "tests.fastpath.memory_safety", "--inside", "--seeds", str(seeds)]
    return subprocess.run(command, env=environment, check=False).returncode


def library(name: str) -> str:
    asked = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def exact(data: bytes) -> memoryview:
    """`data` at the very end of a block of memory; `bytes` and arrays have some to spare behind them."""
    front = bytes(64)  # ctypes keeps what is smaller inside an object
    block = (ctypes.c_ubyte * (len(front) + len(data))).from_buffer_copy(front + data)
    return memoryview(block).cast("B")[len(front) :]


def some_records(random: Random) -> Iterator[bytes]:
    """None like the one before, or all alike."""
    is_alike, key, size = random.getrandbits(1), random.choice([None, b"key"]), random.choice([0, 1, 100])
    for number in range(random.randint(1, 90)):
        value = bytes(size if is_alike else number % 70)
        yield record(number if is_alike else random.getrandbits(40), number, key, value)


def read_corpus(seeds: int) -> None:
    from tests.fastpath.test_sessions import converse
    from tests.fastpath.traces import trace
    from tests.proxy.test_pipe import whole_requests_go_on
    from tests.session.messages import FETCH, answer
    from tests.wire.batches import LZ4, ZSTD
    from tests.wire.blobs import blobs
    from tests.wire.fetched import any_body
    from tests.wire.readers import reference
    from tsproxy.wire import readers

    started, inputs = time.monotonic(), 0
    for key_size, value_size in itertools.product(range(60), range(4)):
        last = record(7, 0, bytes(key_size), bytes(value_size))
        facts = reference.walk(last, 0, 1, True)
        assert readers.walk(exact(last), 0, 1, True) == facts, (key_size, value_size)
    for seed in range(seeds):
        whole_requests_go_on(seed)
        converse(seed, buffer=exact)
        assert trace(seed, exact) == trace(seed), f"seed {seed}: other results from another buffer"
        random = Random(seed)
        data = bytearray(b"".join(some_records(random)))
        for _ in range(50):
            data[random.randrange(len(data))] = random.getrandbits(8)
            cut, count = data[: random.randint(0, len(data))], random.randint(-1, 100)
            for must_fit in (True, False):
                facts = readers.walk(exact(cut), 0, count, must_fit)
                assert facts == reference.walk(bytes(cut), 0, count, must_fit), f"seed {seed}: walks differ"
                assert readers.columns(exact(cut), 0, count, must_fit) == reference.columns(
                    bytes(cut), 0, count, must_fit
                )
                inputs += 1
            search = (0, count, 1 << 38, 1 << 39, random.randint(0, 100))
            outside = readers.find_outside(exact(cut), *search)
            assert outside == reference.find_outside(bytes(cut), *search), f"seed {seed}: other culprits"
            columns = outside.positions, outside.timestamps_ms, outside.offset_deltas
            answers = (*columns, random.getrandbits(63), (b"a", bytes(random.randint(0, 300)), b""))
            assert readers.record_errors(*answers, bool(seed & 1)) == reference.record_errors(
                *answers, bool(seed & 1)
            )
        layout = random.choice([*readers.Layout])
        fetched = bytearray(answer(FETCH, 16, any_body(random, layout)))
        fetched[random.randrange(4, len(fetched))] ^= 1 << random.randrange(8)
        at = random.randrange(len(fetched))
        walk = readers.FetchWalk()
        walk.begin(len(fetched), layout)
        for piece in (fetched[:at], fetched[at:]):
            walk.advance(exact(bytes(piece)))
        assert walk.is_bad == (reference.fetch_end(fetched, layout) is None), f"seed {seed}: other ends"
        for block in blobs(LZ4, seed, 5):
            assert readers.lz4_size(exact(block[7:])) == reference.lz4_size(block[7:]), f"seed {seed}: lz4"
            for shift in range(17):
                shifted = exact(bytes(shift) + block)[shift:]
                assert readers.holds_zeros(shifted) == reference.holds_zeros(block), f"seed {seed}: zeros"
        for frame in blobs(ZSTD, seed, 5):
            for blocks_at in (6, 8):
                answers = blocks_at, 1 << random.choice([10, 40])
                assert readers.zstd_size(exact(frame), *answers) == reference.zstd_size(frame, *answers), seed
                assert readers.zstd_work(exact(frame), blocks_at, 0) == reference.zstd_work(
                    frame, blocks_at, 0
                )
    seconds = time.monotonic() - started
    print(
        f"{seeds} conversations and {inputs} record sets in {seconds:.0f} s: nothing read or written outside"
    )


def run_connections(seeds: int) -> None:
    from rigs.simulated.world import run_world
    from tests.fastpath.judged_in_threads import judged_in_threads

    started, connections = time.monotonic(), 0
    for seed in range(seeds):
        result = run_world(seed)
        assert result.violation is None, f"world {seed}: {result.violation}"
        connections += result.connections
    judged = judged_in_threads(5 * seeds)
    print(
        f"{connections} connections through the pipe, {5 * seeds} sessions with {judged} requests judged in "
        f"threads, in {time.monotonic() - started:.0f} s: nothing read or written outside"
    )


if __name__ == "__main__":
    sys.exit(main())
