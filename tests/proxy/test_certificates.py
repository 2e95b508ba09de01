"""Certificates are read again when their files change, and nobody is cut off by it."""

import asyncio
import contextlib
import errno
import pickle
import shutil
import ssl
import threading
from dataclasses import fields, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pytest
import structlog
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from tests.kit.client import connect
from tests.kit.clocks import MovedClock
from tests.kit.tasks import beside
from tests.proxy.frames import answer, request
from tests.proxy.loops import on_both_loops
from tests.proxy.measured import rendered
from tests.proxy.proxy_listeners import HOST, ask, config_of, echoing_broker, front_of, is_let_in
from tests.proxy.world import World, until
from tsproxy.clock import Clock
from tsproxy.config.problems import ConfigError, Problem
from tsproxy.config.settings import ListenerTls, UpstreamTls
from tsproxy.config.values import SecretFile
from tsproxy.proxy.reload import certificates as contexts
from tsproxy.proxy.reload import retry
from tsproxy.proxy.reload.certificates import (
    UNUSABLE_GRACE_S,
    Certificates,
    Sources,
    Unusable,
    use_changed_files,
)
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import client_context
from tsproxy.tls.contexts import server_context

DAY = timedelta(days=1)
NOT_RELOADED = "certificates_not_reloaded"
RELOADED = 'tsproxy_certificates_last_reload_successful{section="listeners.default.tls"}'


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr("tsproxy.proxy.reload.certificates.POLL_INTERVAL_S", 0.01)


class Files:
    """The files of one listener, as an operator replaces them."""

    def __init__(self, folder, authority):
        self.certificate, self.key, self.ca = (folder / name for name in ("cert.pem", "key.pem", "ca.pem"))
        self.put(authority.issue("first"))
        self.trust(authority)

    def put(self, identity):
        shutil.copy(identity.certificate, self.certificate)
        shutil.copy(identity.key, self.key)

    def trust(self, authority):
        shutil.copy(authority.certificate, self.ca)

    def listener(self, *, mutual=False):
        tls = f"certificate: '{self.certificate}', key: '{self.key}'" + (
            f", client_ca: '{self.ca}'" if mutual else ""
        )
        return f"{{ bind: '127.0.0.1:0', advertised_host: localhost, tls: {{ {tls} }} }}"


@pytest.fixture
def files(certificates, tmp_path):
    return Files(tmp_path, certificates)


def certificates_of(config, world=None, clock=None, copies=MappingProxyType({})):
    """The certificates of this configuration, or of a listener's section."""
    config = config_of([f"{HOST}:9092"], config) if isinstance(config, str) else config
    return Certificates(config, (world or World()).metrics.registry, clock or Clock(), copies)


@contextlib.asynccontextmanager
async def watched_front(text, world=None):
    """The address of an open listener of the configuration `text` before a broker, and what gives its TLS
    context. Its certificates are watched."""
    async with echoing_broker() as broker:
        config = config_of([broker], text)
        watched = certificates_of(config)
        tls = watched.listeners["default"].current
        async with (
            beside(watched.watch()),
            front_of(config, world or World(), tls=tls) as proxy_listener,
        ):
            yield proxy_listener.address, tls


async def shown_by(address, client_tls):
    """The common name of the certificate that a new connection is shown."""
    async with await connect(address, ssl=client_tls) as client:
        return dict(part[0] for part in client.fact("peercert")["subject"])["commonName"]


@pytest.fixture
def client_tls(certificates):
    return client_context(certificates.certificate)


def everywhere(files, listener):
    """A configuration with TLS to clients, to brokers and on the admin port, by the same files."""
    config = config_of([f"{HOST}:9092"], listener)
    [server] = [each.tls for each in config.listeners]
    upstream = UpstreamTls(files.ca, files.certificate, files.key)
    return replace(
        config,
        upstream=replace(config.upstream, tls=upstream),
        admin=replace(config.admin, tls=server),
    )


async def test_a_reload_uses_the_new_files_of_every_section_at_once_and_not_again(certificates, files):
    config = everywhere(files, files.listener())
    watch = certificates_of(config)
    sections = (watch.listeners["default"], watch.upstream, watch.admin)
    before = [section.current() for section in sections]
    files.put(certificates.issue("reloaded"))
    watch.prepare(config)()
    assert not {*before} & {section.current() for section in sections}
    assert [end.subject for end in sections[0].ends] == ["CN=reloaded"]
    assert [await sections[0].use_changed() for _ in range(3)] == [False] * 3


