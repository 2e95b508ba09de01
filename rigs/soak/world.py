"""One soak: a broker, the proxy with two workers, the traffic, reloads, and restarts of the broker."""

import asyncio
import json
import shutil
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

from rigs.soak.samples import sample
from rigs.soak.traffic import Consumer, Visitors, producers
from tests.proxy.world import until
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

HOST, TOPIC = "127.0.0.1", "soak"
NODE = 1
PARTITIONS = 6
TOPIC_CONFIG = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.bytes": str(64 << 20)}
"""The broker takes any timestamp: only the proxy keeps a bad record out."""
BROKER_PROPERTIES = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.min.isr": "1",
}
DRAIN_S = 5
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
        self._config = folder / "tsproxy.yaml"
        self._folder = folder
        self._plan = plan
        self._reloads = 0
        self._write = write

    @asynccontextmanager
    async def running(self):
        """All of it runs: broker, proxy and clients."""
        async with AsyncExitStack() as stack:
            kafka = KafkaCluster(properties=BROKER_PROPERTIES, heap="512m")
            self._kafka = await stack.enter_async_context(kafka)
            await self._kafka.create_topic(TOPIC, partitions=PARTITIONS, config=TOPIC_CONFIG)
            self._show_certificate()
            self._write_config()
            proxy = RunningProxy(
                config=self._config, decisions=self._folder / "decisions", arguments=["--workers", "2"]
            )
            self.proxy = await stack.enter_async_context(proxy)
            plain, tls = (
                ClientOptions(self.proxy.facts["listeners"]["plain"]),
                ClientOptions(self.proxy.facts["listeners"]["tls"], "SSL", self._authority.certificate),
            )
            self.producers = producers(TOPIC, plain, tls)
            self.consumer = Consumer(TOPIC, tls)
            self.visitors = Visitors(plain.bootstrap_servers, self._plan.seed)
            tasks = [_begin(each) for each in (*self.producers, self.consumer)]
            stack.push_async_callback(self._end, tasks)
            stack.push_async_callback(_cancel, _begin(self.visitors))
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
        return answered and self.consumer.read and self.visitors.visits

    def _facts(self):
        """The proxy's and the clients' own view at the end."""
        events = [line["event"] for line in self.proxy.log]
        told = [each.told for each in self.producers]
        return {
            "acknowledged": sum(len(each.acknowledged) for each in told),
            "transactions": sum(map(_committed, told)),
            "failed": {each.client: dict(each.failed.by_value) for each in told if len(each.failed)},
            "consumed": self.consumer.read,
            "visits": self.visitors.visits,
            "reloads": events.count("config_reloaded"),
            "crashes": sorted({each for each in events if each.endswith("_crashed")}),
            "workers_ended": events.count("worker_ended"),
        }

    async def _sample(self):
        self._tell("sample", **await sample(self.proxy))

    async def _reload(self):
        self._reloads += 1
        self._write_config()
        await until(lambda: self._reloaded() >= self._reloads, "the configuration is in force")
        self._tell("reload")

    def _reloaded(self):
        return sum(line["event"] == "config_reloaded" for line in self.proxy.log)

    async def _restart(self):
        self._tell("restart")
        await self._kafka.stop_node(NODE)
        await self._kafka.start_node(NODE)
        self._tell("restarted")

    def _tell(self, kind, **facts):
        at_s = round(time.monotonic() - self._begun_s, 2)
        self._write(json.dumps({"kind": kind, "at_s": at_s, **facts}))

    def _show_certificate(self):
        self._authority = CertificateAuthority(self._folder, "soak")
        identity = self._authority.issue("proxy", ["localhost", HOST])
        shutil.copy(identity.certificate, self._folder / "server.pem")
        shutil.copy(identity.key, self._folder / "server.key")

    def _write_config(self):
        """Each reload changes a rule of the policy and a limit, neither of which matters here."""
        tls = f"tls: {{ certificate: {self._folder}/server.pem, key: {self._folder}/server.key }}"
        new = self._config.with_suffix(".new")
        new.write_text(
            f"upstream: {{ bootstrap_servers: [{self._kafka.bootstrap_servers}] }}\n"
            "listeners:\n"
            f"  - {{ name: plain, bind: '{HOST}:0' }}\n"
            f"  - {{ name: tls, bind: '{HOST}:0', {tls} }}\n"
            "policy:\n"
            "  limits_from: stricter\n"
            f"  clock_tolerance: {60 + self._reloads % 2}s\n"
            "  defaults: { message.timestamp.after.max.ms: 30d }\n"
            "decisions: { interval: 10s }\n"
            f"limits: {{ drain_timeout: {DRAIN_S}s, idle: {600 + self._reloads % 2}s }}\n"
        )
        new.replace(self._config)

    async def _end(self, tasks):
        """Every client waits for its last answers. A run that failed may have left no broker to give them."""
        for each in (*self.producers, self.consumer):
            each.stop()
        _, late = await asyncio.wait(tasks, timeout=PATIENCE_S)
        for task in late:
            task.cancel()


def _committed(told):
    return sum(outcome == "committed" for _, outcome in told.transactions)


def _begin(client):
    return asyncio.create_task(client.run())


async def _cancel(task):
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _every(seconds, step, until_s):
    """Take a step, again and again, and begin none after `until_s`. One that takes long delays the next."""
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    due_s = begun_s + seconds
    while due_s < begun_s + until_s:
        await asyncio.sleep(due_s - loop.time())
        await step()
        due_s = max(due_s + seconds, loop.time())
