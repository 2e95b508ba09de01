"""The native code under AddressSanitizer and UBSan, over the fuzz corpus.

    python -m tests.fastpath.memory_safety [--seeds 2000]

Builds the native code with both sanitizers into a folder of its own (gcc is needed), and lets it read what
the tests draw, each input in a buffer that ends exactly where its bytes end: a single byte read or written
outside ends the run with a report. A session without the fast path must give the same results. The targets of
`rigs/fuzz/native` read with each reader and filter alone. Then whole connections run through the pipe on a
simulated network, and sessions whose requests real threads judge. Both end at every point.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--seeds", type=int, default=2_000, help="conversations to read")
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


def read_corpus(seeds: int) -> None:
    from tests.fastpath.test_sessions import converse
    from tests.proxy.test_pipe import whole_requests_go_on

    started = time.monotonic()
    for seed in range(seeds):
        whole_requests_go_on(seed)
        converse(seed, buffer=exact)
    print(f"{seeds} conversations in {time.monotonic() - started:.0f} s: nothing read or written outside")


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
