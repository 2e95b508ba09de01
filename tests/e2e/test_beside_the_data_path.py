"""Each thing beside the data path fails once. Clients are served meanwhile, and each probe says so.

docs/guide/operations.md has a table with a row for each of these things. A part of the process names its row.
"""

import asyncio
import inspect
import os
import re
import shutil
import signal
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path

import pytest
import pytest_asyncio
import yaml
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError
from confluent_kafka.admin import AclOperation, ScramMechanism

from tests.e2e import kerberos
from tests.e2e.issuer import Issuer, cluster_for_tokens
from tests.e2e.test_kerberos import GSSAPI, PROXY
from tests.e2e.test_own_login import BY_ENDPOINT, SECRET, SESSION_MS, proxy_of, settings_of
from tests.kit.admin import AUTHORIZER, DENY, grant, right, set_password, take_back
from tests.kit.tasks import beside
from tests.proxy.decision_log.conftest import disk, fill
from tests.proxy.running import EVERY_SECOND, TWO, page, pids, series
from tests.proxy.world import until
from tsproxy.proxy.server import Proxy
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

ROOT = Path(__file__).parents[2]

OWN, CLIENTS = "SCRAM-SHA-256", "SCRAM-SHA-512"
"""The mechanisms of the proxy's own user and of clients. A session of the first ends after some seconds, so
that a changed password is soon needed."""
LISTENER = "listener.name.clients"
PROPERTIES = {
    **AUTHORIZER,
    "allow.everyone.if.no.acl.found": "true",
    "auto.create.topics.enable": "false",
    f"{LISTENER}.sasl.enabled.mechanisms": f"{OWN},{CLIENTS}",
    f"{LISTENER}.scram-sha-256.connections.max.reauth.ms": "3000",
}
USERS = {"app": "of-app", "proxy": "planted-own"}
CONFIG, CERTIFICATE = "tsproxy.yaml", "listener.pem"
TOPIC, LETTERS, LOG, PROBE = "orders", "letters", "lines", "probe"
TOPICS = {TOPIC: {"message.timestamp.after.max.ms": "3600000"}, LETTERS: {}, LOG: {}}
TOPICS[PROBE] = {"message.timestamp.type": "LogAppendTime"}


@dataclass
class World:
    kafka: KafkaCluster
    proxy: RunningProxy
    folder: Path
    disk: Path | None = None
    user: str = "app"
    issuer: Issuer | None = None
    readers: list[socket.socket] = field(default_factory=list)

    async def produce(self, timestamp_ms=None):
        """Send one record on a new connection."""
        options = self.kafka.client_options(self.user, CLIENTS)
        clients = replace(options, bootstrap_servers=self.proxy.bootstrap_servers)
        async with AIOKafkaProducer(**clients.aiokafka()) as producer:
            await producer.send_and_wait(TOPIC, b"x", timestamp_ms=timestamp_ms)


@dataclass(frozen=True)
class Scene:
    """One thing that fails. `begin` and `end` do it at once, or return a coroutine. `metric` is the series
    and the value that its alert looks at; None if there is none, or if it is over before a scrape."""

    begin: object
    end: object = lambda _: None
    metric: tuple[str, float] | None = None


def password(text):
    async def change(world):
        await set_password(world.kafka, "proxy", text, ScramMechanism.SCRAM_SHA_256)

    return change


RIGHTS = [
    right(AclOperation.DESCRIBE_CONFIGS, TOPIC, DENY),
    right(AclOperation.ALL, TOPIC, user="*"),
]


def deleted(topic, then=None):
    async def delete(world):
        await world.kafka.delete_topic(topic)
        if then is not None:
            await then(world)

    return delete


def created(topic):
    async def create(world):
        await world.kafka.create_topic(topic, config=TOPICS[topic])

    return create


async def one_is_rejected(world):
    with pytest.raises(InvalidTimestampError):
        await world.produce(timestamp_ms=4_000_000_000_000)


def spoiled(name, text):
    """This file has another text."""

    def spoil(world):
        shutil.copy(world.folder / name, world.folder / "good")
        (world.folder / name).write_text(text)

    return spoil


def restored(name):
    return lambda world: (world.folder / "good").replace(world.folder / name)


def reader_of(proxy):
    host, _, port = proxy.admin_address.rpartition(":")
    return socket.create_connection((host, int(port)), source_address=("127.0.0.2", 0))


def nobody_reads_metrics(world):
    """A reader goes away in the middle of a page, again and again."""
    for _ in range(20):
        with reader_of(world.proxy) as reader:
            reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")


def signal_kdc(number):
    def send(world):
        (world.folder / "tickets").unlink(missing_ok=True)  # as if they had expired
        os.kill(int((world.folder / "pid").read_text()), number)

    return send


