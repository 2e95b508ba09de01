"""The incidents: the six that an operator's review made, and others of their kind. The first line of each
docstring is its row in the table."""

import os
import shutil
import signal
import subprocess
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from rigs.incidents.clusters import NAME, PATIENCE_S, configure_brokers, led_as_preferred
from rigs.incidents.incident import TOPIC, UNSHARE, Incident, Series
from tests.kit.admin import set_password
from tests.kit.client import connect
from tests.proxy.running import FAKETIME, faked_by, pids, series
from tests.proxy.world import until
from tsproxy.model.kafka import ApiKey
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import ClientOptions

SCRAM = "SCRAM-SHA-512"


def fails(result, broker="bootstrap"):
    labels = {"listener": "default", "broker": broker, "result": result}
    return Series("tsproxy_client_connections_total", labels)


class Port(Incident):
    """A broker's id has no port: a third broker joins, and the listener has ports for two."""

    name = "port"
    says = "does not serve node 3"
    event, facts = "broker_not_served", {"node_id": "^3$"}
    series = Series("tsproxy_brokers_not_served", {"listener": "default"}, ill=1)
    alert, section = "TsproxyBrokersNotServed", "Some brokers' partitions fail"
    brokers = "three"
    listener = "brokers: { ports_from: 0, count: 3 }"  # the ids 0 to 2

    async def prepare(self):
        await self.kafka.stop_node(3)

    async def begin(self):
        self.kafka.node(3).start()
        await until(self.kafka.node(3).is_up, "the broker is up", PATIENCE_S)

    async def repair(self):
        await self.kafka.stop_node(3)

    async def end(self):
        if self.kafka.node(3).is_started:
            await self.kafka.stop_node(3)
        await self.kafka.start_node(3)


class Clock(Incident):
    """The proxy's clock is 2 h slow."""

    name = "clock"
    says = "this machine's clock is .* behind the brokers'"
    event = "clock_offset_beyond"
    series = Series("tsproxy_clock_suspected", {"by": "brokers"}, ill=1)
    alert, section = "TsproxyClockSuspected", "Good records are rejected"

    async def prepare(self):
        self.set(0)
        self.environment = faked_by(self.folder / "clock")

    def set(self, seconds):
        (self.folder / "clock").write_text(f"{seconds:+}\n")

    async def begin(self):
        async def is_compared():
            return any(name.startswith("tsproxy_clock_offset_seconds") for name in await series(self.proxy))

        await until(is_compared, "the clock has been compared with the brokers'")
        self.set(-7_200)

    async def repair(self):
        self.set(0)


class Disk(Incident):
    """The decision log's disk is full."""

    name = "disk"
    says = "No space left on device"
    event = "decision_log_stopped"
    series = Series("tsproxy_decision_log_writable", well=1, ill=0)
    alert, section = "TsproxyDecisionLogNotWritable", "The decision log's disk is full"
    script = "mount -t tmpfs -o size=256k tmpfs {0.folder}"

    async def prepare(self):
        self.decisions = self.folder

    @property
    def filler(self):
        return Path(f"/proc/{self.proxy.pid}/root{self.folder}", "something-else")

    async def begin(self):
        with suppress(OSError), self.filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)

    async def repair(self):
        self.filler.unlink()


class Expired(Incident):
    """The listener's certificate has expired."""

    name = "expired"
    says = "certificate .*has expired"
    event = "certificate_expired"
    series = fails("handshake_failed", "")
    alert, section = "TsproxyClientsFail", "Clients time out"
    java = True

    async def prepare(self):
        self.authority = CertificateAuthority(self.folder)
        self.identity = self.authority.issue("proxy")
        self.listener = f"tls: {{ certificate: {self.identity.certificate}, key: {self.identity.key} }}"
        self.variables["CERTIFICATE"] = str(self.identity.certificate)

    def options(self):
        return ClientOptions(self.proxy.bootstrap_servers, "SSL", self.authority.certificate)

    async def begin(self):
        """The files are those of yesterday. A certificate that ends during the run may do so too early."""
        self.authority.issue("proxy", starts=timedelta(days=-2), lasts=timedelta(days=1))

    async def repair(self):
        self.authority.issue("proxy")


class Trust(Expired):
    """Clients do not know the authority of the listener's certificate."""

    name = "trust"
    says = "the TLS handshake or the PROXY header fails"
    event = "tls_handshake_failed"
    java = False

    async def begin(self):
        (self.folder / "other").mkdir()
        other = CertificateAuthority(self.folder / "other", "another authority").issue("proxy")
        shutil.copy(other.certificate, self.identity.certificate)
        shutil.copy(other.key, self.identity.key)


