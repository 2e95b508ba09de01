"""One soak: the world of `rigs/chaos`, its producers for hours, reloads, and restarts of a broker."""

import asyncio
import json
import random
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from rigs.chaos.attackers import Attackers
from rigs.chaos.faults import restart_broker
from rigs.chaos.rounds import TOPIC_CONFIG
from rigs.chaos.world import World
from rigs.soak.samples import sample
from rigs.soak.traffic import ATTACKS, Consumer, producers
from tests.proxy.world import until

TOPIC = "soak"
PARTITIONS = 6
CONFIG = TOPIC_CONFIG | {"retention.bytes": str(64 << 20)}
VISITORS = 1
PATIENCE_S = 180


@dataclass(frozen=True)
class Plan:
    """The length of a soak, and the time between two of its events."""

    seconds: float
    sample_s: float = 10
    reload_s: float = 60
    restart_s: float = 600
    seed: int = 2026


class Soak:
    """`async with Soak(plan, folder, write).running() as soak`, then `run`. `write` takes each line."""

    def __init__(self, plan, folder, write):
        self._begun_s = time.monotonic()
        self._chance = random.Random(plan.seed)
        self._plan = plan
        self._reloads = 0
        self._world = World(folder)
        self._write = write

    @asynccontextmanager
    async def running(self):
        """All of it runs: brokers, proxy and clients."""
        async with AsyncExitStack() as stack:
            world = await stack.enter_async_context(self._world)
            await world.kafka.create_topic(TOPIC, partitions=PARTITIONS, replication=3, config=CONFIG)
            plain, tls = world.options()
            self.producers, self.consumer = producers(TOPIC, plain, tls), Consumer(TOPIC, tls)
            self.visitors = Attackers(world.address, TOPIC, VISITORS, self._plan.seed, ATTACKS)
            clients = (*self.producers, self.consumer, self.visitors)
            tasks = [asyncio.create_task(each.run()) for each in clients]
            stack.push_async_callback(_end, clients, tasks)
            await until(self._are_all_answered, "every client has an answer")
            yield self

    async def run(self):
        """Samples, reloads and restarts until the time is over."""
        self._begun_s = time.monotonic()
        plan = self._plan
        steps = (plan.reload_s, self._reload), (plan.restart_s, self._restart), (plan.sample_s, self._sample)
        async with asyncio.TaskGroup() as group:
            for seconds, step in steps:
                group.create_task(_every(seconds, step, plan.seconds))
        self._tell("end", **self._facts())

    def _are_all_answered(self):
        told = [each.told for each in self.producers]
        answered = all(len(each.acknowledged) or _committed(each) for each in told)
        return answered and self.consumer.read and self.visitors.tried

    def _facts(self):
        """The proxy's and the clients' own view at the end."""
        events = self._world.events()
        told = [each.told for each in self.producers]
        return {
            "acknowledged": sum(len(each.acknowledged) for each in told),
            "transactions": sum(map(_committed, told)),
            "failed": {each.client: dict(each.failed.by_value) for each in told if len(each.failed)},
            "consumed": self.consumer.read,
            "visits": self.visitors.tried.total(),
            "reloads": events.count("config_reloaded"),
            "crashes": sorted({each for each in events if each.endswith("_crashed")}),
            "workers_ended": events.count("worker_ended"),
        }

    async def _sample(self):
        self._tell("sample", **await sample(self._world))

    async def _reload(self):
        """Each reload changes a limit that does not matter here."""
        self._reloads += 1
        self._world.write_config(self._reloads)
        await until(
            lambda: self._world.events().count("config_reloaded") >= self._reloads,
            "the configuration is in force",
        )
        self._tell("reload")

    async def _restart(self):
        self._tell("restart")
        await restart_broker(self._world, self._chance)
        self._tell("restarted")

    def _tell(self, kind, **facts):
        at_s = round(time.monotonic() - self._begun_s, 2)
        self._write(json.dumps({"kind": kind, "at_s": at_s, **facts}))


async def _end(clients, tasks):
    """Every client waits for its last answers. A run that failed may have left no broker to give them."""
    for each in clients:
        each.stop()
    _, late = await asyncio.wait(tasks, timeout=PATIENCE_S)
    for task in late:
        task.cancel()


def _committed(told):
    return sum(outcome == "committed" for _, outcome in told.transactions)


async def _every(seconds, step, until_s):
    """Take a step, again and again, and begin none after `until_s`. One that takes long delays the next."""
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    due_s = begun_s + seconds
    while due_s < begun_s + until_s:
        await asyncio.sleep(due_s - loop.time())
        await step()
        due_s = max(due_s + seconds, loop.time())
