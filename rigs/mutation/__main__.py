"""`python -m rigs.mutation`: changes the core, one thing at a time, and looks for a test that turns red.

    python -m rigs.mutation                                           # wire, policy and session
    python -m rigs.mutation --of tsproxy/session --sample 300 --seed 2026
    python -m rigs.mutation --of tsproxy/policy/units.py
    python -m rigs.mutation --again printed.txt     # what that earlier run printed as survivors

The tests are those of the quick set that need no broker. First coverage.py says which of them reach which
lines (`reach`). Then each mutant meets the tests that reach its statement (`trial`). Survivors are printed;
`docs/evidence/reliability.md` says of each kind why it is left.
"""

import argparse
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rigs.mutation import trial
from rigs.mutation.mutants import ROOT, Mutant, mutants
from rigs.mutation.reach import KEPT, NotGreenError, Reach, measured

PACKAGES = ("tsproxy/wire", "tsproxy/policy", "tsproxy/session")


def mutants_of(place: str) -> list[Mutant]:
    """All mutants of a package or of a module."""
    paths = [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py"))
    return [mutant for path in paths for mutant in mutants(str(path.relative_to(ROOT)))]


def sampled(found: list[Mutant], place: str, most: int, seed: int) -> list[Mutant]:
    """At most so many mutants, in their order. The choice depends on seed and place."""
    chosen = random.Random(f"{seed} {place}").sample(range(len(found)), min(most, len(found)))
    return [found[number] for number in sorted(chosen)]


def printed_survivors(text: str) -> set[tuple[str, str]]:
    """Path and change of each survivor that an earlier run printed. Lines move, so they do not count."""
    names = [line.split("survived ", 1)[1] for line in text.splitlines() if "survived " in line]
    return {(path, change.strip()) for path, _, change in (name.split(":", 2) for name in names)}


def survivors(wanted: list[Mutant], reach: Reach, workers: int) -> Iterator[Mutant]:
    """The mutants that no test catches. A line that no test reaches has survivors, too."""
    in_place: trial.Trials = []
    imported: trial.Trials = []
    for mutant in wanted:
        tests, is_imported = reach.of(mutant)
        tests = reach.within(tests)
        (imported if is_imported else in_place).append((mutant, tests))
    files = dict.fromkeys(name.partition("::")[0] for name in reach.seconds)
    for number, verdict in trial.in_loaded_process(in_place, files, workers):
        mutant, tests = in_place[number]
        if verdict == trial.SURVIVED:
            yield mutant
        elif verdict == trial.MUST_BE_IMPORTED:
            imported.append((mutant, tests))
    runs = ((number, partial(trial.imported, *one)) for number, one in enumerate(imported))
    for number, verdict in trial.verdicts(runs, workers):
        if verdict == trial.SURVIVED:
            yield imported[number][0]


def check(wanted: dict[str, list[Mutant]], reach: Reach, workers: int) -> int:
    """Prints the score of each place and every survivor; 1 where something survived."""
    total = survived = 0
    started = time.monotonic()
    for place, found in wanted.items():
        alive = []
        for mutant in survivors(found, reach, workers):
            print(f"  survived {mutant.name}", flush=True)
            alive.append(mutant)
        total, survived = total + len(found), survived + len(alive)
        print(f"{place}: {len(found) - len(alive)} of {len(found)} caught", flush=True)
    print(f"{total - survived} of {total} caught, {time.monotonic() - started:.0f} s")
    return 1 if survived else 0


def is_green(reach: Reach) -> bool:
    """Whether all tests pass in both kinds of trial while nothing is changed."""
    tests = dict(sorted(reach.seconds.items(), key=lambda one: one[1]))
    files = dict.fromkeys(name.partition("::")[0] for name in tests)
    runs = [(0, partial(trial.imported, None, tests))]
    endings = [*trial.in_loaded_process([(None, tests)], files, 1), *trial.verdicts(runs, 1)]
    return endings == [(0, trial.SURVIVED)] * 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m rigs.mutation", description=__doc__)
    parser.add_argument("--of", action="append", help="a package or a module, such as tsproxy/session")
    parser.add_argument("--sample", type=int, help="so many mutants of each, instead of all")
    parser.add_argument("--seed", type=int, default=0, help="chooses the sample")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--again", type=Path, help="a file with the survivors of an earlier run: only these")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="of tests for each mutant, the quickest"
    )
    parser.add_argument("--count", action="store_true", help="only count the mutants")
    parser.add_argument("--unchecked", action="store_true", help="do not run all tests unchanged first")
    arguments = parser.parse_args()
    wanted = {place.rstrip("/"): mutants_of(place.rstrip("/")) for place in arguments.of or PACKAGES}
    print(", ".join(f"{place}: {len(found)} mutants" for place, found in wanted.items()), flush=True)
    if arguments.again is not None:
        again = printed_survivors(arguments.again.read_text())
        wanted = {
            place: [mutant for mutant in found if (mutant.path, mutant.change) in again]
            for place, found in wanted.items()
        }
    if arguments.sample is not None:
        wanted = {
            place: sampled(found, place, arguments.sample, arguments.seed) for place, found in wanted.items()
        }
    if arguments.count:
        return 0
    with tempfile.TemporaryDirectory(prefix="tsproxy-mutation-") as folder:
        os.environ |= trial.PROFILE | {"PYTEST_DEBUG_TEMPROOT": folder}
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(KEPT / "compiled")
        try:
            reach = measured()
        except NotGreenError as error:
            print(f"tests fail before anything is changed: see {error}")
            return 1
        print(f"{len(reach.seconds)} tests, {sum(reach.seconds.values()):.0f} s of CPU", flush=True)
        reach.most_seconds = arguments.seconds
        if not arguments.unchecked and not is_green(reach):
            print("tests fail in the order of the trials before anything is changed")
            return 1
        return check(wanted, reach, arguments.workers)


if __name__ == "__main__":
    sys.exit(main())
