"""`make night`: an operator's night before real brokers, while clients never stop.

Two proxies stand before three brokers. A good, an idempotent, a transactional client and one of forbidden
records know both. Then brokers are upgraded one after the other, a proxy is killed, the password of the
proxies' own user is rotated, a limit is raised, the clock is wrong three times, and the brokers' address
leads to another cluster. At the end each record is looked for in both clusters.

The figures are printed as JSON. The end is 1 if one of them breaks its bound (`broken`).
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, replace
from functools import partial
from http.client import HTTPException
from pathlib import Path
from types import SimpleNamespace

from rigs.chaos.producers import LibrdkafkaClient, Told, TransactionalClient
from rigs.chaos.rounds import answered
from rigs.chaos.stored import Log, read_log
from rigs.chaos.verdict import judge, read_decisions
from rigs.incidents.scenes import address_of, internal, set_password
from tests.e2e.test_fresh_limits import BEFORE, FRESH_S, HOUR_MS, NARROW, Probe, sending
from tests.proxy.clock_check.test_doubts import committing
from tests.proxy.clock_check.test_in_proxy import CALM_AFTER_S
from tests.proxy.running import events, faked_by, page, until_page
from tests.proxy.test_upstream_lost import switch
from tests.proxy.world import until
from tsproxy.model.addresses import Address
from tsproxy.proxy.brokers.reachability import answers
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy

AFTER = "message.timestamp.after.max.ms"
OLD, NEW = "4.3.1", "4.4.0"
NIGHT, WIDENED = "night", "widened"
TOPICS = {NIGHT: dict.fromkeys((BEFORE, AFTER), str(2**63 - 1)), WIDENED: NARROW}
"""Nothing but the proxy keeps forbidden records out of the first one."""
PASSWORD, ROTATED = "of-proxy", "of-proxy-too"
PROXIES, PORTS_A_PROXY = 2, 4
HELD_S, LOOK_EVERY_S, ANSWER_S = 8, 0.2, 1.0
CONFIG = """\
upstream:
  bootstrap_servers: [{servers}]
  admin: {{ sasl: {{ mechanism: SCRAM-SHA-512, username: proxy, password_file: '{folder}/password' }} }}
