"""`python -m tests.soak --minutes M --seed S`: mixed traffic for so long, and what grows meanwhile."""

import argparse
import asyncio
import logging
import sys
import tempfile
from pathlib import Path

from tests.soak.world import Plan, Soak


async def run(plan, samples):
    """Writes the samples as JSON lines."""
    with tempfile.TemporaryDirectory(prefix="tsproxy-soak-") as folder, samples.open("w") as file:
        write = lambda line: print(line, file=file, flush=True)  # noqa: E731
        async with Soak(plan, Path(folder), write).running() as soak:
            await soak.run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--samples", type=Path, default=Path("build/soak.jsonl"))
    parser.add_argument("--sample-seconds", type=float, default=10)
    parser.add_argument("--restart-seconds", type=float, default=600)
    given = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it tells of each restart of the broker
    given.samples.parent.mkdir(parents=True, exist_ok=True)
    plan = Plan(60 * given.minutes, given.sample_seconds, restart_s=given.restart_seconds, seed=given.seed)
    sys.exit(asyncio.run(run(plan, given.samples)))
