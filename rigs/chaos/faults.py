"""The table of faults. Each is a function that causes the fault, holds it, and ends it before it returns.

`chance` decides everything that a fault leaves open, so that a seed repeats the same faults.
"""

import asyncio
import os
import resource
import signal
from contextlib import suppress
from inspect import iscoroutinefunction
from pathlib import Path

from rigs.chaos.proxy import send_signal

TWO_HOURS_S = 7_200
NEW = "4.4.0"
"""The version with which a broker starts again."""
STOPPED_S = (0.5, 4.0)
BETWEEN_PROXIES_S = 3.0
"""More than the two checks by which haproxy takes a proxy back."""
NARROW_BYTES_S = 30_000
FEW_DESCRIPTORS = 8
"""Descriptors beyond those that are open now."""
LITTLE_MEMORY_BYTES = 64 << 10


async def kill_worker(world, chance):
    send_signal(_one(chance, world.workers()), signal.SIGKILL)


async def kill_supervisor(world, chance):
    send_signal([chance.choice(world.proxies).supervisor], signal.SIGKILL)


async def kill_proxy(world, chance):
    proxy = chance.choice(world.proxies)
    send_signal([*proxy.workers(), proxy.supervisor], signal.SIGKILL)


async def stop_worker(world, chance):
    await _paused(_one(chance, world.workers()), chance)


async def stop_supervisor(world, chance):
    await _paused([chance.choice(world.proxies).supervisor], chance)


async def terminate_proxy(world, chance):
    """A restart as of a service manager: the proxy drains."""
    send_signal([chance.choice(world.proxies).supervisor], signal.SIGTERM)


async def roll_proxies(world, chance):
    """Each proxy is stopped and started again, one after the other, as for an upgrade."""
    for proxy in world.proxies:
        await proxy.end()
        proxy.begin()
        await proxy.is_ready()
        await asyncio.sleep(BETWEEN_PROXIES_S)


async def kill_broker(world, chance):
    node_id = chance.choice(world.kafka.node_ids)
    await world.kafka.kill_node(node_id)
    await asyncio.sleep(chance.uniform(0, 2))
    await world.kafka.start_node(node_id)


async def stop_broker(world, chance):
    """Long enough that its partitions get other leaders."""
    pid = world.kafka.node(chance.choice(world.kafka.node_ids)).pid
    send_signal([pid], signal.SIGSTOP)
    await asyncio.sleep(chance.uniform(4, 8))
    send_signal([pid], signal.SIGCONT)


async def restart_broker(world, chance):
    """Its leaders move in order. The first restart of each is its upgrade."""
    node_id = chance.choice(world.kafka.node_ids)
    await world.kafka.stop_node(node_id)
    await world.kafka.start_node(node_id, NEW)


async def roll_brokers(world, chance):
    """Each broker is upgraded, one after the other."""
    for node_id in world.kafka.node_ids:
        await world.kafka.stop_node(node_id)
        await world.kafka.start_node(node_id, NEW)


async def cut_clients(world, chance):
    await _cut(world.client_side, chance)


async def cut_brokers(world, chance):
    await _cut(world.broker_side, chance)


async def delay(world, chance):
    side = chance.choice([world.client_side, world.broker_side])
    side.delay_s = chance.uniform(0.01, 0.3)
    await asyncio.sleep(chance.uniform(1, 4))
    side.heal()


async def narrow_link(world, chance):
    side = chance.choice([world.client_side, world.broker_side])
    side.bytes_per_s = NARROW_BYTES_S
    await asyncio.sleep(chance.uniform(1, 4))
    side.heal()


async def lose_bytes(world, chance):
    """Nothing passes for some seconds, then the connections are reset: a link that was down."""
    side = chance.choice([world.client_side, world.broker_side])
    side.stall()
    await asyncio.sleep(chance.uniform(0.5, 5))
    side.cut_now()
    side.heal()


async def fill_disk(world, chance):
    filler = world.proxies[0].decisions / "filler"
    with suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(bytes(1 << 16))
            file.flush()
    await asyncio.sleep(chance.uniform(1, 5))
    filler.unlink()


async def read_only_disk(world, chance):
    world.cover_disk()
    await asyncio.sleep(chance.uniform(1, 5))
    world.uncover_disk()


