"""`python -m tests.mutation`: changes rules and record readers, one thing at a time, and looks for red.

    python -m tests.mutation                         # all modules
    python -m tests.mutation --only policy/units.py

First both brokers answer a few thousand generated requests directly. Then every mutant is held against
those answers and against the tests that need no broker, in a process of its own and a copy of the
tree. What survives is printed; `docs/verdicts.md` says of each why it does.
"""

import argparse
import asyncio
import os
import pickle
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired, run

from tests.differential.__main__ import PROPERTIES, compare
from tests.mutation.mutants import Mutant, mutants
from tsproxy.testing.kafka_cluster import KafkaCluster

ROOT = Path(__file__).parents[2]
_ROWS = "tests/verdicts/test_rows.py"
_READERS = "tests/wire/test_record_batch.py"
MODULES = {
    "policy/timestamps.py": _ROWS,
    "policy/judge.py": _ROWS,
    "policy/case.py": _ROWS,
    "policy/request_checks.py": _ROWS,
    "policy/whole_request.py": _ROWS,
    "policy/batch_checks.py": _ROWS,
    "policy/record_checks.py": _ROWS,
    "policy/faults.py": _ROWS,
    "policy/units.py": "tests/policy/test_units.py",
    "policy/broker_reasons.py": "tests/verdicts/test_broker_reasons.py",
    "wire/record_set.py": _READERS,
    "wire/record_batch.py": _READERS,
    "wire/records.py": _READERS,
    "wire/message_set.py": _READERS,
    "session/judging.py": "tests/session/test_produce.py",
}
"""Each with the tests that most often turn red, which are asked first; what they pass meets all."""

TESTS = (
    "tests/verdicts",
    "tests/policy",
    "tests/wire/test_record_batch.py",
    "tests/wire/test_codecs.py",
    "tests/session/test_produce.py",
    "tests/kernel/test_walk.py",
    "tests/kernel/test_stream.py",
)
VERSIONS = ("4.3.1", "3.9.1")
SECONDS = 300


async def record(batches: int, folder: Path) -> None:
    for version in VERSIONS:
        async with KafkaCluster(version=version, properties=PROPERTIES) as kafka:
            tally = await compare(kafka, "mutation", batches, is_recording=True)
        (folder / version).write_bytes(pickle.dumps(tally.recorded))


def is_caught(mutant: Mutant, tree: Path, recorded: Path) -> bool:
    """True where the recorded answers or a test turn red."""
    path = tree / "tsproxy" / mutant.path
    original = path.read_text()
    path.write_text(mutant.source)
    environment = {**os.environ, "PYTHONPATH": str(tree), "TSPROXY_KERNEL": "twin"}
    tests = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not broker", "-p", "no:cacheprovider"]
    commands = (
        [*tests, MODULES[mutant.path]],
        [sys.executable, "-m", "tests.mutation.replay", str(recorded)],
        [*tests, *TESTS],
    )
    try:
        for command in commands:
            try:
                ended = run(
                    command, cwd=tree, env=environment, stdout=DEVNULL, stderr=DEVNULL, timeout=SECONDS
                )
            except TimeoutExpired:
                return True
            if ended.returncode != 0:
                return True
        return False
    finally:
        path.write_text(original)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=MODULES, help="a module, as in the list of modules"
    )
    parser.add_argument("--batches", type=int, default=4000, help="recorded from each broker")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tsproxy-mutation-") as name:
        folder = Path(name)
        recorded = folder / "recorded"
        recorded.mkdir()
        asyncio.run(record(arguments.batches, recorded))
        trees = [folder / f"tree-{n}" for n in range(arguments.workers)]
        for tree in trees:
            for part in ("tsproxy", "tests", "deploy", "docs", "spark_reports"):
                shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
            shutil.copy(ROOT / "pyproject.toml", tree)
        return check([*(arguments.only or MODULES)], trees, recorded)


def check(modules: list[str], trees: list[Path], recorded: Path) -> int:
    """Prints the score of each module and every survivor; 1 where something survived."""
    untouched = Mutant(modules[0], 0, "none", (trees[0] / "tsproxy" / modules[0]).read_text())
    if is_caught(untouched, trees[0], recorded):
        print("the tests are red before anything is changed")
        return 1
    free = list(trees)
    total = survived = 0

    def try_out(mutant: Mutant) -> tuple[Mutant, bool]:
        tree = free.pop()
        try:
            return mutant, is_caught(mutant, tree, recorded)
        finally:
            free.append(tree)

    started = time.monotonic()
    with ThreadPoolExecutor(len(trees)) as pool:
        for module in modules:
            found = list(mutants(module, (trees[0] / "tsproxy" / module).read_text()))
            alive = [mutant for mutant, caught in pool.map(try_out, found) if not caught]
            total, survived = total + len(found), survived + len(alive)
            print(f"{module}: {len(found) - len(alive)} of {len(found)} caught", flush=True)
            for mutant in alive:
                print(f"  survived {mutant.name}", flush=True)
    print(f"{total - survived} of {total} caught, {time.monotonic() - started:.0f} s")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
