"""`python -m rigs.chaos --rounds N --seed S`: rounds of faults, and the sums of what must be zero.

Round n of seed S draws its faults from the seed S + n, so `--rounds 5 --seed 2031` repeats the rounds 2031 to
2035. Which byte is on its way when a fault comes depends on the machine and is not repeated.

    --families      clients of every family instead, and how long each of them waited at most
    --haproxy       haproxy before the proxies, as the guide on high availability configures it
    --soak MINUTES  one proxy, no faults but reloads and restarts of brokers: what grew?
"""

import argparse
import asyncio
import json
import logging
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
from rigs.chaos.producers import clients, families
from rigs.chaos.rounds import live, rounds_of
from rigs.chaos.samples import growth, leaks
from rigs.chaos.soak import ATTACKS, soaked
from rigs.chaos.world import PROXIES, World

ROUNDS_A_LIFE = 5
LATE = {"_MSG_TIMED_OUT", "TimeoutException"}
"""The errors by which clients say that no answer came within five minutes."""


async def run(options, folder, is_enough):
    """Yield each life as soon as it has ended, at least one, until `is_enough()`."""
    async with World(folder, has_haproxy=options.haproxy) as world:
        names = [name for name in possible(world) if name in (options.faults or FAULTS)]
        if left_out := sorted({*(options.faults or FAULTS)}.difference(names)):
            print(f"left out, because this machine does not allow them: {', '.join(left_out)}", flush=True)
        end = options.seed + options.rounds
        for first in range(options.seed, end, ROUNDS_A_LIFE):
            happen = rounds_of(world, range(first, min(first + ROUNDS_A_LIFE, end)), names)
            cast = families if options.families else clients
            life = await live(world, f"chaos-{first}", happen, options.attackers, first, cast)
            if life.is_clean:
                shutil.rmtree(world.kept)
            yield life
            if is_enough():
                return


def summed(lives):
    """The table's row: how much was tried, and the sums."""
    every = [one for life in lives for one in life.rounds]
    waits_s = sorted(max(filter(None, one.waits_s.values()), default=0.0) for one in every)
    counts, attacks, longest_s = Counter(), Counter(), Counter()
    for life in lives:
        counts.update({name: n for name, n in asdict(life.verdict).items() if name != "examples"})
        attacks.update(life.attacks)
    for one in every:
        longest_s |= Counter({client: wait_s or 0.0 for client, wait_s in one.waits_s.items()})
    return {
        "rounds": len(every),
        "faults": dict(Counter(name for one in every for name in one.faults).most_common()),
        "acknowledged": sum(life.acknowledged for life in lives),
        "stored": sum(life.stored for life in lives),
        "sent_again": sum(life.sent_again for life in lives),
        **counts,
        "attacks": dict(attacks),
        "not_recovered": sum(bool(one.not_recovered) for one in every),
        "wait_s": {
            "median": statistics.median(waits_s),
            "p95": waits_s[math.ceil(0.95 * len(waits_s)) - 1],
            "most": waits_s[-1],
            "of": dict(longest_s),
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


async def soak(options, folder):
    """Prints the life and the growth of each series. Returns whether all is well."""
    samples = []
    async with World(folder, PROXIES[:1]) as world:
        happen = soaked(world, 60 * options.soak, options.seed, samples)
        life = await live(world, "soak", happen, options.attackers, options.seed, attacks=ATTACKS)
        events = world.proxies[0].events()
    grown = growth(samples)
    wrong = {
        "leaks": leaks(grown),
        "ended": sorted({event for event in events if event.endswith(("_crashed", "worker_ended"))}),
        "late": sorted(client for client, errors in life.failed.items() if LATE & errors.keys()),
    }
    print(json.dumps({**life.as_line(), "grown": grown, **wrong}, indent=2))
    return life.is_clean and not any(wrong.values())


async def main(options):
    lives, begun = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tsproxy-chaos-") as name:
        folder = Path(name)
        if options.soak:
            return 0 if await soak(options, folder) else 1
        async for life in run(options, folder, _enough(options.minutes)):
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
    parser.add_argument("--families", action="store_true", help="clients of every family")
    parser.add_argument("--haproxy", action="store_true", help="haproxy before the proxies")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="no rounds: does anything grow?")
    parser.add_argument(
        "--keep",
        type=Path,
        help="a new folder for the proxies' logs, and for the decision logs of lives that are not clean",
    )
    given = parser.parse_args()
    if given.keep and given.keep.exists():
        parser.error(f"--keep: {given.keep} exists; name a new folder")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it tells of each broker that restarts
    sys.exit(asyncio.run(main(given)))
