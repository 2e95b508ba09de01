"""Brokers and a proxy for each incident, and what begins and ends it."""

import asyncio
import os
import shutil
import signal
import struct
import subprocess
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rigs.incidents.incident import Scene
from rigs.incidents.runbook import run
from tests.kit.admin import internal, set_password
from tests.proxy.running import FAKETIME, faked_by, pids, series
from tests.proxy.world import until
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

NAME = "kafka.incidents.test"
TOPIC = "incidents"
DISK_BYTES = 256 << 10
PATIENCE_S = 120
UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")
SCRAM = "SCRAM-SHA-512"
TWO_HOURS_S = 7_200


# Brokers.


@asynccontextmanager
async def plain():
    async with KafkaCluster(properties={"auto.create.topics.enable": "false"}) as kafka:
        await kafka.create_topic(TOPIC)
        yield kafka


@asynccontextmanager
async def three():
    async with KafkaCluster(nodes=3) as kafka:
        await kafka.create_topic(TOPIC, partitions=6, replication=3)
        yield kafka


@asynccontextmanager
async def named():
    async with KafkaCluster(advertised_host=NAME) as kafka:
        await kafka.create_topic(TOPIC)
        yield kafka


@asynccontextmanager
async def with_tls():
    with TemporaryDirectory(prefix="tsproxy-incidents-") as folder:
        authority = CertificateAuthority(Path(folder))
        async with KafkaCluster(security="SSL", authority=authority) as kafka:
            await kafka.create_topic(TOPIC)
            yield kafka


@asynccontextmanager
async def with_logins():
    async with KafkaCluster(security="SASL_PLAINTEXT", users={"app": "right", "proxy": "own"}) as kafka:
        await kafka.create_topic(TOPIC)
        yield kafka


CLUSTERS = {each.__name__: each for each in (plain, three, named, with_tls, with_logins)}


# Scenes. Each is a context manager that takes the brokers.


def options(proxy, kafka):
    return replace(kafka.client_options(), bootstrap_servers=proxy.bootstrap_servers)


async def nothing():
    pass


@asynccontextmanager
async def broker_without_a_port(kafka):
    """A third broker joins, and the listener has ports for two."""
    await kafka.stop_node(3)
    with configured(kafka, "brokers: { ports_from: 0, count: 3 }") as config:  # the ids 0 to 2
        async with RunningProxy(config=config) as proxy:

            async def begin():
                kafka.node(3).start()
                await until(lambda: is_up(kafka, 3), "the broker is up", PATIENCE_S)

            async def repair():
                await kafka.stop_node(3)

            try:
                yield Scene(proxy, options(proxy, kafka), begin, repair, TOPIC)
            finally:
                if kafka.node(3).is_started:
                    await kafka.stop_node(3)
                await kafka.start_node(3)


@asynccontextmanager
async def slow_clock(kafka):
    """This machine's clock is set back by two hours."""
    with TemporaryDirectory(prefix="tsproxy-incidents-") as folder:
        clock = Path(folder, "clock")
        clock.write_text("+0\n")
        async with RunningProxy(kafka.bootstrap_servers, environment=faked_by(clock)) as proxy:

            async def is_compared():
                return any(name.startswith("tsproxy_clock_offset_seconds") for name in await series(proxy))

            async def begin():
                await until(is_compared, "the clock has been compared with the brokers'")
                clock.write_text(f"-{TWO_HOURS_S}\n")

            async def repair():
                clock.write_text("+0\n")

            yield Scene(proxy, options(proxy, kafka), begin, repair, TOPIC)


class Wrapped(RunningProxy):
    """A proxy with its own mounts, which `script` makes before it starts."""

    def __init__(self, script, *arguments, **named):
        super().__init__(*arguments, **named)
        self._script = script

    def _command(self):
        text = f'set -e\n{self._script}\nexec "$@"'
        return [
            "unshare",
            "--user",
            "--map-root-user",
            "--mount",
            "bash",
            "-c",
            text,
            "-",
            *super()._command(),
        ]