async def test_copies_show_what_the_files_showed_until_the_files_are_back(certificates, files, tmp_path):
    """A worker that replaces another one gets them. Also the passphrase of a key is in a file."""
    key = load_pem_private_key(files.key.read_bytes(), None)
    encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pw"))
    files.key.write_bytes(encrypted)
    password, crl = tmp_path / "password", tmp_path / "crl.pem"
    password.write_text("pw\n")
    crl.write_bytes(certificates.revocations(revoked := certificates.issue("revoked")))
    more = f"key_password_file: '{password}', client_crl: '{crl}'"
    config = everywhere(files, files.listener(mutual=True).replace(" } }", f", {more} }} }}"))
    upstream = replace(config.upstream.tls, key_password=config.admin.tls.key_password)
    config = replace(config, upstream=replace(config.upstream, tls=upstream))
    before = certificates_of(config)
    kept = pickle.dumps(before.copies())
    for file in (files.certificate, files.key, files.ca, password, crl):
        file.unlink()

    replacement = certificates_of(config, copies=pickle.loads(kept))
    sections, old = [(each.listeners["default"], each.admin, each.upstream) for each in (replacement, before)]
    assert [each.ends for each in sections] == [each.ends for each in old]
    identities = (certificates.issue("client"), revoked)
    clients = [client_context(certificates.certificate, each) for each in identities]
    async with (
        echoing_broker() as broker,
        front_of(config_of([broker], files.listener()), World(), tls=sections[0].current) as front,
        beside(replacement.watch()),
    ):
        await until(lambda: all(each.problem for each in sections))
        assert await shown_by(front.address, clients[0]) == "first"
        assert [await is_let_in(front.address, client) for client in clients] == [True, False]
        files.put(certificates.issue("second"))
        files.trust(certificates)
        crl.write_bytes(certificates.revocations())
        await until(lambda: not any(each.problem for each in sections))
        assert await shown_by(front.address, clients[1]) == "second"


def test_a_reload_with_unusable_files_names_all_of_them_and_changes_nothing(certificates, files, tmp_path):
    """Otherwise a part of the configuration would be in force, and `config_reloaded` would be logged."""
    config = everywhere(files, files.listener())
    watch = certificates_of(config)
    sections = (watch.listeners["default"], watch.upstream, watch.admin)
    before = [(each.current(), each.ends) for each in sections]
    absent = tmp_path / "absent.pem"
    broken = replace(
        config,
        upstream=replace(config.upstream, tls=replace(config.upstream.tls, ca=absent)),
        admin=replace(config.admin, tls=replace(config.admin.tls, certificate=absent)),
    )
    files.put(certificates.issue("another"))
    with pytest.raises(ConfigError) as error:
        watch.prepare(broken)
    assert [each.text for each in error.value.problems] == [
        f"{absent} cannot be read: No such file or directory"
    ] * 2
    assert [(each.current(), each.ends) for each in sections] == before


@on_both_loops
async def test_a_new_certificate_is_shown_to_new_connections_and_the_old_ones_go_on(
    certificates, files, client_tls
):
    async with watched_front(files.listener()) as (address, tls):
        client = await connect(address, ssl=client_tls)
        assert await shown_by(address, client_tls) == "first"
        before = tls()
        files.put(certificates.issue("second"))
        await until(lambda: tls() is not before)

        assert await shown_by(address, client_tls) == "second"
        assert await client.frame(request(5)) == answer(5)[4:]
        client.close()


@on_both_loops
async def test_authorities_that_are_taken_out_are_no_longer_trusted(certificates, files, tmp_path_factory):
    """Adding to a context that is in use could never take an authority out of it."""
    other = CertificateAuthority(tmp_path_factory.mktemp("other"), "somebody else")
    world = World()
    async with watched_front(files.listener(mutual=True), world) as (address, tls):
        clients = {}
        for name, authority in (("old", certificates), ("new", other)):
            clients[name] = client_context(certificates.certificate, authority.issue(f"client-{name}"))
        assert await ask(address, clients["old"]) == answer(5)
        before = tls()
        files.trust(other)
        await until(lambda: tls() is not before)

        assert await ask(address, clients["new"]) == answer(5)
        with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
            assert await ask(address, clients["old"]) == answer(5)
        await until(lambda: world.logged.of("tls_handshake_failed"))


