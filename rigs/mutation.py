"""`make mutation`: changes functions of the core, one thing at a time, and looks for a test that turns red.

mutmut makes the mutants, and runs the tests that reach each of them, the quickest first (`[tool.mutmut]` in
pyproject.toml). This program chooses a sample of each package, and prints its score and each survivor.
`mutmut run NAME` tries one again, and `mutmut browse` shows them.
"""

import argparse
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

PACKAGES: Final = ("tsproxy.wire", "tsproxy.policy", "tsproxy.session")
CAUGHT: Final = {"killed", "timeout", "segfault"}
FIRST: Final = "tsproxy.policy.units.*__mutmut_1"
"""A few mutants. mutmut names all of them when it runs some."""

ENVIRONMENT: Final = os.environ | {"TSPROXY_TEST": "mutation", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}


def mutmut(*arguments: str) -> str:
    """The output of mutmut. Exits with its end if mutmut fails, as when a test is red without a mutant."""
    command = [Path(sys.executable).with_name("mutmut"), *arguments]
    ended = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", env=ENVIRONMENT)
    return ended.stdout if ended.returncode == 0 else sys.exit(ended.stdout[-4000:])


def results(begin: str) -> dict[str, str]:
    """The state of each mutant by its name, of those whose name begins so."""
    lines = mutmut("results", "--all", "true").splitlines()
    return dict(line.strip().split(": ", 1) for line in lines if line.strip().startswith(begin))


def sampled(names: list[str], most: int, seed: int) -> list[str]:
    """At most so many names. Each is chosen by itself, without its package: code that did not change, or
    that moved, keeps its mutants in the sample."""

    def order(name: str) -> bytes:
        module_and_function = name.rsplit(".", 2)[1:]
        return hashlib.sha256(repr((seed, module_and_function)).encode()).digest()

    return sorted(names, key=order)[:most]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m rigs.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=100, help="so many mutants of each package")
    parser.add_argument("--seed", type=int, default=0, help="chooses the sample")
    parser.add_argument("--of", action="append", help="a package or a module, such as tsproxy.policy.units")
    arguments = parser.parse_args()
    shutil.rmtree("mutants", ignore_errors=True)
    mutmut("run", "--max-children=1", FIRST)
    named = {package: [*results(f"{package}.")] for package in arguments.of or PACKAGES}
    samples = {package: sampled(names, arguments.sample, arguments.seed) for package, names in named.items()}
    mutmut("run", "--max-children=1", *itertools.chain(*samples.values()))
    for package, sample in samples.items():
        ended = results(f"{package}.")
        survivors = sorted(name for name in sample if ended[name] not in CAUGHT)
        print(*(mutmut("show", name) for name in survivors), sep="")
        caught = len(sample) - len(survivors)
        print(f"{package}: {caught} of {len(sample)} caught, from {len(named[package])}")


if __name__ == "__main__":
    main()
