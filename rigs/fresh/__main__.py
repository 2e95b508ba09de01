"""Prints a line for each machine and command. Ends with 1 if one failed, or a missing package had no name."""

import argparse
import sys
from pathlib import Path

from rigs.fresh.machine import Machine
from rigs.fresh.readme import commands, packages

HOME = "root/new"


def lacking(machine):
    """(package, what `make demo` says without it, if that is right) for each package of README's line."""
    for name in packages():
        if name == "make":
            continue  # the shell says it
        checkout = machine.clone(HOME)
        before = {*checkout.iterdir()}
        machine.removed(name)
        ended = machine.run(f"cd /{HOME}/tsproxy && make demo", HOME)
        machine.installed(*packages())
        said = ended.output.strip().splitlines()[0]
        is_right = ended.status == 2 and "To install it: apt-get install" in said
        yield name, said, is_right and {*checkout.iterdir()} == before


def main():
    parser = argparse.ArgumentParser(prog="python -m rigs.fresh", description=__doc__)
    parser.add_argument("suites", nargs="+", help="releases of Debian: bookworm trixie forky")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp/tsproxy-roots"))
    parser.add_argument("--command", action="append", help="instead of README's two")
    options = parser.parse_args()
    failures = 0
    for suite in options.suites:
        machine = Machine(suite, options.folder / suite)
        machine.make()
        has = machine.run("python3 --version; java -version 2>&1 | head -1; command -v cc gcc clang curl")
        print(suite, *has.output.split("\n"), sep=" | ", flush=True)
        for name, said, is_right in lacking(machine):
            failures += not is_right
            print(suite, f"without {name}", "ok" if is_right else "WRONG", said, sep=" | ", flush=True)
        machine.clone(HOME)
        for command in options.command or commands():
            log = options.folder / f"{suite}-{command.replace(' ', '-')}.log"
            ended = machine.run(f"cd /{HOME}/tsproxy && {command}", HOME, log)
            failures += ended.status != 0
            last = ended.output.strip().splitlines()[-1]
            print(
                suite, command, ended.status, f"{ended.took_s / 60:.1f} min", last, log, sep=" | ", flush=True
            )
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