@asynccontextmanager
async def full_disk(kafka):
    with TemporaryDirectory(prefix="tsproxy-incidents-") as folder:
        disk = f"mount -t tmpfs -o size={DISK_BYTES} tmpfs {folder}"
        async with Wrapped(disk, kafka.bootstrap_servers, decisions=Path(folder)) as proxy:
            seen = Path(f"/proc/{proxy.pid}/root{folder}", "something-else")

            async def begin():
                with suppress(OSError), seen.open("wb", buffering=0) as file:
                    while True:
                        file.write(b"x" * 4096)

            async def repair():
                seen.unlink()

            yield Scene(proxy, options(proxy, kafka), begin, repair, TOPIC)


@asynccontextmanager
async def no_names(kafka):
    """No name server answers any more."""
    with TemporaryDirectory(prefix="tsproxy-incidents-") as folder:
        hosts, servers = Path(folder, "hosts"), Path(folder, "resolv.conf")
        hosts.write_text(f"127.0.0.1 localhost {NAME}\n")
        servers.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")  # nobody listens there
        mounts = f"mount --bind {hosts} /etc/hosts\nmount --bind {servers} /etc/resolv.conf"
        bootstrap = f"{NAME}:{kafka.node(1).port}"
        async with Wrapped(mounts, bootstrap) as proxy:

            async def begin():
                hosts.write_text("127.0.0.1 localhost\n")

            async def repair():
                hosts.write_text(f"127.0.0.1 localhost {NAME}\n")

            yield Scene(proxy, options(proxy, kafka), begin, repair, TOPIC)


@asynccontextmanager
async def expired_certificate(kafka, *, java=True, left_s=20):
    """The certificate of the listener ends. `left_s` is how long it is still valid when the proxy starts."""
    with TemporaryDirectory(prefix="tsproxy-incidents-") as folder:
        authority = CertificateAuthority(Path(folder))
        days = timedelta(days=2)
        soon = authority.issue("proxy", starts=-days, lasts=days + timedelta(seconds=left_s))
        tls = f"tls: {{ certificate: {soon.certificate}, key: {soon.key} }}"
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + left_s
        with configured(kafka, tls) as config:
            async with RunningProxy(config=config) as proxy:
                clients = ClientOptions(proxy.bootstrap_servers, "SSL", authority.certificate)

                async def begin():
                    await asyncio.sleep(max(0, ends_s + 1 - loop.time()))

                async def repair():
                    authority.issue("proxy")

                known = {"CERTIFICATE": str(soon.certificate)}
                yield Scene(proxy, clients, begin, repair, TOPIC, java=java, variables=known)


@asynccontextmanager
async def other_authority(kafka):
    """Somebody gives the listener a certificate of an authority that clients do not know."""
    with TemporaryDirectory(prefix="tsproxy-incidents-") as folder, TemporaryDirectory() as elsewhere:
        authority = CertificateAuthority(Path(folder))
        other = CertificateAuthority(Path(elsewhere), "another authority").issue("proxy")
        own = authority.issue("proxy")
        tls = f"tls: {{ certificate: {own.certificate}, key: {own.key} }}"
        with configured(kafka, tls) as config:
            async with RunningProxy(config=config) as proxy:

                async def begin():
                    shutil.copy(other.certificate, own.certificate)
                    shutil.copy(other.key, own.key)

                async def repair():
                    authority.issue("proxy")

                clients = ClientOptions(proxy.bootstrap_servers, "SSL", authority.certificate)
                known = {"CERTIFICATE": str(own.certificate)}
                yield Scene(proxy, clients, begin, repair, TOPIC, variables=known)


@asynccontextmanager
async def killed_broker(kafka):
    """A broker is killed. Its partitions have other leaders soon, but clients go on trying it."""
    await led_as_preferred(kafka)
    async with RunningProxy(kafka.bootstrap_servers) as proxy:

        async def begin():
            await until(partial(is_connected_to_2, proxy), "a client is connected to the broker")
            await kafka.kill_node(2)

        async def repair():
            await kafka.start_node(2)

        try:
            yield Scene(proxy, options(proxy, kafka), begin, repair, TOPIC)
        finally:
            if not kafka.node(2).is_started:
                await kafka.start_node(2)


