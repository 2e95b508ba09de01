"""Three brokers, proxies that are started again when they end, and relays on both sides of them.

    producers -> 127.0.0.2 (relays) -> 127.0.0.11, 127.0.0.12 the proxies -> 127.0.0.3 (relays) -> the brokers

The proxies advertise 127.0.0.2 and the brokers 127.0.0.3, so every connection passes a relay. Toward the
proxies the relays balance, as haproxy with a port for each broker does. With `balancer` it is haproxy.
"""

import asyncio
import os
import shutil
import subprocess
from contextlib import AsyncExitStack

from rigs.chaos import balancer
from rigs.chaos.attackers import MAX_OF_AN_ADDRESS
from rigs.chaos.proxy import TOKEN, Proxy
from tests.kit.relay import BACKLOG, Relays
from tests.planted import traces_in_folder
from tests.proxy.running import FAKETIME, faked_by
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports

HOST, CLIENTS_FACE, BROKERS_FACE = "127.0.0.1", "127.0.0.2", "127.0.0.3"
PROXIES = ("127.0.0.11", "127.0.0.12")
OLD = "4.3.1"
"""The brokers' first version. `faults.restart_broker` upgrades them."""
PORTS_A_LISTENER = 5
DISK_BYTES = 256 << 20
BROKER_PROPERTIES = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "socket.listen.backlog.size": str(BACKLOG),
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "3",
}
POLICY = """\
clock: { when_beyond: warn }  # a clock that is set would suspend, and let what is forbidden pass
policy:
  limits_from: stricter
  clock_tolerance: 1m
  defaults: { message.timestamp.after.max.ms: 30d }
"""


