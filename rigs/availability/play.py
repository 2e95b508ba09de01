"""One form and one event with all clients at once: how long each was without service, and what was stored.

All clients are on the first proxy when something happens to it: the others start when the clients are there.
"""

import asyncio
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from rigs.availability import network
from rigs.availability.cast import PARTITIONS, Actor, Offender
from rigs.availability.forms import PROXIES
from tests.clients.program import running
from tests.e2e.load import values_of
from tests.proxy.running import page
from tests.proxy.world import until
from tsproxy.model.addresses import Address
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.proxy import RunningProxy

PATIENCE_S = 130
"""Longer than two minutes, after which most clients give up a record."""
NOTICED_S = 5
"""After this time every client that was on the proxy waits, or has found another one."""


@dataclass(frozen=True)
class Met:
    """The experience of one client. `wait_s` is None if it was not served again; then nobody asked its
    consumer."""

    player: str
    sent: int
    wait_s: float | None
    failed: tuple[str, ...]
    lost: int
    doubled: int
    unread: int


@dataclass(frozen=True)
class Played:
    """The experiences of all clients, and what became of records that must not be stored."""

    met: list[Met]
    rejected: int
    forbidden: int


class Stage:
    """The proxies of one form, on one cluster."""

    def __init__(self, form, kafka, folder, authority):
        self.form = form
        self._authority = authority
        self._folder = folder
        self._kafka = kafka
        self._running = {}

    async def start(self, host):
        """Start this host's proxy, and wait until the front sends clients to it."""
        config = self._folder / f"{host}.yaml"
        config.write_text(yaml.safe_dump(self._config(host)))
        admin = f"{host}:{self.form.ports.admin}"
        proxy = RunningProxy(config=config, arguments=["--admin", admin])
        self._running[host] = await proxy.__aenter__()
        await until(lambda: self._is_ready(host))
        if self.form.drain_delay_s:
            await asyncio.sleep(self.form.drain_delay_s)  # the front's next checks

    async def stop(self, host):
        """By SIGTERM, as an operator does it. The front notices it meanwhile, since `/readyz` says so."""
        proxy = self._running.pop(host)
        await _all([proxy.__aexit__(None, None, None), self.form.is_missed(host)])

    async def kill(self, host):
        proxy = self._running.pop(host)
        await proxy.kill()
        await self.form.is_missed(host)
        await proxy.__aexit__(None, None, None)

    async def lose(self, host):
        await network.lose(host)
        await self.form.is_missed(host)

    async def roll(self, times):
        """Every proxy is stopped and started again, one after the other, so many times."""
        for host in PROXIES * times:
            await self.stop(host)
            await self.start(host)

    async def close(self):
        for proxy in self._running.values():
            await proxy.kill()
            await proxy.__aexit__(None, None, None)
        if network.is_own():
            await network.forget()

    def client_options(self):
        security = self.form.security
        ca = self._authority.certificate if security.has_tls else None
        return ClientOptions(self.form.bootstrap(), security.protocol, ca)

    def _config(self, host):
        form = self.form
        listener = {
            "bind": f"{host}:{form.ports.first}",
            "advertised_host": form.advertised(host),
            "brokers": form.brokers(),
        }
        if form.security.has_tls:
            identity = self._authority.issue("proxy", form.names)
            listener["tls"] = {"certificate": str(identity.certificate), "key": str(identity.key)}
        return {
            "upstream": {"bootstrap_servers": self._kafka.bootstrap_servers.split(",")},
            "listeners": [listener],
            "limits": {"drain_delay": f"{form.drain_delay_s}s"},
        }

    async def _is_ready(self, host):
        status, _ = await page(str(Address(host, self.form.ports.admin)), "/readyz")
        return "200" in str(status)


async def stops(stage):
    await stage.stop(PROXIES[0])
    await asyncio.sleep(NOTICED_S)


async def dies(stage):
    await stage.kill(PROXIES[0])
    await asyncio.sleep(NOTICED_S)


async def is_lost(stage):
    await stage.lose(PROXIES[0])
    await asyncio.sleep(NOTICED_S)


async def all_roll(stage):
    await stage.roll(times=2)


async def all_roll_once(stage):
    await stage.roll(times=1)


EVENTS = {"stop": stops, "kill": dies, "lost": is_lost, "roll": all_roll}


async def play(form, event, players, kafka, prefix):
    """Plays one of the events with all players, whose topics have this prefix."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tsproxy-availability-")))
        stage = Stage(form, kafka, folder, CertificateAuthority(folder))
        await stack.enter_async_context(form.front(folder))
        stack.push_async_callback(stage.close)
        await stage.start(PROXIES[0])
        actors = []
        for number, player in enumerate(players):
            program = running(player.family, player.version, stage.client_options())
            topic = f"{prefix}.{number}"
            actors.append(Actor(player, await stack.enter_async_context(program), topic))
            await kafka.create_topic(topic, partitions=PARTITIONS, replication=len(kafka.node_ids))
        await _all(actor.open() for actor in actors)
        for host in PROXIES[1:]:
            await stage.start(host)
        offender = Offender(stage.client_options(), f"{prefix}.ahead")
        await kafka.create_topic(offender.topic)
        since, stranded = await _meanwhile(actors, offender, event(stage))
        served = [actor for actor in actors if actor not in stranded]
        await _all(actor.read() for actor in served)
        met = [await _met(actor, since, actor in served, kafka) for actor in actors]
        forbidden = sum((await kafka.end_offsets(offender.topic)).values())
        return Played(met, offender.rejected, forbidden)


async def _meanwhile(actors, offender, happening):
    """All send until the event is over and each has recovered, or was waited for long enough. When the event
    began, and the actors that have not recovered: they are left in the middle of a record."""
    await _all(actor.send_until(actor.has_settled) for actor in actors)
    since, over = time.monotonic(), asyncio.Event()
    senders = [*actors, offender]
    sending = {each: asyncio.create_task(each.send_until(over.is_set)) for each in senders}
    stranded = actors
    try:
        await happening
        with suppress(TimeoutError):
            await until(lambda: all(actor.has_settled() for actor in actors), patience_s=PATIENCE_S)
        stranded = [actor for actor in actors if not actor.has_settled()]
    finally:
        over.set()
        for actor in stranded:
            sending[actor].cancel()
        await asyncio.gather(*sending.values(), return_exceptions=True)
    return since, stranded


async def _all(coroutines):
    """Waits for all; when one fails, the others are in the middle of nothing afterwards."""
    async with asyncio.TaskGroup() as group:
        for each in coroutines:
            group.create_task(each)


async def _met(actor, since, is_served, kafka):
    found = Counter(value.decode() for value in await values_of(kafka, actor.topic))
    return Met(
        str(actor.player),
        len(actor.acknowledged) + len(actor.failed),
        actor.longest_wait_s(since) if is_served else None,
        tuple(actor.failed),
        lost=len(actor.acknowledged.keys() - found.keys()),
        doubled=sum(times - 1 for times in found.values()),
        unread=actor.unread,
    )
