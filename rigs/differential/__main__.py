"""`python -m rigs.differential N`: N generated batches to real brokers, straight and through the proxy.

    python -m rigs.differential 100000 --seed 2026 --versions 4.4.0,3.9.1
    python -m rigs.differential --seed 2026 --only 4711 --versions 4.4.0     # one request again

Ends with 1 where a difference is not in the table of intended ones (`intended.py`).
"""

import argparse
import asyncio
import sys
import uuid

from rigs.differential.lines import address_of
from rigs.differential.run import Comparison, Tally
from rigs.differential.topics import CHANGING, change, create_topics
from tests.shared_brokers import NEVER_KILLED
from tsproxy.testing.kafka_cluster import KafkaCluster

PROPERTIES = {**NEVER_KILLED, "log.cleaner.backoff.ms": "3600000"}
"""A cleaner at work would change what was stored."""

MAX_SLICES = 10


async def compare(kafka: KafkaCluster, seed: str, batches: int, first: int = 0) -> Tally:
    """One run against one broker, on topics of its own."""
    topics = await create_topics(kafka, f"diff-{uuid.uuid4().hex[:8]}")
    comparison = Comparison(kafka.version, address_of(kafka), topics)
    changing = next((topic for topic in topics if topic.config == CHANGING), None)
    try:
        for number, slice_of in enumerate(slices(batches)):
            if changing is not None and number:
                comparison.change(await change(kafka, changing, number - 1))
            first = await asyncio.to_thread(comparison.run, seed, slice_of, first)
        await asyncio.to_thread(comparison.finish)
    finally:
        comparison.close()
    return comparison.tally


def slices(batches: int) -> list[int]:
    """Numbers of batches. The settings of a topic change in between."""
    return [batches] if batches < MAX_SLICES else [-(-batches // MAX_SLICES)] * MAX_SLICES


def show(version: str, tally: Tally, shown: int = 1_000) -> str:
    """A run in words."""
    codes = ", ".join(f"{code}: {n}" for code, n in sorted(tally.codes.items()))
    lines = [
        f"{version}: {tally.batches} batches in {tally.requests} requests, "
        f"{tally.stored} stored ones compared, {tally.seconds:.0f} s",
        f"  by error code: {codes}",
        *(f"  intended, {name}: {n}" for name, n in tally.intended.most_common()),
        f"  unexplained: {len(tally.unexplained)} answers, {len(tally.stored_differing)} stored batches; "
        f"forwarded though forbidden: {len(tally.forwarded)}",
    ]
    for number, exchange in tally.unexplained[:shown]:
        lines.append(f"  --only {number}: v{exchange.version}, topic {exchange.part.topic.config}")
        for name in exchange.differing():
            sides = (getattr(exchange.direct, name, None), getattr(exchange.proxied, name, None))
            lines.append(
                f"    {name}: {str(sides[0])[:300]} directly, {str(sides[1])[:300]} through the proxy"
            )
        lines.append(f"    records {exchange.part.records[:200].hex()}")
    for number, part, direct, proxied in tally.stored_differing[:shown]:
        lines += [
            f"  --only {number}: stored in {part.topic.config}",
            f"    {direct.hex()}",
            f"    {proxied.hex()}",
        ]
    return "\n".join(lines)


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m rigs.differential", description=__doc__)
    parser.add_argument("batches", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", default="2026")
    parser.add_argument("--versions", default="4.4.0,3.9.1")
    parser.add_argument("--only", type=int, help="the number of one request to send again")
    arguments = parser.parse_args()
    is_clean = True
    for version in arguments.versions.split(","):
        async with KafkaCluster(version=version, properties=PROPERTIES, heap="512m") as kafka:
            first = arguments.only or 0
            batches = 1 if arguments.only is not None else arguments.batches
            tally = await compare(kafka, arguments.seed, batches, first)
        print(show(version, tally), flush=True)
        is_clean = is_clean and not (tally.unexplained or tally.stored_differing or tally.forwarded)
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
