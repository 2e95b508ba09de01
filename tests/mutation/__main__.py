"""`python -m tests.mutation`: changes rules and record readers, one thing at a time, and looks for red.

    python -m tests.mutation                         # all modules
    python -m tests.mutation --only policy/units.py
    python -m tests.mutation --again printed.txt     # what that earlier run printed as survivors
    python -m tests.mutation --sample 40 --seed 2026 # so many mutants of each module, chosen by the seed

First both brokers answer a few thousand generated requests directly. Then every mutant is held against those
answers and against the tests that need no broker (`trial`). Survivors are printed; `docs/verdicts.md` gives
the reason for each.
"""

import argparse
import asyncio
import os
import pickle
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.differential.__main__ import PROPERTIES, compare
from tests.mutation import trial
from tests.mutation.mutants import Mutant, mutants
from tsproxy.testing.kafka_cluster import KafkaCluster

CODE = Path(__file__).parents[2] / "tsproxy"
VERSIONS = ("4.3.1", "3.9.1")


async def record(batches: int, folder: Path) -> None:
    for version in VERSIONS:
        async with KafkaCluster(version=version, properties=PROPERTIES) as kafka:
            tally = await compare(kafka, "mutation", batches, is_recording=True)
        (folder / version).write_bytes(pickle.dumps(tally.recorded))


def survivors(found: list[Mutant], recorded: Path, workers: int) -> list[Mutant]:
    """The mutants of `found` that no test catches, in their order. `workers` mutants are tried at a time."""
    alive: list[Mutant] = []
    running: dict[int, Mutant] = {}
    waiting = found[::-1]
    while waiting or running:
        while waiting and len(running) < workers:
            mutant = waiting.pop()
            running[trial.start(mutant, recorded)] = mutant
        process, status = os.wait()
        mutant = running.pop(process)
        if status == 0:
            alive.append(mutant)
    return sorted(alive, key=found.index)


def printed_survivors(text: str) -> set[tuple[str, str]]:
    """Path and change of each survivor that an earlier run printed. Lines move, so they do not count."""
    names = [line.split("survived ", 1)[1] for line in text.splitlines() if "survived " in line]
    return {(path, change.strip()) for path, _, change in (name.split(":", 2) for name in names)}


def sampled(found: list[Mutant], module: str, most: int, seed: int) -> list[Mutant]:
    """At most so many mutants of a module, in their order. The choice depends on seed and module."""
    chosen = random.Random(f"{seed} {module}").sample(range(len(found)), min(most, len(found)))
    return [found[place] for place in sorted(chosen)]


def check(
    modules: list[str],
    recorded: Path,
    workers: int,
    again: set[tuple[str, str]] | None = None,
    most: int | None = None,
    seed: int = 0,
) -> int:
    """Prints the score of each module and every survivor; 1 where something survived.

    `again`: the paths and changes to try, and no others. `most`: so many mutants of each module are tried.
    """
    untouched = Mutant(modules[0], 0, "none", (CODE / modules[0]).read_text())
    if not survivors([untouched], recorded, 1):
        print("the tests are red before anything is changed")
        return 1
    total = survived = 0
    started = time.monotonic()
    for module in modules:
        found = list(mutants(module, (CODE / module).read_text()))
        if again is not None:
            found = [mutant for mutant in found if (mutant.path, mutant.change) in again]
        if most is not None:
            found = sampled(found, module, most, seed)
        alive = survivors(found, recorded, workers)
        total, survived = total + len(found), survived + len(alive)
        print(f"{module}: {len(found) - len(alive)} of {len(found)} caught", flush=True)
        for mutant in alive:
            print(f"  survived {mutant.name}", flush=True)
    print(f"{total - survived} of {total} caught, {time.monotonic() - started:.0f} s")
    return 1 if survived else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--only", action="append", choices=trial.MODULES, help="a module, as in the list")
    parser.add_argument("--batches", type=int, default=4000, help="recorded from each broker")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--again", type=Path, help="a file with the survivors of an earlier run: only these")
    parser.add_argument("--sample", type=int, help="mutants of each module, instead of all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    arguments = parser.parse_args()
    again = None if arguments.again is None else printed_survivors(arguments.again.read_text())
    with tempfile.TemporaryDirectory(prefix="tsproxy-mutation-") as name:
        recorded, compiled = Path(name, "recorded"), Path(name, "compiled")
        recorded.mkdir()
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(compiled)  # what does not change, but once
        asyncio.run(record(arguments.batches, recorded))
        modules = arguments.only or [*trial.MODULES]
        return check(modules, recorded, arguments.workers, again, arguments.sample, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
