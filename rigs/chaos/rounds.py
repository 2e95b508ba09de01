"""One life: producers that send all the time, several rounds of faults, and the verdict at the end.

A round is: the faults, then the recovery, which is the time until each client has received an answer again.
"""

import asyncio
import random
import time
from collections import Counter
from dataclasses import asdict, dataclass, field

from rigs.chaos.attackers import ATTACKS, MAX_OF_AN_ADDRESS, WORKERS, Attackers
from rigs.chaos.faults import FAULTS, KEEP_CONNECTIONS, drawn
from rigs.chaos.producers import PARTITIONS, Consumer, clients
from rigs.chaos.samples import descriptors, own_mib
from rigs.chaos.stored import read_log
from rigs.chaos.totals import Totals
from rigs.chaos.verdict import Verdict, judge, read_decisions

TOPIC_CONFIG = {"min.insync.replicas": "2", "message.timestamp.after.max.ms": str(2**63 - 1)}
"""The brokers take any timestamp: only the proxy keeps a forbidden record out."""
RECOVERY_S = 180
"""A client that has no answer by then has not recovered."""
BEFORE_S = 1.0
LOOK_EVERY_S = 0.05


@dataclass
class Round:
    seed: int
    faults: list
    waits_s: dict = field(default_factory=dict)
    """Client -> the longest time without an answer since the faults began; None if there was none at all."""
    memory_mib: float = 0.0
    descriptors: int = 0

    @property
    def not_recovered(self):
        return sorted(client for client, wait_s in self.waits_s.items() if wait_s is None)


@dataclass
class Life:
    """The rounds of one topic, and the verdict over all of them."""

    topic: str
    rounds: list
    verdict: Verdict
    acknowledged: int
    stored: int
    consumed: int
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
        return self.verdict.is_clean and not any(one.not_recovered for one in self.rounds)

    def as_line(self):
        return {**asdict(self), "is_clean": self.is_clean}


async def live(world, topic, happen, attackers=0, seed=0, cast=clients, attacks=ATTACKS):
    """The life of this topic: clients of the cast, so many attackers with these attacks, and what
    `happen(running)` does, which returns rounds. Then compare."""
    await world.kafka.create_topic(topic, partitions=PARTITIONS, replication=3, config=TOPIC_CONFIG)
    await world.are_ready()
    plain, tls = world.options()
    running, consumer = cast(topic, plain, tls), Consumer(topic, tls)
    hostile = Attackers(world.address, topic, attackers, seed, attacks)
    totals = [Totals(proxy) for proxy in world.proxies]
    beside = (consumer, hostile, *totals)
    tasks = [asyncio.create_task(one.run()) for one in (*running, *beside)]
    try:
        await longest_waits(running)
        rounds = await happen(running)
    finally:
        for one in (*running, *beside):
            one.stop()
        await asyncio.gather(*tasks)
    lines = await asyncio.to_thread(read_decisions, await world.decisions_of(topic))
    log = await read_log(world.kafka, topic)
    answers = [client.told for client in running]
    leaked = await asyncio.to_thread(world.leaked)
    counts_are_exact = all(KEEP_CONNECTIONS.issuperset(one.faults) for one in rounds)
    verdict = judge(answers, log, lines, topic, counts_are_exact=counts_are_exact)
    verdict.add("leaked", len(leaked), leaked[:1])
    for one in totals:
        verdict.add("fallen", len(one.fallen), one.fallen[:1])
    over = hostile.most_served - MAX_OF_AN_ADDRESS - WORKERS  # each worker's share is rounded up
    verdict.add("over_limit", max(0, over), hostile.most_served)
    return Life(
        topic,
        rounds,
        verdict,
        acknowledged=sum(len(client.acknowledged) for client in answers),
        stored=sum(map(len, log.by_value.values())),
        consumed=consumer.read,
        sent_again=sum(
            log.in_more_epochs(value)
            for client in answers
            if not client.transactions
            for value in client.sent
        )
        - verdict.doubled_clean,
        failed={client.client: dict(Counter(client.failed.values())) for client in answers if client.failed},
        given_up={client.client: len(client.given_up) for client in answers if client.given_up},
        attacks=dict(hostile.tried),
    )


def rounds_of(world, seeds, names):
    """For `live`: a round for each seed, with faults of these names."""

    async def happen(running):
        return [await _round(world, running, seed, names) for seed in seeds]

    return happen


async def _round(world, running, seed, names):
    chance = random.Random(seed)  # repeats the faults of a seed
    one = Round(seed, drawn(chance, names))
    await asyncio.sleep(BEFORE_S)
    faults = [FAULTS[name](world, random.Random(f"{seed}-{name}")) for name in one.faults]
    one.waits_s = await longest_waits(running, asyncio.gather(*faults))
    pids = world.processes()
    one.memory_mib = round(sum(map(own_mib, pids)), 1)
    one.descriptors = sum(map(descriptors, pids))
    return one


async def longest_waits(running, faults=None):
    """Client -> the longest time without an answer, until the faults are over and it has one again. None
    for a client that has none in time."""
    begun_s, over_s, longest_s, recovered = time.monotonic(), None, {}, set()
    last = {client.told.client: (begun_s, _answers(client.told)) for client in running}
    happening = asyncio.ensure_future(faults or asyncio.sleep(0))
    while recovered != last.keys() and (over_s is None or time.monotonic() < over_s + RECOVERY_S):
        await asyncio.sleep(LOOK_EVERY_S)
        now_s = time.monotonic()
        if over_s is None and happening.done():
            await happening
            over_s = now_s
        for told in (client.told for client in running):
            since_s, answers = last[told.client]
            if _answers(told) > answers:
                longest_s[told.client] = max(longest_s.get(told.client, 0.0), now_s - since_s)
                last[told.client] = now_s, _answers(told)
                recovered.update([told.client] if over_s is not None else [])
    return {name: round(longest_s[name], 2) if name in recovered else None for name in last}


def _answers(told):
    """Answers so far. A forbidden record's rejection is one, too."""
    committed = sum(outcome == "committed" for _, outcome in told.transactions)
    return len(told.acknowledged) + len(told.failed) + committed
