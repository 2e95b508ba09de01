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
    for kind in dict.fromkeys(incident.brokers for incident in chosen):
        async with cluster(kind) as kafka:
            for incident in chosen:
                if incident.brokers == kind:
                    result = await measured(incident, kafka)
                    seconds = [result.told[place] for place in PLACES]
                    late |= any(wait_s is None or wait_s > MAX_S for wait_s in seconds)
                    cells = [
                        incident.__doc__.splitlines()[0],
                        *map(shown, seconds),
                        shown(result.back),
                        result.sentence,
                    ]
                    print(f"| {' | '.join(cells)} |", flush=True)
                    for line in result.looks:
                        print(f"    {line}", file=sys.stderr, flush=True)
    return int(late)


def shown(seconds):
    return "never" if seconds is None else f"{seconds:.1f} s"


if __name__ == "__main__":
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    sys.exit(asyncio.run(main(sys.argv[1:])))
