"""One life: producers that send all the time, several rounds of faults, and the verdict at the end.

A round is: the faults, then the recovery, which is the time until each client has received an answer again.
"""

import asyncio
import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from rigs.chaos.attackers import MAX_OF_AN_ADDRESS, WORKERS, Attackers
from rigs.chaos.faults import FAULTS, KEEP_CONNECTIONS, drawn
from rigs.chaos.producers import clients
from rigs.chaos.stored import read_log
from rigs.chaos.totals import Totals
from rigs.chaos.verdict import Verdict, judge, read_decisions
from tests.proxy.world import until

PARTITIONS = 3
TOPIC_CONFIG = {"min.insync.replicas": "2", "message.timestamp.after.max.ms": str(2**63 - 1)}
"""The brokers take any timestamp: only the proxy keeps a forbidden record out."""
RECOVERY_S = 180
"""A client that has no answer by then has not recovered."""
BEFORE_S = 1.0


@dataclass
class Round:
    seed: int
    faults: list
    recovery_s: float = 0.0
    memory_mib: float = 0.0
    descriptors: int = 0
    not_recovered: list = field(default_factory=list)


@dataclass
class Life:
    """The rounds of one topic, and the verdict over all of them."""

    topic: str
    rounds: list
    verdict: Verdict
    acknowledged: int
    stored: int
    sent_again: int
    """Records of clients that were rejected, or had given up others, stored again under another epoch: the
    client's own doing."""
    failed: dict
    """Client -> how many of its records failed, by the error that it was told."""
    given_up: dict
    """Client -> how many of its epochs it ended because records had timed out."""
    attacks: dict
    """How often each attack was made."""

    @property
    def is_clean(self):
        return self.verdict.is_clean and not any(each.not_recovered for each in self.rounds)

    def as_line(self):
        return {**asdict(self), "is_clean": self.is_clean}


async def live(world, topic, seeds, names, attackers=0):
    """Run a round for each seed, with so many attackers beside it, then compare."""
    await world.kafka.create_topic(topic, partitions=PARTITIONS, replication=3, config=TOPIC_CONFIG)
    await world.is_ready()
    running = clients(topic, *world.options())
    hostile, totals = Attackers(world.address, topic, attackers, seeds[0]), Totals(world)
    tasks = [asyncio.create_task(each.run()) for each in (*running, hostile, totals)]
    try:
        await answered(running)
        rounds = [await _round(world, running, seed, names) for seed in seeds]
    finally:
        for each in (*running, hostile, totals):
            each.stop()
        await asyncio.gather(*tasks)
    lines = await _finished_decisions(world, topic)
    log = await read_log(world.kafka, topic)
    told = [each.told for each in running]
    leaked = await asyncio.to_thread(world.leaked)
    counts_are_exact = all(KEEP_CONNECTIONS.issuperset(each.faults) for each in rounds)
    verdict = judge(told, log, lines, topic, counts_are_exact=counts_are_exact)
    verdict.add("leaked", len(leaked), leaked[:1])
    verdict.add("fallen", len(totals.fallen), totals.fallen[:1])
    over = hostile.most_served - MAX_OF_AN_ADDRESS - WORKERS  # each worker's share is rounded up
    verdict.add("over_limit", max(0, over), hostile.most_served)
    return Life(
        topic,
        rounds,
        verdict,
        acknowledged=sum(len(each.acknowledged) for each in told),
        stored=sum(map(len, log.by_value.values())),
        sent_again=sum(
            log.in_more_epochs(value) for each in told if not each.transactions for value in each.sent
        )
        - verdict.doubled_clean,
        failed={each.client: dict(Counter(each.failed.values())) for each in told if each.failed},
        given_up={each.client: len(each.given_up) for each in told if each.given_up},
        attacks=dict(hostile.tried),
    )


async def _round(world, running, seed, names):
    chance = random.Random(seed)  # repeats the faults of a seed
    chosen = drawn(chance, names)
    found = Round(seed, chosen)
    await asyncio.sleep(BEFORE_S)
    faults = [FAULTS[name](world, random.Random(f"{seed}-{name}")) for name in chosen]
    await asyncio.gather(*faults)
    begun = time.monotonic()
    found.not_recovered = await answered(running)
    found.recovery_s = round(time.monotonic() - begun, 2)
    found.memory_mib = round(world.memory_mib(), 1)
    found.descriptors = world.descriptors()
    return found


async def answered(running):
    """Wait until each client has a new answer. Returns the names of those that had none in time."""
    before = {each.told.client: _answers(each.told) for each in running}

    def waiting():
        return sorted(each.told.client for each in running if _answers(each.told) <= before[each.told.client])

    with suppress(TimeoutError):
        await until(lambda: not waiting(), "every client has a new answer", RECOVERY_S)
    return waiting()


def _answers(told):
    """Answers so far. A forbidden record's rejection is one, too."""
    committed = sum(outcome == "committed" for _, outcome in told.transactions)
    return len(told.acknowledged) + len(told.failed) + committed


async def _finished_decisions(world, topic):
    """The lines of this life's processes. The proxy ends for that, so that each process has a last line."""
    await world.end_proxy()
    folder = world.set_decisions_aside(topic)
    world.begin_proxy()
    return await asyncio.to_thread(read_decisions, folder)