@pytest.mark.parametrize("broken", ["no PEM", "another key", "gone"])
async def test_files_that_cannot_be_used_leave_the_old_ones_in_use_and_are_told_once(
    certificates, files, broken
):
    world = World()
    watched = certificates_of(files.listener(), world)
    credentials = watched.listeners["default"]
    before = credentials.current()
    match broken:
        case "no PEM":
            files.certificate.write_text("hello")
        case "another key":
            shutil.copy(certificates.issue("another").key, files.key)
        case "gone":
            files.certificate.unlink()
    with structlog.testing.capture_logs() as logs:
        for told, is_new in ((0, False), (1, True)):
            for _ in range(4):
                await use_changed_files(credentials, Clock())
            watched.log_ends()
            assert rendered(world.metrics)[RELOADED] == told
            assert (credentials.current() is not before) is is_new
            files.put(certificates.issue("mended"))
    [line, *_] = logs
    assert [line["event"] for line in logs] == [NOT_RELOADED, "certificates_reloaded"]
    assert line["log_level"] == "warning"
    assert str(files.certificate) in line["problems"][0]


CANNOT_BE_READ = partial(ConfigError, Problem("", "tls.key", "cannot be read: Too many open files"))
NO_DESCRIPTOR = partial(OSError, errno.EMFILE, "Too many open files")


@pytest.mark.parametrize(
    ("part", "error", "event"),
    [
        ((contexts, "server_context"), CANNOT_BE_READ, NOT_RELOADED),
        ((contexts, "server_context"), NO_DESCRIPTOR, NOT_RELOADED),  # a moment after it could be opened
        ((Path, "read_bytes"), NO_DESCRIPTOR, NOT_RELOADED),
        ((contexts, "server_context"), MemoryError, "certificates_watch_crashed"),
        ((Sources, "states"), MemoryError, "certificates_watch_crashed"),
    ],
    ids=["file", "file later", "copy", "context", "states"],
)
async def test_files_that_could_not_be_read_for_a_moment_are_tried_again_and_told_once(
    certificates, files, monkeypatch, part, error, event
):
    """No file changes when the moment is over: the old certificate stayed in use until it expired, or the
    next worker was to begin with an empty copy."""
    monkeypatch.setattr(retry, "AGAIN_S", 0)
    credentials = certificates_of(files.listener()).listeners["default"]
    files.put(certificates.issue("second"))
    await use_changed_files(credentials, Clock())

    def fails(*_):
        raise error()

    with structlog.testing.capture_logs() as logs, monkeypatch.context() as moment:
        moment.setattr(*part, fails)
        for _ in range(3):
            await use_changed_files(credentials, Clock())
        assert [line["event"] for line in logs] == [event]
        assert credentials.problem
        moment.undo()
        await use_changed_files(credentials, Clock())
    assert [line["event"] for line in logs] == [event, "certificates_reloaded"]
    assert (credentials.problem, [end.subject for end in credentials.ends]) == (None, ["CN=second"])
    assert credentials.copy.contents[files.certificate] == files.certificate.read_bytes()


async def test_unusable_files_are_not_tried_at_each_look(certificates, files, monkeypatch):
    credentials = certificates_of(files.listener()).listeners["default"]
    tries = []
    monkeypatch.setattr(contexts, "server_context", lambda tls: tries.append(tls) or server_context(tls))
    files.certificate.write_text("hello")
    for _ in range(5):
        await use_changed_files(credentials, Clock())
    assert len(tries) == 1


async def test_an_error_of_ours_in_one_section_does_not_end_the_watch_of_another(
    certificates, files, monkeypatch
):
    watched = certificates_of(everywhere(files, files.listener()))

    async def fails():
        raise RuntimeError("planted")

    monkeypatch.setattr(watched.listeners["default"], "use_changed", fails)
    before = watched.admin.current()
    with structlog.testing.capture_logs() as logs:
        async with beside(watched.watch()):
            files.put(certificates.issue("beside"))
            await until(lambda: watched.admin.current() is not before)
    assert {line["error"] for line in logs if line["event"] == "certificates_watch_crashed"} == {
        "RuntimeError"
    }