async def lose_disk(world, chance):
    """The disk vanishes with what is on it, and comes back."""
    world.lose_disk()
    await asyncio.sleep(chance.uniform(1, 5))
    world.return_disk()


async def step_clock(world, chance):
    world.step_clock(chance.choice([-TWO_HOURS_S, TWO_HOURS_S]))
    await asyncio.sleep(chance.uniform(1, 4))
    world.step_clock(0)


async def renew_certificates(world, chance):
    for _ in range(chance.randrange(3, 10)):
        world.renew_certificate()
        await asyncio.sleep(chance.uniform(0, 0.5))


async def reload_config(world, chance):
    for number in range(chance.randrange(3, 15)):
        world.write_config(number)
        send_signal([proxy.supervisor for proxy in world.proxies], signal.SIGHUP)
        await asyncio.sleep(chance.uniform(0, 0.5))
    world.write_config(0)


async def exhaust_descriptors(world, chance):
    """New connections find no descriptor for some seconds."""
    for pid in world.workers():
        with suppress(OSError):
            _limit(pid, resource.RLIMIT_NOFILE, len(os.listdir(f"/proc/{pid}/fd")) + FEW_DESCRIPTORS)
    world.client_side.cut_now()
    await asyncio.sleep(chance.uniform(1, 4))
    for pid in world.workers():
        _unlimit(pid, resource.RLIMIT_NOFILE)


async def exhaust_memory(world, chance):
    """The address space may grow by very little for some seconds."""
    pids = _one(chance, world.workers())
    for pid in pids:
        with suppress(OSError, ValueError):
            _limit(pid, resource.RLIMIT_AS, _address_space(pid) + LITTLE_MEMORY_BYTES)
    world.client_side.cut_soon(chance, 1.0, 5_000)
    await asyncio.sleep(chance.uniform(1, 4))
    for pid in pids:
        _unlimit(pid, resource.RLIMIT_AS)


FAULTS = {
    name: fault
    for name, fault in list(globals().items())
    if iscoroutinefunction(fault) and not name.startswith("_")
}

OF_DISKS = frozenset({"fill_disk", "read_only_disk", "lose_disk"})
"""Only one of these at a time, too: the others act on the disk that one has taken away."""

OF_BROKERS = frozenset({"kill_broker", "stop_broker", "restart_broker", "roll_brokers"})
"""Only one of these at a time, or the cluster has no majority."""


KEEP_CONNECTIONS = frozenset(
    {
        "stop_worker",
        "stop_supervisor",
        "delay",
        "narrow_link",
        "fill_disk",
        "read_only_disk",
        "lose_disk",
        "step_clock",
        "renew_certificates",
        "reload_config",
    }
)
"""No answer is lost by these. After the others a client may send again what the broker has stored. The broker
answers that again, and the decision log counts it again."""


def possible(world):
    """The names of the faults that this machine allows."""
    left_out = set() if world.has_disk else OF_DISKS
    left_out |= set() if world.has_clock else {"step_clock"}
    return [name for name in FAULTS if name not in left_out]


def drawn(chance, names):
    """One fault, or two at once."""
    chosen = chance.sample(names, min(len(names), chance.choice([1, 1, 2])))
    if any(len(kind.intersection(chosen)) == 2 for kind in (OF_BROKERS, OF_DISKS)):
        return chosen[:1]
    return chosen


def _one(chance, pids):
    return [chance.choice(pids)] if pids else []


async def _paused(pids, chance):
    send_signal(pids, signal.SIGSTOP)
    await asyncio.sleep(chance.uniform(*STOPPED_S))
    send_signal(pids, signal.SIGCONT)


async def _cut(side, chance):
    for _ in range(chance.randrange(1, 6)):
        side.cut_soon(chance, chance.random(), chance.choice([10, 1_000, 20_000]))
        await asyncio.sleep(chance.uniform(0, 1))


def _address_space(pid):
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _limit(pid, what, most):
    _, hard = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (most, hard))


def _unlimit(pid, what):
    with suppress(OSError):
        _, hard = resource.prlimit(pid, what)
        resource.prlimit(pid, what, (hard, hard))
