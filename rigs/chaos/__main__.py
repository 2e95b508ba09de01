"""`python -m rigs.chaos --rounds N --seed S`: rounds of faults, and the sums of what must be zero.

Round n of seed S draws its faults from the seed S + n, so `--rounds 5 --seed 2031` repeats the rounds 2031 to
2035. Which byte is on its way when a fault comes depends on the machine and is not repeated.
"""

import argparse
import asyncio
import json
import math
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from rigs.chaos.faults import FAULTS, possible
from rigs.chaos.rounds import live
from rigs.chaos.world import World

ROUNDS_A_LIFE = 5


async def run(rounds, seed, only, attackers, folder, is_enough):
    """Yield each life as soon as it has ended, at least one, until `is_enough()`."""
    async with World(folder) as world:
        names = [name for name in possible(world) if not only or name in only]
        left_out = sorted((only or set(FAULTS)) - set(names))
        if left_out:
            print(f"left out, because this machine does not allow them: {', '.join(left_out)}", flush=True)
        for first in range(seed, seed + rounds, ROUNDS_A_LIFE):
            seeds = range(first, min(first + ROUNDS_A_LIFE, seed + rounds))
            life = await live(world, f"chaos-{first}", seeds, names, attackers)
            if life.is_clean:
                shutil.rmtree(world.kept)
            yield life
            if is_enough():
                return


def summed(lives):
    """The table's row: how much was tried, and the sums."""
    every = [each for life in lives for each in life.rounds]
    recoveries = sorted(each.recovery_s for each in every)
    counts, attacks = Counter(), Counter()
    for life in lives:
        counts.update({name: n for name, n in asdict(life.verdict).items() if name != "examples"})
        attacks.update(life.attacks)
    return {
        "rounds": len(every),
        "faults": dict(Counter(name for each in every for name in each.faults).most_common()),
        "acknowledged": sum(life.acknowledged for life in lives),
        "stored": sum(life.stored for life in lives),
        "sent_again": sum(life.sent_again for life in lives),
        **counts,
        "attacks": dict(attacks),
        "not_recovered": sum(bool(each.not_recovered) for each in every),
        "recovery_s": {
            "median": statistics.median(recoveries),
            "p95": recoveries[math.ceil(0.95 * len(recoveries)) - 1],
            "most": recoveries[-1],
        },
        "memory_mib": {"first": every[0].memory_mib, "last": every[-1].memory_mib},
        "descriptors": {"first": every[0].descriptors, "last": every[-1].descriptors},
    }


def _enough(minutes):
    """Whether the time is over, or a signal asks for the end. The life that has begun goes on to its end, so
    that no process of it stays."""
    stopping, ends = asyncio.Event(), time.monotonic() + 60 * minutes
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    return lambda: stopping.is_set() or time.monotonic() > ends


async def main(options):
    lives, begun = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tsproxy-chaos-") as folder:
        async for life in run(
            options.rounds,
            options.seed,
            set(options.faults or ()),
            options.attackers,
            Path(folder),
            _enough(options.minutes),
        ):
            lives.append(life)
            print(json.dumps(life.as_line()), flush=True)
        if options.keep:
            shutil.copytree(folder, options.keep)
    print(json.dumps(summed(lives) | {"minutes": round((time.monotonic() - begun) / 60, 1)}, indent=2))
    return 0 if all(life.is_clean for life in lives) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m rigs.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after so long")
    parser.add_argument("--attackers", type=int, default=0, help="so many hostile clients beside the others")
    parser.add_argument("--faults", nargs="*", choices=sorted(FAULTS), help="only these")
    parser.add_argument(
        "--keep",
        type=Path,
        help="a new folder for the proxy's log, and for the decision logs of lives that are not clean",
    )
    given = parser.parse_args()
    if given.keep and given.keep.exists():
        parser.error(f"--keep: {given.keep} exists; name a new folder")
    sys.exit(asyncio.run(main(given)))