@pytest.mark.parametrize("section", [ListenerTls, UpstreamTls])
def test_each_file_that_a_section_names_is_watched(section, tmp_path):
    """The passphrase of a new key, a little later than the key, left the old certificate in use. So did the
    right to read the key."""
    files = {}
    for setting in fields(section):
        if "Path" in str(setting.type) or "Secret" in str(setting.type):
            files[setting.name] = tmp_path / setting.name
    settings = {name: SecretFile(str(file)) if "pass" in name else file for name, file in files.items()}
    sources = Sources("tls", section(**settings))
    seen = [sources.states()]
    for file in files.values():
        for change in (file.touch, partial(file.chmod, 0o400)):
            change()
            seen.append(sources.states())
    assert len({*seen}) == 1 + 2 * len(files)


async def test_files_that_are_being_replaced_are_waited_for(certificates, files):
    """A certificate is there before its key: for a moment they do not fit together."""
    credentials = certificates_of(files.listener()).listeners["default"]
    second = certificates.issue("second")
    shutil.copy(second.certificate, files.certificate)
    assert await credentials.use_changed() is False
    shutil.copy(second.key, files.key)
    assert await credentials.use_changed() is False

    assert await credentials.use_changed() is True
    assert [end.subject for end in credentials.ends] == ["CN=second"]


class Slow:
    """A context that a thread makes of old files, while a reload makes one of new files."""

    def __init__(self, monkeypatch, then=None):
        self.has_begun, self.may_end = threading.Event(), threading.Event()
        self._then = then
        monkeypatch.setattr(contexts, "server_context", self._make)

    def _make(self, tls):
        if threading.current_thread() is not threading.main_thread():
            self.has_begun.set()
            assert self.may_end.wait(UNUSABLE_GRACE_S)
            then, self._then = self._then, None
            if then is not None:
                raise then
        return server_context(tls)


@pytest.mark.parametrize("old_are", ["usable", "unusable"])
async def test_files_that_are_read_while_a_reload_names_others_are_not_used(
    certificates, files, tmp_path, monkeypatch, old_are
):
    """A configuration that required client certificates was reloaded, and the context without them came back
    when the thread was ready: certificates and configuration are often replaced together."""
    error = ConfigError(Problem("", "tls", "unusable")) if old_are == "unusable" else None
    slow = Slow(monkeypatch, error)
    watch = certificates_of(files.listener())
    credentials = watch.listeners["default"]
    files.put(certificates.issue("second"))
    assert await credentials.use_changed() is False
    with structlog.testing.capture_logs() as logs:
        using = asyncio.create_task(use_changed_files(credentials, Clock()))
        await until(slow.has_begun.is_set)
        watch.prepare(config_of([f"{HOST}:9092"], files.listener(mutual=True)))()
        slow.may_end.set()
        await using

    assert credentials.current().verify_mode is ssl.CERT_REQUIRED
    assert (logs, credentials.problem) == ([], None)
    assert await credentials.use_changed() is False
    files.put(certificates.issue("third"))
    assert await credentials.use_changed() is False
    assert await credentials.use_changed() is True
    assert credentials.current().verify_mode is ssl.CERT_REQUIRED