async def is_connected_to_2(proxy):
    return (await series(proxy)).get('tsproxy_broker_connections{broker="2",listener="default"}')


@asynccontextmanager
async def connections_closed(kafka):
    """Brokers allow one address fewer connections than all clients together have."""
    async with RunningProxy(kafka.bootstrap_servers) as proxy, AsyncExitStack() as stack:

        async def begin():
            for _ in range(8):
                reader, writer = await asyncio.open_connection(*address_of(proxy))
                stack.callback(writer.close)
                writer.write(API_VERSIONS)
                await reader.read(1)
            await configure_brokers(kafka, "--add-config max.connections.per.ip=8")

        async def repair():
            await stack.aclose()  # this machine's administrator has the address of all clients, too

        try:
            yield Scene(
                proxy, options(proxy, kafka), begin, repair, TOPIC, way_back="max.connections.per.ip="
            )
        finally:
            await stack.aclose()
            await configure_brokers(kafka, "--delete-config max.connections.per.ip")


@asynccontextmanager
async def few_new_connections(kafka):
    """Brokers accept fewer new connections a second than clients make."""
    async with RunningProxy(kafka.bootstrap_servers) as proxy:

        async def begin():
            await configure_brokers(kafka, "--add-config max.connection.creation.rate=1")

        try:
            yield Scene(
                proxy, options(proxy, kafka), begin, nothing, TOPIC, way_back="max.connection.creation.rate="
            )
        finally:
            await configure_brokers(kafka, "--delete-config max.connection.creation.rate")


@asynccontextmanager
async def unknown_authority(kafka):
    """A broker starts again with a certificate of another authority."""
    ca = kafka.client_options().ca
    async with RunningProxy(kafka.bootstrap_servers, settings={"upstream.tls.ca": str(ca)}) as proxy:
        [keystore] = [
            Path(line.partition("=")[2])
            for line in kafka.node(1).properties_path.read_text().splitlines()
            if "keystore.location" in line
        ]
        kept = keystore.read_bytes()

        async def begin():
            with TemporaryDirectory(prefix="tsproxy-incidents-") as folder:
                other = CertificateAuthority(Path(folder), "another authority").issue("broker")
                await restarted(other.keystore.read_bytes())

        async def repair():
            await restarted(kept)

        async def restarted(store):
            await kafka.stop_node(1)
            keystore.write_bytes(store)
            await kafka.start_node(1)

        clients = ClientOptions(proxy.bootstrap_servers)
        yield Scene(proxy, clients, begin, repair, TOPIC)


@asynccontextmanager
async def changed_password(kafka):
    """Somebody gives a user another password, and its clients still have the old one."""
    own = {"mechanism": SCRAM, "username": "proxy", "password": "own"}
    settings = {f"upstream.admin.sasl.{key}": value for key, value in own.items()}
    async with RunningProxy(kafka.bootstrap_servers, settings=settings) as proxy:
        clients = replace(kafka.client_options("app", SCRAM), bootstrap_servers=proxy.bootstrap_servers)

        async def begin():
            await set_password(kafka, "app", "changed")

        known = {"CLIENT_USER": "app", "CLIENT_PASSWORD": "right"}
        yield Scene(proxy, clients, begin, nothing, TOPIC, variables=known, way_back="CLIENT_PASSWORD")


@asynccontextmanager
async def hung_broker(kafka, *, is_joined=True):
    """A broker accepts connections, or its system does, and answers nothing."""
    await led_as_preferred(kafka)
    async with RunningProxy(kafka.bootstrap_servers) as proxy:

        async def begin():
            await until(partial(is_connected_to_2, proxy), "a client is connected to the broker")
            os.kill(kafka.node(2).pid, signal.SIGSTOP)

        async def repair():
            os.kill(kafka.node(2).pid, signal.SIGCONT)

        try:
            yield Scene(proxy, options(proxy, kafka), begin, repair, TOPIC, is_joined=is_joined)
        finally:
            await repair()


