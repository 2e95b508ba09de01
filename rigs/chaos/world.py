"""Three brokers, a proxy with two workers that is started again when it ends, and relays on both sides of it.

    producers -> 127.0.0.2 (relays) -> 127.0.0.1 the proxy -> 127.0.0.3 (relays) -> 127.0.0.1 the brokers

The proxy advertises 127.0.0.2 and the brokers 127.0.0.3, so every connection passes a relay.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from rigs.chaos.attackers import MAX_OF_AN_ADDRESS
from rigs.chaos.relay import BACKLOG, Relays
from tests.planted import traces_in_folder
from tests.proxy.running import FAKETIME, faked_by, page
from tests.proxy.world import until
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports

HOST, CLIENTS_FACE, BROKERS_FACE = "127.0.0.1", "127.0.0.2", "127.0.0.3"
PORTS_A_LISTENER = 5
DISK_BYTES = 256 << 20
PATIENCE_S = 240
RESTART_DELAY_S = 0.2
"""A service manager starts the proxy again after so long (RestartSec)."""
ROTATE = "10s"
TOKEN = "planted-Jw7qXn2LrT9cVb4K"
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

    def __init__(self, folder):
        self.broker_side = Relays(BROKERS_FACE, HOST)
        self.client_side = Relays(CLIENTS_FACE, HOST)
        self.config = folder / "tsproxy.yaml"
        self.decisions = folder / "decisions"
        self.kept = folder / "kept"
        self.kafka = KafkaCluster(nodes=3, advertised_host=BROKERS_FACE, properties=BROKER_PROPERTIES)
        self.has_clock = FAKETIME.exists()
        self.has_disk = False
        self._may_run = asyncio.Event()
        self._may_run.set()
        self._authority = CertificateAuthority(folder, "chaos")
        self._clock = folder / "clock"
        self._disk = folder / "disk"
        self._folder = folder
        self._names = 0
        self._process = None
        self._stack = AsyncExitStack()

    async def __aenter__(self):
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.kafka)
            self.decisions.mkdir()
            self.has_disk = self._mounted(stack)
            *ports, admin = free_ports(2 * PORTS_A_LISTENER + 1)
            self._plain, self._tls, self._admin = ports[0], ports[PORTS_A_LISTENER], f"{HOST}:{admin}"
            self.step_clock(0)
            self.renew_certificate()
            self.write_config(0)
            stack.push_async_callback(self.client_side.close)
            stack.push_async_callback(self.broker_side.close)
            await self.broker_side.open(self.kafka.node(n).port for n in self.kafka.node_ids)
            await self.client_side.open(ports)
            running = asyncio.create_task(self._keep_running())
            stack.push_async_callback(self._end, running)
            await self.is_ready()
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
        """Host and port of the proxy's own plain listener, without a relay before it."""
        return HOST, self._plain

    @property
    def metrics(self):
        """A request for the page of metrics."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return urllib.request.Request(f"http://{self._admin}/metrics", headers=headers)

    @property
    def supervisor(self):
        """The process id of the proxy; None between two starts."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    def workers(self):
        """The process ids of the workers that run now."""
        return [pid for pid in self._processes() if pid != self.supervisor]

    def memory_mib(self):
        """The resident memory of the proxy's processes."""
        return sum(_resident_kib(pid) for pid in [self.supervisor, *self.workers()] if pid) / 1024

    def descriptors(self):
        """The open descriptors of the workers."""
        return sum(_descriptors(pid) for pid in self.workers())

    async def is_ready(self):
        """Returns when the proxy lets clients in."""
        await until(self._lets_clients_in, "the proxy is ready", PATIENCE_S)

    async def _lets_clients_in(self):
        try:
            status, _ = await page(self._admin, "/readyz")
        except OSError:
            return False
        return status == 200

    async def end_proxy(self):
        """Stop the proxy as a service manager does, until `begin_proxy`. All of its processes end."""
        self._may_run.clear()
        self.signal([self.supervisor], signal.SIGTERM)
        await until(lambda: not self._processes(), "no process of the proxy is left", PATIENCE_S)

    def begin_proxy(self):
        self._may_run.set()

    def set_decisions_aside(self, name):
        """Move the decision log to `kept/name`, between two lives of the proxy."""
        folder = self.kept / name
        folder.mkdir(parents=True)
        self._move_decisions(folder)
        if self.has_disk:  # what was written while the disk was away lies below it
            self.lose_disk()
            self._move_decisions(folder)
            self.return_disk()
        return folder

    def _move_decisions(self, folder):
        for file in self.decisions.iterdir():
            shutil.move(file, folder)

    def step_clock(self, seconds):
        """Set the proxy's clock so far from the real one."""
        self._clock.write_text(f"{seconds:+d}\n")

    def renew_certificate(self):
        """Replace the certificate of the TLS listener, and its key."""
        self._names += 1
        identity = self._authority.issue(f"proxy-{self._names}", ["localhost", HOST, CLIENTS_FACE])
        shutil.copy(identity.certificate, self._folder / "server.pem")
        shutil.copy(identity.key, self._folder / "server.key")

    def write_config(self, number):
        """Write a configuration; `number` changes a setting that means nothing here."""
        listener = (
            f"{{ name: plain, bind: '{HOST}:{self._plain}', advertised_host: {CLIENTS_FACE}, "
            f"brokers: {{ count: {PORTS_A_LISTENER - 1} }} }}"
        )
        tls = f"tls: {{ certificate: {self._folder}/server.pem, key: {self._folder}/server.key }}"
        with_tls = listener.replace("plain", "tls").replace(str(self._plain), str(self._tls))
        new = self.config.with_suffix(".new")
        new.write_text(
            f"upstream: {{ bootstrap_servers: [{self.kafka.bootstrap_servers}] }}\n"
            f"listeners:\n  - {listener}\n  - {with_tls[:-2]}, {tls} }}\n"
            f"{POLICY}"
            f"decisions: {{ directory: {self.decisions}, interval: 1s, rotate: {{ every: {ROTATE} }} }}\n"
            f"limits: {{ drain_timeout: 5s, idle: {600 + number % 60}s, "
            f"connections_per_address: {MAX_OF_AN_ADDRESS} }}\n"
            f"admin: {{ bind: {self._admin}, token: {TOKEN} }}\nworkers: 2\n"
        )
        new.replace(self.config)

    def events(self):
        """The events of the proxy's log so far."""
        with (self._folder / "proxy.log").open() as log:
            return [json.loads(line)["event"] for line in log if line.startswith("{") and line.endswith("\n")]

    def leaked(self):
        """The places in logs and decision logs where the token or the TLS key stands."""
        key = "".join((self._folder / "server.key").read_text().splitlines()[1:-1])
        secrets = {"admin.token": TOKEN, "TLS key": key}
        return traces_in_folder(self._folder, secrets, leave_out=["*.key", "*.pem", f"{self.config.name}*"])

    def signal(self, pids, number):
        for pid in pids:
            with suppress(ProcessLookupError, TypeError):
                os.kill(pid, number)

    def _processes(self):
        """The supervisor, its workers, and workers of a supervisor that was killed, while they drain."""
        config = str(self.config).encode()
        return [int(each.name) for each in Path("/proc").glob("[0-9]*") if config in _command_line(each)]

    def _mounted(self, stack):
        """A disk of its own for the decision log, which a fault can fill or take away; needs root."""
        self._disk.mkdir()
        mount = ("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", self._disk)
        if os.geteuid() != 0 or _run(*mount) != 0:
            return False
        stack.callback(_run, "umount", self._disk)
        self.return_disk()
        stack.callback(self.lose_disk)
        return True

    def lose_disk(self):
        """Take the disk away, also from a process that writes to it. The folder below it is there then."""
        _run("umount", "--lazy", self.decisions)

    def return_disk(self):
        _run("mount", "--bind", self._disk, self.decisions)

    def cover_disk(self):
        """Put a read-only disk before it. (A disk that is written to cannot be made read-only.)"""
        _run("mount", "-t", "tmpfs", "-o", "ro", "tmpfs", self.decisions)

    def uncover_disk(self):
        _run("umount", self.decisions)

    async def _keep_running(self):
        """Run the proxy for ever, as a service manager does."""
        environment = os.environ | faked_by(self._clock)
        command = (sys.executable, "-m", "tsproxy", "run", "--config", self.config, "--log-format", "json")
        with (self._folder / "proxy.log").open("ab") as log:
            while True:
                await self._may_run.wait()
                self._process = await asyncio.create_subprocess_exec(*command, stderr=log, env=environment)
                await self._process.wait()
                await asyncio.sleep(RESTART_DELAY_S)

    async def _end(self, running):
        try:
            await self.end_proxy()
        finally:
            running.cancel()


def _run(*command):
    return subprocess.run([*map(str, command)], capture_output=True, check=False).returncode


def _command_line(process):
    with suppress(OSError):
        return (process / "cmdline").read_bytes()
    return b""


def _resident_kib(pid):
    with suppress(OSError):
        text = Path(f"/proc/{pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split(None, 1)[0])
    return 0


def _descriptors(pid):
    with suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/fd"))
    return 0