listeners: [{{ bind: '127.0.0.1:{port}', brokers: {{ first_id: 1, count: 3 }} }}]
policy: {{ rules: [{{ name: night, match: {{ topics: [night] }}, {before}: 1h, {after}: 1h }}] }}
"""


class Night:
    """`begin`, `play` each step, then take the `figures`. All ends with the stack."""

    def __init__(self, folder, nodes, stack):
        self._clock, self._folder, self._nodes, self._stack = folder / "clock", folder, nodes, stack
        self._running, self.proxies, self.steps = AsyncExitStack(), {}, {}
        self.clients, self._told = {}, []
        self._ports = free_ports(PROXIES * PORTS_A_PROXY)
        self._counted = Counter(dict.fromkeys(("rejected", "excused", "unready_s"), 0))
        """Good records of `widen` that were rejected too late, those that a clock's first seconds excuse, and
        seconds in which a proxy was unready without need."""

    async def begin(self):
        self._clock.write_text("+0\n")
        await self._set_file(None, "proxy", PASSWORD)
        self.former = self.kafka = await self._cluster(OLD, PASSWORD)
        self._target = [self.kafka.node(1)]
        self._address, self._ends = await self._stack.enter_async_context(switch(self._target))
        await self._stack.enter_async_context(self._running)
        for number in range(PROXIES):
            await self._begin_proxy(number)
        servers = ",".join(each.bootstrap_servers for each in self.proxies.values())
        self._login = replace(self.kafka.client_options("app", "SCRAM-SHA-512"), bootstrap_servers=servers)
        bad = Told("bad", "all", is_idempotent=False, has_forbidden=True, every_forbidden=1)
        self._start(
            LibrdkafkaClient, Told("good", "all", is_idempotent=False), bad, Told("idempotent", "all")
        )
        self._start(TransactionalClient, Told("transactional", "all"))
        self._watching = asyncio.create_task(self._watch())
        self._stack.callback(self._watching.cancel)
        self._stack.push_async_callback(self._end_clients)
        assert await answered(self.clients) == []

    async def _cluster(self, version, password):
        users = {"app": "of-app", "proxy": password}
        manual = {"auto.create.topics.enable": "false"}
        secured = {"security": "SASL_PLAINTEXT", "users": users, "properties": manual}
        kafka = KafkaCluster(version, self._nodes, **secured)
        await self._stack.enter_async_context(kafka)
        for topic, config in TOPICS.items():
            await kafka.create_topic(topic, partitions=3, replication=self._nodes, config=config)
        return kafka

    async def _begin_proxy(self, number):
        config = self._folder / f"proxy-{number}.yaml"
        port = self._ports[number * PORTS_A_PROXY]
        where = {"servers": self._address, "folder": self._folder, "port": port}
        config.write_text(CONFIG.format(before=BEFORE, after=AFTER, **where))
        folder, faked = config.with_suffix(""), faked_by(self._clock)
        proxy = RunningProxy(config=config, decisions=folder, environment=faked)
        self.proxies[number] = await self._running.enter_async_context(proxy)

    def _start(self, kind, *every):
        for told in every:
            self._told.append(told)
            client = kind(told, NIGHT, self._login)
            self.clients[client] = asyncio.create_task(client.run())

    async def _end_clients(self):
        await self._end(*self.clients)

    async def _end(self, *clients):
        for each in clients:
            each.stop()
        await asyncio.gather(*map(self.clients.pop, clients))

    async def _watch(self):
        """Looks as a load balancer does. A proxy is unready without need if it is, and a new client's first
        request is answered."""
        while True:
            for proxy in list(self.proxies.values()):
                with suppress(OSError, HTTPException):  # it has just been killed
                    status, _ = await page(proxy.admin_address, "/readyz")
                    if status != 200 and await answers(Address(*address_of(proxy)), None):
                        self._counted["unready_s"] += LOOK_EVERY_S
            await asyncio.sleep(LOOK_EVERY_S)

    async def roll(self):
        for node_id in self.kafka.node_ids:
            await self.kafka.stop_node(node_id)
            await self.kafka.start_node(node_id, NEW)
            await answered(self.clients)

    async def kill(self):
        await self.proxies.pop(0).kill()
        await answered(self.clients)
        await self._begin_proxy(0)

    async def rotate(self):
        """As docs/guide/rotate-credentials.md has it: at the brokers first."""
        for event, change in (("own_login_failed", set_password), ("own_login_works", self._set_file)):
            await change(self.kafka, "proxy", ROTATED)
            for proxy in self.proxies.values():
                os.kill(proxy.pid, signal.SIGHUP)
            await self._tell(event)

    async def _set_file(self, kafka, user, password):
        (self._folder / "password").write_text(password)

    async def _tell(self, event):
        """Each proxy has told this since the step began."""
        told = [(proxy, self._lines.get(proxy, 0)) for proxy in self.proxies.values()]
        await until(lambda: all(event in events(proxy)[at:] for proxy, at in told), event)

    async def widen(self):
        async with AsyncExitStack() as stack:
            every = [Probe(proxy, WIDENED, self._login) for proxy in self.proxies.values()]
            probes = [await stack.enter_async_context(each) for each in every]
            async with sending(*probes):
                await until(lambda: all(len(probe.seen) > 20 for probe in probes))
                await self.kafka.alter_topic(WIDENED, {BEFORE: str(10 * HOUR_MS)})
                await asyncio.sleep(FRESH_S)
                begun = [len(probe.seen) + 1 for probe in probes]  # one may be on its way
                await asyncio.sleep(HELD_S)
        for probe, at in zip(probes, begun, strict=True):
            assert len(probe.seen) > at
            self._counted["rejected"] += sum(not is_accepted for _, is_accepted in probe.seen[at:])

    async def set_clock(self, by_s):
        """Wrong by so much for some seconds, and right again."""
        plain = SimpleNamespace(bootstrap_servers=internal(self.kafka))
        group = asyncio.create_task(committing(plain, NIGHT))
        try:
            for proxy in self.proxies.values():
                await until_page(proxy, "/metrics", 200, "tsproxy_clock_offset_seconds{")
            for each in (by_s, 0):
                before = self._counts()["rejected"]
                self._clock.write_text(f"{each:+}\n")
                await asyncio.sleep(CALM_AFTER_S + ANSWER_S)
                self._counted["excused"] += self._counts()["rejected"] - before
                await asyncio.sleep(HELD_S)
        finally:
            group.cancel()
            await asyncio.gather(group, return_exceptions=True)

    async def swap(self):
        """The former cluster ends, and its address leads to another one. A producer with an id is begun anew:
        over there the id may be somebody else's."""
        self.kafka = await self._cluster(NEW, ROTATED)
        await self._end(*(each for each in self.clients if each.told.is_idempotent))
        await asyncio.gather(*map(self.former.kill_node, self.former.node_ids))
        self._target[0] = self.kafka.node(1)
        for each in self._ends:
            each.close()
        self._start(LibrdkafkaClient, Told("idempotent-2", "all"))
        self._start(TransactionalClient, Told("transactional-2", "all"))
        await asyncio.sleep(HELD_S)

    def _counts(self):
        """So far. No client gives up a good record in a night, so each that failed was rejected."""
        good, bad, *others = self._told
        found = Counter(self._counted, forbidden=len(bad.acknowledged))
        found["rejected"] += sum(len(each.failed) for each in (good, *others))
        return found

    async def play(self, name):
        act, event = STEPS[name]
        self._lines = {proxy: len(proxy.log) for proxy in self.proxies.values()}
        before = self._counts()
        await act(self)
        late = await answered(self.clients)
        assert not late, f"{name}: no answer for {late}"
        if event is not None:
            await self._tell(event)
        counts = self._counts()
        counts.subtract(before)
        counts["rejected"] -= counts["excused"]
        self.steps[name] = counts | {"named": event}

    async def figures(self):
        """All clients and proxies end for that."""
        await self._end_clients()
        assert not self._watching.done()
        await self._running.aclose()
        logs = [await read_log(self.kafka, NIGHT)]
        if self.kafka is not self.former:
            await asyncio.gather(*map(self.former.start_node, self.former.node_ids))
            logs.append(await read_log(self.former, NIGHT))
        every = Log([], [])
        for n, log in enumerate(logs):
            every.committed.update(log.committed)
            for value, producers in log.by_value.items():
                every.by_value[value] += [(n, *each) for each in producers]
        lines = [line for n in range(PROXIES) for line in read_decisions(self._folder / f"proxy-{n}")]
        verdict = asdict(judge(self._told, every, lines, NIGHT, counts_are_exact=False))
        return {
            "sent": {each.client: len(each.sent) for each in self._told},
            "acknowledged": {each.client: len(each.acknowledged) for each in self._told},
            "transactions": Counter(outcome for each in self._told for _, outcome in each.transactions),
            **{name: verdict[name] for name in ("lost", "doubled", "torn", "unnamed", "forbidden")},
            "steps": self.steps,
        }


