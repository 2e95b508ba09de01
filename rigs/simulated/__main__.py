"""`python -m rigs.simulated --connections N [--seed S]`, or `--replay SEED`, or `--shrink SEED`. Each may
have `--adversaries N`."""

import argparse
import sys
import time

from rigs.simulated.shrink import shrink
from rigs.simulated.world import Result, run_world

TELL_EVERY_S = 60.0


def main() -> int:
    """Returns 1 if an invariant did not hold in a world."""
    options = argparse.ArgumentParser(prog="python -m rigs.simulated", description=__doc__)
    options.add_argument("--connections", type=int, default=10_000, metavar="N")
    options.add_argument("--seed", type=int, default=1, metavar="S", help="of the first world")
    options.add_argument(
        "--adversaries", type=int, default=0, metavar="N", help="hostile connections in each world, besides"
    )
    options.add_argument("--replay", type=int, metavar="SEED", help="one world, event by event")
    options.add_argument("--shrink", type=int, metavar="SEED", help="the fewest events that break it")
    chosen = options.parse_args()
    if chosen.shrink is not None:
        return _show(shrink(chosen.shrink, lambda line: print(line, file=sys.stderr), chosen.adversaries))
    if chosen.replay is not None:
        return _show(run_world(chosen.replay, is_traced=True, adversaries=chosen.adversaries))
    return simulate(chosen.connections, chosen.seed, chosen.adversaries)


def simulate(connections: int, seed: int, adversaries: int = 0) -> int:
    """Worlds from that seed on, until they had so many connections. `adversaries` of each are hostile. Tells
    each that fails, and the sums."""
    began = told = time.monotonic()
    done = hostile = requests = events = worlds = 0
    failed: list[int] = []
    while done < connections:
        world = run_world(seed + worlds, adversaries=adversaries)
        worlds += 1
        done += world.connections
        hostile += world.hostile
        requests += world.requests
        events += len(world.events)
        if world.violation is not None:
            failed.append(world.seed)
            print(f"seed {world.seed}: {world.violation}", flush=True)
        if time.monotonic() - told > TELL_EVERY_S:
            told = time.monotonic()
            rate = done / (told - began)
            print(f"{done:,} connections, {len(failed)} failed, {rate:.0f} a second", flush=True)
    seeds = f"seeds {seed} to {seed + worlds - 1}"
    print(f"{done:,} connections ({hostile:,} hostile) in {worlds:,} worlds ({seeds}): {len(failed)} failed")
    print(f"{requests:,} requests, {events:,} events, {time.process_time():,.0f} s of CPU")
    return int(bool(failed))


def _show(world: Result) -> int:
    for line in world.trace or ():
        print(line)
    print(f"{len(world.events)} events:", *world.events, sep="\n  ")
    print(f"trace {world.trace_hash[:16]}")
    print(f"seed {world.seed}: {world.violation or 'every invariant holds'}")
    return int(world.violation is not None)


if __name__ == "__main__":
    raise SystemExit(main())
