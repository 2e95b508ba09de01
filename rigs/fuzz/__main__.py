"""`python -m rigs.fuzz [TARGET ...] [--minutes N]`, or `python -m rigs.fuzz TARGET FILE ...`."""

import argparse
import sys
from pathlib import Path

from rigs.fuzz.corpora import store, working
from rigs.fuzz.native import build
from rigs.fuzz.native.seeds import NATIVE
from rigs.fuzz.runs import Run, fuzz, merge, try_file
from rigs.fuzz.targets import TARGETS

EACH = (*TARGETS, *NATIVE)


def main() -> int:
    """Returns 1 if an invariant did not hold; its input is then in the working directory."""
    options = argparse.ArgumentParser(prog="python -m rigs.fuzz", description=__doc__)
    options.add_argument("what", nargs="*", metavar="TARGET or FILE", help=", ".join(EACH))
    options.add_argument("--minutes", type=float, default=1.0, metavar="N", help="for each target")
    options.add_argument("--store", action="store_true", help="minimise what was found, for the repository")
    chosen = options.parse_args()
    names = [each for each in chosen.what if each in EACH]
    files = [Path(each) for each in chosen.what if each not in EACH]
    if missing := [str(path) for path in files if not path.is_file()]:
        options.error(f"neither a target nor a file: {', '.join(missing)}")
    if files and len(names) != 1:
        options.error("a file goes with one target")
    if files:
        return max([try_file(names[0], path) for path in files])
    names = names or list(EACH)
    if build.clang() is None and any(name in NATIVE for name in names):
        print(f"targets in C are left out: {build.MISSING}", file=sys.stderr)
        names = [name for name in names if name not in NATIVE]
    if chosen.store:
        for name in names:
            if working(name).exists():
                print(f"{name}: {store(name, merge(name))} inputs")
        return 0
    return max([_told(fuzz(name, chosen.minutes)) for name in names], default=0)


def _told(run: Run) -> int:
    """Prints one line about a run, and all that it said if it failed; returns its exit status."""
    print(run.line, flush=True)
    if run.has_failed:
        print(run.said[-6000:], file=sys.stderr, flush=True)
    return int(run.has_failed)


if __name__ == "__main__":
    raise SystemExit(main())
