"""`python -m rigs.incidents [NAME …]`: provokes incidents, and prints the seconds as a table."""

import asyncio
import logging
import sys

from rigs.incidents.catalogue import INCIDENTS
from rigs.incidents.clusters import cluster
from rigs.incidents.measured import MAX_S, PLACES, measured


async def main(names):
    """Returns 1 if something was told too late, or not at all."""
    chosen = [INCIDENTS[name] for name in names or INCIDENTS]
    late = False
    print(f"| incident | {' | '.join(PLACES)} | gone after | the first sentence |")
    print(f"| --- | {' | '.join('---' for _ in PLACES)} | --- | --- |", flush=True)
    for kind in dict.fromkeys(each.brokers for each in chosen):
        async with cluster(kind) as kafka:
            for each in chosen:
                if each.brokers == kind:
                    found = await measured(each, kafka)
                    seconds = [found.told[place] for place in PLACES]
                    late |= any(told is None or told > MAX_S for told in seconds)
                    cells = [
                        each.__doc__.splitlines()[0],
                        *map(shown, seconds),
                        shown(found.back),
                        found.sentence,
                    ]
                    print(f"| {' | '.join(cells)} |", flush=True)
                    for line in found.looks:
                        print(f"    {line}", file=sys.stderr, flush=True)
    return int(late)


def shown(seconds):
    return "never" if seconds is None else f"{seconds:.1f} s"


if __name__ == "__main__":
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    sys.exit(asyncio.run(main(sys.argv[1:])))
