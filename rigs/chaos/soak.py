"""A soak: one proxy, the clients of a life for minutes or hours, reloads and restarts of brokers. Nothing may
grow, and the verdict is that of every life."""

import asyncio
import random
import time

from rigs.chaos.attackers import Attackers
from rigs.chaos.faults import reload_config, restart_broker
from rigs.chaos.rounds import Round, longest_waits
from rigs.chaos.samples import sample

ATTACKS = (Attackers.garbage, Attackers.announced_and_not_sent)
"""Connections that write nonsense, or leave within a request. The others hold much for a while."""
SAMPLES = 360
"""So many are taken, however long a soak is."""


def soaked(world, seconds, seed, samples, *, reload_s=60.0, restart_s=600.0):
    """For `live`: one round of so many seconds. `samples` gets what was measured meanwhile."""
    chance, [proxy] = random.Random(seed), world.proxies

    async def take():
        samples.append(await sample(proxy))

    async def happen(running):
        steps = (
            (seconds / SAMPLES, take),
            (reload_s, lambda: reload_config(world, chance)),
            (restart_s, lambda: restart_broker(world, chance)),
        )
        faults = asyncio.gather(*(_every(pause_s, step, seconds) for pause_s, step in steps))
        return [Round(seed, ["reload_config", "restart_broker"], await longest_waits(running, faults))]

    return happen


async def _every(pause_s, step, seconds):
    """Take a step, again and again, and begin none after so many seconds. A long one delays the next."""
    begun_s = time.monotonic()
    due_s = begun_s + pause_s
    while due_s < begun_s + seconds:
        await asyncio.sleep(due_s - time.monotonic())
        await step()
        due_s = max(due_s + pause_s, time.monotonic())