STEPS = {
    "roll": (Night.roll, None),
    "kill": (Night.kill, None),
    "rotate": (Night.rotate, "own_login_works"),
    "widen": (Night.widen, "topic_limits_changed"),
    "behind-2h": (partial(Night.set_clock, by_s=-7_200), "clock_offset_within"),
    "ahead-2h": (partial(Night.set_clock, by_s=7_200), "clock_offset_within"),
    "ahead-20d": (partial(Night.set_clock, by_s=20 * 86_400), "clock_offset_within"),
    "swap": (Night.swap, "cluster_changed"),
}
"""Each step, and the event by which each proxy names it (`play` waits for it)."""


def broken(figures):
    """The figures that are beyond their bounds. Forbidden records pass while a wrong clock suspends."""
    suspended = sum(step["forbidden"] for step in figures["steps"].values() if "clock" in str(step["named"]))
    found = [name for name in ("lost", "doubled", "torn", "unnamed") if figures[name]]
    found += ["forbidden"] if figures["forbidden"] > suspended else []
    for name, step in figures["steps"].items():
        found += [f"{name}: {what}" for what in ("rejected", "unready_s") if step[what]]
    return found


async def played(folder, names, nodes=3):
    async with AsyncExitStack() as stack:
        night = Night(folder, nodes, stack)
        await night.begin()
        for name in names:
            await night.play(name)
            print(name, night.steps[name], file=sys.stderr, flush=True)
        return await night.figures()


async def main(names):
    with tempfile.TemporaryDirectory(prefix="tsproxy-night-") as folder:
        figures = await played(Path(folder), names)
    print(json.dumps(figures | {"broken": broken(figures)}, indent=2))
    return bool(broken(figures))


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:] or STEPS)))