async def test_a_secret_that_is_mounted_by_links_is_seen_to_change(certificates, tmp_path):
    """As an orchestrator replaces mounted secrets: a link to a folder is swapped, no file is written."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        identity = certificates.issue(name)
        shutil.copy(identity.certificate, tmp_path / name / "tls.crt")
        shutil.copy(identity.key, tmp_path / name / "tls.key")
    data = tmp_path / "data"
    data.symlink_to("one")
    listener = f"{{ bind: '127.0.0.1:0', tls: {{ certificate: '{data}/tls.crt', key: '{data}/tls.key' }} }}"
    watched = certificates_of(listener)
    tls = watched.listeners["default"].current
    async with beside(watched.watch()):
        before = tls()
        data.unlink()
        data.symlink_to("two")

        await until(lambda: tls() is not before)


def ends(world):
    return world.metric('tsproxy_certificate_expiry_seconds{setting="listeners.default.tls.certificate"}')


def logged_by(certificates, files, **validity):
    """The log lines about the end of a certificate, and its metric."""
    files.put(certificates.issue("ending", **validity))
    world = World()
    with structlog.testing.capture_logs() as logs:
        watched = certificates_of(files.listener(), world)
        watched.log_ends()
        watched.log_ends()  # not twice a day
    return logs, ends(world)


HOUR = timedelta(hours=1)
ENDS = {
    "it lasts": (-DAY, 99 * DAY, []),
    "less than thirty days are left": (-365 * DAY, 29 * DAY, [("certificate_ends_soon", "warning")]),
    "it has ended": (-2 * DAY, -DAY, [("certificate_expired", "error")]),
}
"""When a certificate began, how long it still lasts, and the event and level of what is logged."""


@pytest.mark.parametrize(("starts", "left", "told"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_certificate_is_counted_down_and_logged_in_time(certificates, files, starts, left, told):
    logs, left_s = logged_by(certificates, files, starts=starts, lasts=left - starts)

    assert [(line["event"], line["log_level"]) for line in logs] == told
    assert all(line["subject"] == "CN=ending" for line in logs)
    assert all(abs(line["hours_left"] - left // HOUR) <= 1 for line in logs if "hours_left" in line)
    assert left_s == pytest.approx(left.total_seconds(), abs=60)


def test_the_end_of_a_certificate_is_logged_at_once_although_its_nearness_was_an_hour_before(
    certificates, files
):
    clock = MovedClock()
    files.put(certificates.issue("ending", starts=-2 * DAY, lasts=2 * DAY + timedelta(hours=1)))
    with structlog.testing.capture_logs() as logs:
        watched = certificates_of(files.listener(), clock=clock)
        watched.log_ends()
        clock.by_ms = 3_700_000
        watched.log_ends()
        watched.log_ends()
    assert [line["event"] for line in logs] == ["certificate_ends_soon", "certificate_expired"]


def test_a_clock_that_was_ahead_does_not_silence_the_end_of_a_certificate(certificates, files):
    clock = MovedClock()
    files.put(certificates.issue("ending", starts=-2 * DAY, lasts=2 * DAY + timedelta(hours=1)))
    with structlog.testing.capture_logs() as logs:
        watched = certificates_of(files.listener(), clock=clock)
        for clock.by_ms in (10**10, 0, 0, 3_700_000, 3_700_000):
            watched.log_ends()
    over, soon = "certificate_expired", "certificate_ends_soon"
    assert [line["event"] for line in logs if line["subject"] == "CN=ending"] == [over, soon, over]


def test_a_file_that_a_reload_takes_away_is_no_longer_counted(files):
    """The series stayed at its last value, and so did an alert on it."""
    world = World()
    watched = certificates_of(files.listener(mutual=True), world)
    watched.log_ends()
    series = 'tsproxy_certificate_expiry_seconds{setting="listeners.default.tls.client_ca"}'
    assert series in rendered(world.metrics)
    watched.prepare(config_of([f"{HOST}:9092"], files.listener()))()
    watched.log_ends()

    assert series not in rendered(world.metrics)
    assert ends(world) > 0


@pytest.mark.parametrize("by", ["a reload", "its file"])
async def test_the_end_of_a_new_certificate_is_told_although_that_of_the_old_one_was(certificates, files, by):
    """Nothing was said of a certificate for a day if a reload of the configuration brought it."""
    files.put(certificates.issue("old", starts=-365 * DAY, lasts=375 * DAY))
    config = config_of([f"{HOST}:9092"], files.listener())
    watched = certificates_of(config)
    with structlog.testing.capture_logs() as logs:
        watched.log_ends()
        files.put(certificates.issue("new", starts=-365 * DAY, lasts=364 * DAY))
        if by == "a reload":
            watched.prepare(config)()
        else:
            await use_changed_files(watched.listeners["default"], Clock())
            await use_changed_files(watched.listeners["default"], Clock())
        watched.log_ends()
    told = [(line["event"], line["subject"]) for line in logs if "subject" in line]
    assert told == [("certificate_ends_soon", "CN=old"), ("certificate_expired", "CN=new")]


async def test_files_that_stay_unusable_become_an_error_and_a_metric(files):
    world, clock = World(), Clock()
    watch = certificates_of(files.listener(), world)
    credentials = watch.listeners["default"]
    watch.log_ends()
    assert rendered(world.metrics)[RELOADED] == 1
    now_s = clock.monotonic_ms() / 1000
    with structlog.testing.capture_logs() as logs:
        credentials.problem = Unusable(["not a certificate"], now_s)
        await use_changed_files(credentials, clock)  # the second file may still come
        assert logs == []
        credentials.problem = Unusable(["not a certificate"], now_s - UNUSABLE_GRACE_S)
        await use_changed_files(credentials, clock)
        await use_changed_files(credentials, clock)
    watch.log_ends()
    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("certificates_still_not_reloaded", "error")
    ]
    assert rendered(world.metrics)[RELOADED] == 0
