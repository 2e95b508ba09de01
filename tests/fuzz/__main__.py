"""`python -m tests.fuzz [TARGET ...] [--minutes N]`, or `python -m tests.fuzz TARGET FILE ...`."""

import argparse
import re
import subprocess
import sys
import tempfile
from hashlib import sha1
from pathlib import Path

from tests.fuzz.targets import TARGETS, found


def main() -> int:
    """Returns 1 if an invariant did not hold; its input is then in the working directory."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    options.add_argument("what", nargs="*", metavar="TARGET or FILE", help=", ".join(TARGETS))
    options.add_argument("--minutes", type=float, default=1.0, metavar="N", help="for each target")
    chosen = options.parse_args()
    names = [each for each in chosen.what if each in TARGETS]
    files = [Path(each) for each in chosen.what if each not in TARGETS]
    if missing := [str(path) for path in files if not path.is_file()]:
        options.error(f"neither a target nor a file: {', '.join(missing)}")
    if files and len(names) != 1:
        options.error("a file goes with one target")
    if files:
        for path in files:
            TARGETS[names[0]].check(path.read_bytes())
            print(f"{path}: {names[0]} holds")
        return 0
    return max([fuzz(name, chosen.minutes) for name in names or TARGETS])


def fuzz(name: str, minutes: float) -> int:
    """Runs one target in a process of its own, and prints one line about it."""
    target = TARGETS[name]
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for seed in (*target.seeds(), *found(name)):
            (corpus / sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)
        command = [
            *(sys.executable, "-m", "tests.fuzz.atheris_run", name, str(corpus)),
            f"-max_total_time={int(60 * minutes)}",
            f"-max_len={target.most_bytes}",
            "-timeout=20",
            "-rss_limit_mb=2048",
            f"-artifact_prefix=fuzz-{name}-",
        ]
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    inputs = re.findall(r"^#(\d+)\s", run.stderr, re.M)
    coverage = re.findall(r" cov: (\d+) ", run.stderr)
    print(f"{name}: {max(map(int, inputs), default=0):,} inputs, {coverage[-1] if coverage else 0} branches")
    if run.returncode:
        print(run.stderr[-6000:], file=sys.stderr)
    return int(run.returncode != 0)


if __name__ == "__main__":
    raise SystemExit(main())