@asynccontextmanager
async def refused_file(kafka):
    """Somebody saves a file with a mistake."""
    with configured(kafka, "") as config:
        good = config.read_text()
        async with RunningProxy(config=config) as proxy:

            async def begin():
                config.write_text(f"{good}policy: {{ mode: enforced }}\n")

            async def repair():
                config.write_text(good)

            yield Scene(proxy, options(proxy, kafka), begin, repair, TOPIC, variables={"FILE": str(config)})


@asynccontextmanager
async def few_descriptors(kafka):
    """The system grants the proxy descriptors for some clients only."""
    async with Wrapped("ulimit -n 360", kafka.bootstrap_servers) as proxy, AsyncExitStack() as stack:

        async def begin():
            for _ in range(60):
                _, writer = await asyncio.open_connection(*address_of(proxy))
                stack.callback(writer.close)

        async def repair():
            await stack.aclose()

        yield Scene(proxy, options(proxy, kafka), begin, repair, TOPIC)


@asynccontextmanager
async def no_decision_topic(kafka):
    """Somebody deletes the topic of the decision log."""
    name = f"{TOPIC}-log"
    with suppress(LookupError):
        await kafka.create_topic(name)
    async with RunningProxy(kafka.bootstrap_servers, settings={"decisions.topic.name": name}) as proxy:

        async def begin():
            await kafka.delete_topic(name)

        known = {"DECISIONS_TOPIC": name}
        clients = options(proxy, kafka)
        yield Scene(proxy, clients, begin, nothing, TOPIC, variables=known, way_back="--create")
    await kafka.delete_topic(name)


@asynccontextmanager
async def hung_worker(kafka):
    async with RunningProxy(kafka.bootstrap_servers, arguments=("--workers", "2")) as proxy:

        async def begin():
            os.kill(pids(proxy)[2], signal.SIGSTOP)

        yield Scene(proxy, options(proxy, kafka), begin, nothing, TOPIC)


# Helpers.

API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


def address_of(proxy):
    host, _, port = proxy.bootstrap_servers.rpartition(":")
    return host, int(port)


@contextmanager
def configured(kafka, listener):
    """A file with this line for its listener."""
    with TemporaryDirectory(prefix="tsproxy-incidents-") as folder:
        config = Path(folder, "tsproxy.yaml")
        more = f", {listener}" if listener else ""
        brokers = "" if "brokers:" in listener else ", brokers: { ports_from: 0 }"
        config.write_text(
            f"upstream: {{ bootstrap_servers: [{kafka.bootstrap_servers}] }}\n"
            f"listeners: [{{ bind: '127.0.0.1:0'{brokers}{more} }}]\n"
        )
        yield config


def is_up(kafka, node_id):
    return kafka.node(node_id).is_up()


async def configure_brokers(kafka, change):
    brokers = "--entity-type brokers --entity-default"
    command = f'kafka-configs.sh --bootstrap-server "$BROKER" --alter {brokers} {change}'
    status, printed = await run(command, {"BROKER": internal(kafka)})
    assert status == 0, printed


async def led_as_preferred(kafka):
    """Each broker leads its partitions again. A broker that was away leads none, and no client needs it."""
    command = "kafka-leader-election.sh --election-type PREFERRED --all-topic-partitions"

    async def is_led():
        status, _ = await run(f'{command} --bootstrap-server "$BROKER"', {"BROKER": internal(kafka)})
        return status == 0

    await until(is_led, "each broker leads its partitions", PATIENCE_S)


def missing(incident):
    """The thing that this machine lacks for the incident; None if it lacks nothing."""
    if incident.scene is slow_clock and not FAKETIME.exists():
        return "libfaketime, which sets the clock of one process"
    if incident.scene in {full_disk, no_names, few_descriptors} and not _may_mount():
        return "the right to make a namespace with its own mounts"
    return None


def _may_mount():
    try:
        return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