MANY_READERS = 300
"""More readers at another address than there is room for, who ask nothing."""
OWN_LOGIN_FAILS = ("tsproxy_own_login_up", 0)
SCENES = {
    "own login": Scene(password("changed"), password(USERS["proxy"]), OWN_LOGIN_FAILS),
    "token endpoint": Scene(
        lambda world: world.issuer.close(), lambda world: world.issuer.open(), OWN_LOGIN_FAILS
    ),
    "KDC": Scene(signal_kdc(signal.SIGSTOP), signal_kdc(signal.SIGCONT), OWN_LOGIN_FAILS),
    "topic limits": Scene(
        lambda world: grant(world.kafka, *RIGHTS),
        lambda world: take_back(world.kafka),
        ("tsproxy_topics_unreadable", 1),
    ),
    "decision log": Scene(
        lambda world: fill(world.disk / "ballast"),
        lambda world: (world.disk / "ballast").unlink(),
        ("tsproxy_decision_log_writable", 0),
    ),
    "decision topic": Scene(deleted(LOG), created(LOG), ("tsproxy_decision_topic_up", 0)),
    "dead letters": Scene(
        deleted(LETTERS, one_is_rejected), created(LETTERS), ("tsproxy_dead_letters_up", 0)
    ),
    "clock probe": Scene(deleted(PROBE), created(PROBE)),
    "configuration file": Scene(
        spoiled(CONFIG, "policy: { mode: enforced }\n"),
        restored(CONFIG),
        ("tsproxy_config_last_reload_successful", 0),
    ),
    "certificates": Scene(
        spoiled(CERTIFICATE, "no certificate"),
        restored(CERTIFICATE),
        ('tsproxy_certificates_last_reload_successful{section="listeners.tls.tls"}', 0),
    ),
    "admin port": Scene(
        lambda world: world.readers.extend(reader_of(world.proxy) for _ in range(MANY_READERS)),
        lambda world: [reader.close() for reader in world.readers],
    ),
    "metrics": Scene(nobody_reads_metrics),
    "a worker": Scene(lambda world: os.kill(pids(world.proxy)[2], signal.SIGKILL)),
}
IN_PATH = {"broker names", "listeners", "connections"}
"""The rows of parts without which clients cannot be served, or not all of them."""
OPERATIONS, ALERTS = (ROOT / "docs/guide/operations.md", ROOT / "deploy/prometheus/alerts.yaml")


@dataclass(frozen=True)
class Row:
    """A row of the table: the line of /readyz?verbose has `warning`; None if there is no such line."""

    warning: str | None
    alert: str | None


def rows():
    _, _, table = OPERATIONS.read_text().partition("| what fails | `/readyz?verbose` |")
    found = {}
    for line in table.partition("\n\n")[0].splitlines()[2:]:
        name, warning, alert, _ = (cell.strip() for cell in line.strip("|").split("|"))
        text = re.fullmatch("`(.*)`", warning)
        link = re.match(r"\[(\w+)\]", alert)
        found[name] = Row(text and text[1], link and link[1])
    return found


def test_each_part_of_the_process_has_a_row_and_each_row_a_scene():
    source = inspect.getsource(Proxy._list_parts)
    named = re.findall(r"\bPart\(\s*\"([^\"]+)\"", source)
    assert len(named) == source.count("Part(")
    assert set(named) - IN_PATH <= rows().keys()
    assert rows().keys() == SCENES.keys()


