"""`python -m rigs.soak --minutes M --seed S`: mixed traffic for so long, and what grew meanwhile.

The exit status is 0 if every series of memory, descriptors and tasks is steady. The samples are written to a
folder as JSON lines; `--read` judges those of an earlier run again.
"""

import argparse
import asyncio
import json
import logging
import sys
import tempfile
from pathlib import Path

from rigs.soak.fit import Verdict
from rigs.soak.verdict import faults, judge, read, table
from rigs.soak.world import Plan, Soak


async def run(plan, samples):
    """Writes the samples as JSON lines."""
    with tempfile.TemporaryDirectory(prefix="tsproxy-soak-") as folder, samples.open("w") as file:

        def write(line):
            print(line, file=file, flush=True)

        async with Soak(plan, Path(folder), write).running() as soak:
            await soak.run()


def told(samples):
    """Prints the verdict. Returns the exit status."""
    record = read(samples.read_text().splitlines())
    judged, wrong = judge(record), faults(record)
    for row in table(judged):
        print(row)
    print(json.dumps(record.end))
    for each in wrong:
        print(f"not a soak: {each}")
    return 0 if not wrong and all(each.verdict is Verdict.STEADY for each in judged.values()) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m rigs.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--folder", type=Path, default=Path("build"), help="for soak.jsonl")
    parser.add_argument("--read", type=Path, help="judge these samples, and run nothing")
    given = parser.parse_args()
    samples = given.read or given.folder / "soak.jsonl"
    if not given.read:
        given.folder.mkdir(parents=True, exist_ok=True)
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it tells of each restart of the broker
        asyncio.run(run(Plan(60 * given.minutes, seed=given.seed), samples))
    sys.exit(told(samples))