class World:
    """`async with World(folder)`. `folder` gets the configuration, the certificates and the decision log."""

    def __init__(self, folder, proxies=PROXIES, *, version=OLD, has_haproxy=False):
        *ports, admin = free_ports(2 * PORTS_A_LISTENER + 1)
        self._ports, self._plain, self._tls = ports, ports[0], ports[PORTS_A_LISTENER]
        self.proxies = [Proxy(host, admin, folder, folder / "decisions") for host in proxies]
        hosts = [proxy.host for proxy in self.proxies]
        self.broker_side = Relays(BROKERS_FACE, [HOST])
        self.client_side = Relays(CLIENTS_FACE, [balancer.FRONT] if has_haproxy else hosts)
        self.kept = folder / "kept"
        self.kafka = KafkaCluster(version, 3, advertised_host=BROKERS_FACE, properties=BROKER_PROPERTIES)
        self.has_clock = FAKETIME.exists()
        self.has_disk = False
        self._authority = CertificateAuthority(folder, "chaos")
        self._clock = folder / "clock"
        self._disk = folder / "disk"
        self._folder = folder
        self._has_haproxy = has_haproxy
        self._names = 0
        self._stack = AsyncExitStack()

    async def __aenter__(self):
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.kafka)
            for proxy in self.proxies:
                proxy.decisions.mkdir(parents=True)
            self.has_disk = self._mounted(stack)
            self.step_clock(0)
            self.renew_certificate()
            self.write_config(0)
            stack.push_async_callback(self.client_side.close)
            stack.push_async_callback(self.broker_side.close)
            await self.broker_side.open(self.kafka.node(n).port for n in self.kafka.node_ids)
            await self.client_side.open(self._ports)
            environment = os.environ | faked_by(self._clock)
            running = [asyncio.create_task(proxy.keep_running(environment)) for proxy in self.proxies]
            stack.push_async_callback(self._end, running)
            await self.are_ready()
            if self._has_haproxy:
                served = balancer.haproxy(self._folder, self._ports, self.proxies)
                await stack.enter_async_context(served)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_):
        await self._stack.aclose()

    def options(self):
        """The options of clients: plain, and with TLS."""
        ca = self._authority.certificate
        plain, tls = (f"{CLIENTS_FACE}:{port}" for port in (self._plain, self._tls))
        return ClientOptions(plain), ClientOptions(tls, "SSL", ca)

    @property
    def address(self):
        """Host and port of the first proxy's own plain listener, without a relay before it."""
        return self.proxies[0].host, self._plain

    def workers(self):
        """The process ids of all workers that run now."""
        return [pid for proxy in self.proxies for pid in proxy.workers()]

    def processes(self):
        """The process ids of all proxies' processes."""
        return [pid for proxy in self.proxies for pid in proxy.processes()]

    async def are_ready(self):
        """Returns when every proxy lets clients in."""
        await asyncio.gather(*(proxy.is_ready() for proxy in self.proxies))

    async def end_proxies(self):
        await asyncio.gather(*(proxy.end() for proxy in self.proxies))

    async def decisions_of(self, name):
        """The folder of all that the proxies have written so far. They end for that, so that each process has
        a last line, and begin again."""
        await self.end_proxies()
        folder = self.kept / name
        folder.mkdir(parents=True)
        self._move_decisions(folder)
        if self.has_disk:  # what was written while the disk was away lies below it
            self.lose_disk()
            self._move_decisions(folder)
            self.return_disk()
        for proxy in self.proxies:
            proxy.begin()
        return folder

    def _move_decisions(self, folder):
        for proxy in self.proxies:
            for file in proxy.decisions.iterdir():
                shutil.move(file, folder)

    def step_clock(self, seconds):
        """Set the proxies' clock so far from the real one."""
        self._clock.write_text(f"{seconds:+d}\n")

    def renew_certificate(self):
        """Replace the certificate of the TLS listeners, and its key."""
        self._names += 1
        hosts = ["localhost", HOST, CLIENTS_FACE]
        identity = self._authority.issue(f"proxy-{self._names}", hosts)
        shutil.copy(identity.certificate, self._folder / "server.pem")
        shutil.copy(identity.key, self._folder / "server.key")

    def write_config(self, number):
        """Write the configurations; `number` changes a setting that means nothing here."""
        tls = f"tls: {{ certificate: {self._folder}/server.pem, key: {self._folder}/server.key }}"
        bind, delay = "0.0.0.0:9464", ""
        if self._has_haproxy:
            behind = balancer.settings_of_proxies()
            bind, delay = behind["admin"]["bind"], f"drain_delay: {behind['limits']['drain_delay']}, "
        for proxy in self.proxies:
            plain, with_tls = (
                f"{{ name: {name}, bind: '{proxy.host}:{port}', advertised_host: {CLIENTS_FACE}, "
                f"brokers: {{ count: {PORTS_A_LISTENER - 1} }}{more} }}"
                for name, port, more in (("plain", self._plain, ""), ("tls", self._tls, f", {tls}"))
            )
            new = proxy.config.with_suffix(".new")
            new.write_text(
                f"upstream: {{ bootstrap_servers: [{self.kafka.bootstrap_servers}] }}\n"
                f"listeners:\n  - {plain}\n  - {with_tls}\n"
                f"{POLICY}"
                f"decisions: {{ directory: {proxy.decisions}, interval: 1s, rotate: {{ every: 10s }} }}\n"
                f"limits: {{ drain_timeout: 5s, {delay}idle: {600 + number % 60}s, "
                f"connections_per_address: {MAX_OF_AN_ADDRESS} }}\n"
                f"admin: {{ bind: {bind.replace('0.0.0.0:9464', proxy.admin_address)}, token: {TOKEN} }}\n"
                "workers: 2\n"
            )
            new.replace(proxy.config)

    def leaked(self):
        """The places in logs and decision logs where the token or the TLS key stands."""
        key = "".join((self._folder / "server.key").read_text().splitlines()[1:-1])
        secrets = {"admin.token": TOKEN, "TLS key": key}
        return traces_in_folder(self._folder, secrets, leave_out=["*.key", "*.pem", "*.yaml*", "*.new"])

    def _mounted(self, stack):
        """A disk of its own for the decision logs, which a fault can fill or take away; needs root."""
        self._disk.mkdir()
        mount = ("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", self._disk)
        if os.geteuid() != 0 or _run(*mount) != 0:
            return False
        stack.callback(_run, "umount", self._disk)
        for proxy in self.proxies:
            (self._disk / proxy.host).mkdir()
        self.return_disk()
        stack.callback(self.lose_disk)
        return True

    def lose_disk(self):
        """Take the disk away, also from a process that writes to it. The folders below it are there then."""
        for proxy in self.proxies:
            _run("umount", "--lazy", proxy.decisions)

    def return_disk(self):
        for proxy in self.proxies:
            _run("mount", "--bind", self._disk / proxy.host, proxy.decisions)

    def cover_disk(self):
        """Put a read-only disk before it. (A disk that is written to cannot be made read-only.)"""
        for proxy in self.proxies:
            _run("mount", "-t", "tmpfs", "-o", "ro", "tmpfs", proxy.decisions)

    def uncover_disk(self):
        for proxy in self.proxies:
            _run("umount", proxy.decisions)

    async def _end(self, running):
        try:
            await self.end_proxies()
        finally:
            for task in running:
                task.cancel()


def _run(*command):
    return subprocess.run([*map(str, command)], capture_output=True, check=False).returncode