def test_the_alert_of_a_row_looks_at_the_metric_of_its_scene():
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    alerts = {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"] if "alert" in rule}
    for name, row in rows().items():
        assert row.alert is None or row.alert in alerts, name
        if row.alert is not None and SCENES[name].metric is not None:
            assert SCENES[name].metric[0].partition("{")[0] in alerts[row.alert], name


@pytest.fixture
async def world(brokers, tmp_path, certificates):
    own = f"{{ mechanism: {OWN}, username: proxy, password: {USERS['proxy']} }}"
    identity = certificates.issue("listener", lasts=timedelta(days=60))
    shutil.copy(identity.certificate, tmp_path / CERTIFICATE)
    (tmp_path / CONFIG).write_text(
        f"upstream:\n"
        f"  bootstrap_servers: ['{brokers.bootstrap_servers}']\n"
        f"  admin: {{ refresh: 1s, sasl: {own} }}\n"
        "listeners:\n"
        "  - { name: default, bind: '127.0.0.1:0', brokers: { ports_from: 0 } }\n"
        "  - { name: tls, bind: '127.0.0.1:0', brokers: { ports_from: 0 },"
        f" tls: {{ certificate: {tmp_path / CERTIFICATE}, key: {identity.key} }} }}\n"
        f"decisions: {{ topic: {{ name: {LOG} }}}}\n"
        f"dead_letters: {{ topic: {LETTERS}, unproven: copy }}\n"
        "policy: { defaults: { dead_letters: yes } }\n"
        f"clock: {{ probe: {{ topic: {PROBE}, every: 1s }} }}\n"
    )
    file, settings = tmp_path / CONFIG, EVERY_SECOND
    with disk(tmp_path / "disk", 1 << 20) as small:
        async with RunningProxy(
            config=file, decisions=small / "log", arguments=TWO, settings=settings
        ) as proxy:
            yield World(brokers, proxy, tmp_path, small)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def brokers():
    async with KafkaCluster(security="SASL_PLAINTEXT", users=USERS, properties=PROPERTIES) as kafka:
        for name, config in TOPICS.items():
            await kafka.create_topic(name, config=config)
        yield kafka


@asynccontextmanager
async def probed(proxy):
    """As a load balancer: each answer of /readyz that is not 200, while the block lasts."""
    failed = []

    async def probe():
        while True:
            status, text = await page(proxy.admin_address, "/readyz")
            if status != HTTPStatus.OK:
                failed.append((status, text))
            await asyncio.sleep(0.2)

    async with beside(probe()):
        yield failed


async def done(step):
    if inspect.isawaitable(step):
        await step


@asynccontextmanager
async def with_tokens(folder):
    """The proxy logs in with tokens. Its sessions are short."""
    with Issuer({"tsproxy": SECRET}, expires_in_s=1) as issuer:
        settings = settings_of(token_endpoint=f"{issuer.url}/token", **BY_ENDPOINT)
        async with (
            cluster_for_tokens(issuer, folder, SESSION_MS) as kafka,
            proxy_of(kafka, settings) as proxy,
        ):
            yield World(kafka, proxy, folder, user="alice", issuer=issuer)


@asynccontextmanager
async def with_tickets(folder):
    pytest.importorskip("gssapi", reason="needs the extra tsproxy[kerberos] (pip install)")
    with kerberos.realm(folder) as keytab:
        properties = kerberos.properties(keytab) | {f"{LISTENER}.gssapi.connections.max.reauth.ms": "3000"}
        security = {"security": "SASL_PLAINTEXT", "users": USERS, "properties": properties}
        async with KafkaCluster(**security) as kafka:
            await kafka.create_topic(TOPIC)
            file = folder / CONFIG
            file.write_text(PROXY.format(upstream=kerberos.by_name(kafka), sasl=GSSAPI))
            async with RunningProxy(config=file, settings={"upstream.admin.refresh": "1s"}) as proxy:
                yield World(kafka, proxy, folder)


KERBEROS = [kerberos.needs_kdc, pytest.mark.full_only("starts a KDC; the token endpoint is of its kind")]
OWN_LOGINS = {"token endpoint": with_tokens, "KDC": with_tickets}
"""The scenes that need brokers of their own."""


@pytest.mark.broker
@pytest.mark.timeout(900)  # each wait has its own bound, which says for what
async def test_clients_are_served_and_no_probe_fails_while_it_fails(world):
    await world.produce()
    for name in SCENES:
        if name not in OWN_LOGINS:
            await fails_beside(world, name)


@pytest.mark.broker
@pytest.mark.parametrize("name", ["token endpoint", pytest.param("KDC", marks=KERBEROS)])
async def test_clients_are_served_while_the_own_login_has_nobody_to_ask(tmp_path, name):
    async with OWN_LOGINS[name](tmp_path) as world:
        await world.produce()
        await fails_beside(world, name)


async def fails_beside(world, name):
    """Plays the scene, and asserts that nothing but its warning and its metric tells of it."""
    proxy, scene, warning = world.proxy, SCENES[name], rows()[name].warning
    async with probed(proxy) as failed:
        await done(scene.begin(world))
        if warning is not None:
            pattern = re.compile(f"^warning: .*{re.escape(warning)}", re.MULTILINE)

            async def is_named():
                return pattern.search((await page(proxy.admin_address, "/readyz?verbose"))[1])

            await until(is_named, f"{name}: {warning}")
        if scene.metric is not None:

            async def is_measured():
                return (await series(proxy)).get(scene.metric[0]) == scene.metric[1]

            await until(is_measured, f"{name}: {scene.metric}")
        for _ in range(4):  # whichever worker the kernel chooses
            await world.produce()
        await done(scene.end(world))
        if warning is not None:

            async def is_over():
                return not await is_named()

            await until(is_over, f"{name} is over")
    assert failed == [], name