class Names(Incident):
    """No name server answers."""

    name = "names"
    says = "no name server answers"
    event = "broker_name_not_resolved"
    series = Series("tsproxy_broker_names_unresolved", ill=1)
    alert, section = "TsproxyBrokerNamesUnresolved", "Clients time out"
    brokers = "named"
    script = "mount --bind {0.folder}/hosts /etc/hosts\nmount --bind {0.folder}/resolv.conf /etc/resolv.conf"

    async def prepare(self):
        self.bootstrap = f"{NAME}:{self.kafka.node(1).port}"
        # Nobody listens there.
        (self.folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        await self.repair()

    async def begin(self):
        (self.folder / "hosts").write_text("127.0.0.1 localhost\n")

    async def repair(self):
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost {NAME}\n")


class Closed(Incident):
    """Brokers close connections (`max.connections.per.ip`)."""

    name = "closed"
    says = r"closes their connections before its first answer.*max\.connections\.per\.ip"
    event, facts = "clients_fail", {"result": "broker_closed_early"}
    series = fails("broker_closed_early")
    alert, section = "TsproxyClientsFail", "Clients time out"
    way_back = "max.connections.per.ip="

    async def prepare(self):
        self.opened = AsyncExitStack()

    async def begin(self):
        for _ in range(8):
            client = await self.opened.enter_async_context(await connect(self.proxy.bootstrap_servers))
            await client.ask(ApiKey.API_VERSIONS)
        await configure_brokers(self.kafka, "--add-config max.connections.per.ip=8")

    async def repair(self):
        await self.opened.aclose()  # this machine's administrator has the address of all clients, too

    async def end(self):
        await self.opened.aclose()
        await configure_brokers(self.kafka, "--delete-config max.connections.per.ip")


class Authority(Incident):
    """A broker's certificate is of an unknown authority."""

    name = "authority"
    says = "certificate was rejected: unable to get local issuer"
    event, facts = "upstream_unreachable", {"error": "certificate was rejected"}
    series = fails("broker_unreachable")
    alert, section = "TsproxyClientsFail", "Not ready"
    brokers = "with_tls"

    async def prepare(self):
        self.settings = {"upstream.tls.ca": str(self.kafka.client_options().ca)}
        [self.keystore] = [
            Path(line.partition("=")[2])
            for line in self.kafka.node(1).properties_path.read_text().splitlines()
            if "keystore.location" in line
        ]
        self.kept = self.keystore.read_bytes()

    def options(self):
        return ClientOptions(self.proxy.bootstrap_servers)

    async def restarted(self, store):
        await self.kafka.stop_node(1)
        self.keystore.write_bytes(store)
        await self.kafka.start_node(1)

    async def begin(self):
        other = CertificateAuthority(self.folder, "another authority").issue("broker")
        await self.restarted(other.keystore.read_bytes())

    async def repair(self):
        await self.restarted(self.kept)


class Password(Incident):
    """The password of clients was changed."""

    name = "password"
    says = "rejects their logins"
    event = "sasl_failed"
    series = fails("login_failed")
    alert, section = "TsproxyClientsFail", "Clients time out"
    way_back = "CLIENT_PASSWORD"
    brokers = "with_logins"

    async def prepare(self):
        login = {"mechanism": SCRAM, "username": "proxy", "password": "own"}
        self.settings = {f"upstream.admin.sasl.{key}": value for key, value in login.items()}
        self.variables |= {"CLIENT_USER": "app", "CLIENT_PASSWORD": "right"}

    def options(self):
        direct = self.kafka.client_options("app", SCRAM)
        return replace(direct, bootstrap_servers=self.proxy.bootstrap_servers)

    async def begin(self):
        await set_password(self.kafka, "app", "changed")


class Hung(Incident):
    """A broker hangs: it accepts connections, or its system does, and answers nothing."""

    name = "hung"
    says = "(broker 2|a bootstrap server) does not answer"
    event, facts = "clients_fail", {"result": "broker_silent"}
    series = fails("broker_silent", "2")
    alert, section = "TsproxyClientsFail", "Some brokers' partitions fail"
    brokers = "three"

    async def prepare(self):
        await led_as_preferred(self.kafka)

    async def begin(self):
        async def is_connected():
            shown = await series(self.proxy)
            return shown.get('tsproxy_broker_connections{broker="2",listener="default"}')

        await until(is_connected, "a client is connected to the broker")
        await self.fail()

    async def fail(self):
        os.kill(self.kafka.node(2).pid, signal.SIGSTOP)

    async def repair(self):
        os.kill(self.kafka.node(2).pid, signal.SIGCONT)

    async def end(self):
        await self.repair()


class Killed(Hung):
    """A broker is killed. Its partitions have other leaders soon, but clients go on trying it."""

    name = "killed"
    says = "broker 2 cannot be reached"
    event, facts = "clients_fail", {"result": "broker_unreachable"}
    series = fails("broker_unreachable", "2")

    async def fail(self):
        await self.kafka.kill_node(2)

    async def repair(self):
        if not self.kafka.node(2).is_started:
            await self.kafka.start_node(2)


class Waiting(Hung):
    """A broker hangs, and all clients were connected before."""

    name = "waiting"
    says = "broker 2 does not answer .*to clients and to the proxy"
    event, facts = "broker_hangs", {"node_id": "^2$"}
    series = Series("tsproxy_brokers_hanging", ill=1)
    alert = "TsproxyBrokerHangs"
    is_joined = False


class File(Incident):
    """A configuration is refused at a reload."""

    name = "file"
    says = "the configuration file was rejected"
    event = "config_not_reloaded"
    series = Series("tsproxy_config_last_reload_successful", well=1, ill=0)
    alert, section = "TsproxyConfigReloadFailed", "A reload had no effect"
    listener = "name: default"

    async def prepare(self):
        self.variables["FILE"] = str(self.config)

    async def begin(self):
        self.good = self.config.read_text()
        self.config.write_text(f"{self.good}policy: {{ mode: enforced }}\n")

    async def repair(self):
        self.config.write_text(self.good)


class Descriptors(Incident):
    """The limit of descriptors is reached."""

    name = "descriptors"
    says = "descriptors"
    event = "connection_rejected"
    series = Series("tsproxy_limits_total", {"limit": "connections"})
    alert, section = "TsproxyConnectionsRejected", "Clients time out"
    script = "ulimit -n 360"

    async def prepare(self):
        self.opened = AsyncExitStack()

    async def begin(self):
        for _ in range(60):
            await self.opened.enter_async_context(await connect(self.proxy.bootstrap_servers))

    async def repair(self):
        await self.opened.aclose()

    async def end(self):
        await self.opened.aclose()


class Rate(Incident):
    """Brokers limit the rate of new connections."""

    name = "rate"
    says = r"does not answer.*max\.connection\.creation\.rate"
    event, facts = "clients_fail", {"result": "broker_silent"}
    series = fails("broker_silent")
    alert, section = "TsproxyClientsFail", "Clients time out"
    way_back = "max.connection.creation.rate="

    async def begin(self):
        await configure_brokers(self.kafka, "--add-config max.connection.creation.rate=1")

    async def end(self):
        await configure_brokers(self.kafka, "--delete-config max.connection.creation.rate")


class Topic(Incident):
    """The decision log's topic is gone."""

    name = "topic"
    says = "the decision log cannot be sent to the topic"
    event = "decision_topic_failed"
    series = Series("tsproxy_decision_topic_up", well=1, ill=0)
    alert, section = "TsproxyDecisionTopicDown", "The decision log's disk is full"
    way_back = "--create"
    log = f"{TOPIC}-log"

    async def prepare(self):
        self.settings = {"decisions.topic.name": self.log}
        self.variables["DECISIONS_TOPIC"] = self.log
        with suppress(LookupError):
            await self.kafka.create_topic(self.log)

    async def begin(self):
        await self.kafka.delete_topic(self.log)

    async def end(self):
        await self.kafka.delete_topic(self.log)


class Worker(Incident):
    """A worker hangs."""

    name = "worker"
    says = "worker 2: (has not answered|hung)"
    event = "worker_hangs"
    series = Series("tsproxy_worker_restarts_total", {"worker": "2"})
    alert, section = "TsproxyWorkerRestarts", "Not ready"
    arguments = ("--workers", "2")

    async def begin(self):
        os.kill(pids(self.proxy)[2], signal.SIGSTOP)


INCIDENTS = {
    one.name: one
    for one in (
        Port, Clock, Disk, Expired, Trust, Names, Closed, Authority, Password, Hung, Killed, Waiting, File,
        Descriptors, Rate, Topic, Worker,
    )
}  # fmt: skip


def missing(incident):
    """The thing that this machine lacks for the incident; None if it lacks nothing."""
    if incident is Clock and not FAKETIME.exists():
        return "libfaketime, which sets the clock of one process"
    if incident.script and not _may_mount():
        return "the right to make a namespace with its own mounts"
    return None


def _may_mount():
    try:
        return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
