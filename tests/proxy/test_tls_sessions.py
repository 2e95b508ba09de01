"""OpenSSL stores no sessions of TLS 1.2, and what is not possible with a Python is told."""

import json
import ssl
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from tests.attacks.kept import proxy_in_this_process
from tests.config.files import config_of
from tests.in_process import run_command
from tests.proxy.test_tls_connection import Pair
from tests.proxy.world import World, until
from tsproxy.clock import Clock
from tsproxy.config.settings import ClientAuth, TlsVersion, UpstreamTls
from tsproxy.doctor.configuration import examine
from tsproxy.doctor.findings import Grade
from tsproxy.proxy.reload.certificates import Certificates
from tsproxy.tls import contexts, sessions
from tsproxy.tls.contexts import server_context, upstream_context
from tsproxy.tls.sessions import READ_LAYOUTS, why_not

SOURCE = Path(sessions.__file__).read_text()
GAUGE = "tsproxy_tls_sessions_stored"
CALL = "pointer, _SET_SESS_CACHE_MODE"


def program(tmp_path, old, new):
    """The trial with another line in it."""
    assert SOURCE.count(old) == 1
    file = tmp_path / "changed.py"
    file.write_text(SOURCE.replace(old, new))
    return str(file)


def config(certificates, min_version="1.2", admin=False):
    made = certificates.issue("tls-sessions")
    files = f"certificate: '{made.certificate}', key: '{made.key}', client_ca: '{certificates.certificate}'"
    tls = f"tls: {{ {files}, min_version: '{min_version}' }}"
    return config_of(
        "upstream: { bootstrap_servers: ['127.0.0.1:9'] }\n"
        f"listeners: [{{ bind: '127.0.0.1:9192'{'' if admin else ', ' + tls} }}]\n"
        f"admin: {{ bind: '127.0.0.1:0'{', ' + tls if admin else ''} }}\n"
    )


def client(certificates, version=TlsVersion.V1_2):
    """A client with a certificate that takes no tickets."""
    made = certificates.issue("tls-sessions")
    context = upstream_context(
        UpstreamTls(certificates.certificate, certificate=made.certificate, key=made.key)
    )
    context.check_hostname = False
    context.options |= ssl.OP_NO_TICKET
    if version is TlsVersion.V1_2:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def left_behind(listener, client, connections=3):
    """How many sessions are in the listener's memory when these connections are closed."""
    for _ in range(connections):
        pair = Pair((listener, client))
        for end in (pair.client, pair.connection) * 2:
            try:
                end.unwrap()
            except ssl.SSLWantReadError:
                pair.incoming.write(pair.sent.read())
        assert pair.connection.getpeercert()
    assert listener.session_stats()["accept_good"] == connections
    return listener.session_stats()["number"]


@pytest.fixture
def hides(monkeypatch):
    """As if this Python did not let a program turn it off."""
    for module in (contexts, sys.modules[Certificates.__module__]):
        monkeypatch.setattr(module, "why_not", lambda: "planted")


def test_this_python_lets_the_proxy_turn_it_off():
    assert why_not() is None


def test_the_trial_is_what_finds_it_on_a_python_that_nobody_has_read(monkeypatch):
    monkeypatch.setattr(sessions, "READ_LAYOUTS", ())
    assert why_not() is None


def test_this_python_was_read():
    """The newest one stands in the list before the proxy is tested with it."""
    assert sys.version_info[:2] in READ_LAYOUTS


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (CALL, "ctypes.c_void_p(1), _SET_SESS_CACHE_MODE", "killed by signal 11"),
        (CALL, "None, _SET_SESS_CACHE_MODE", "left its session behind"),
        (CALL, "pointer, 45", "left its session behind"),
        (".SSL_CTX_ctrl", ".hidden", "left its session behind"),
    ],
)
def test_a_wrong_pointer_or_a_hidden_openssl_ends_the_process_that_tries_it(tmp_path, old, new, reason):
    """45 only asks for the mode."""
    assert reason in why_not(program(tmp_path, old, new))


@pytest.mark.parametrize("cause", ["no program", "no cipher suite", "takes for ever"])
def test_where_nothing_can_try_it_a_python_that_was_read_is_believed(tmp_path, monkeypatch, cause):
    file = sessions.__file__
    match cause:
        case "no program":
            monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
        case "no cipher suite":
            file = program(tmp_path, '"AECDH-AES256-SHA:', '"NONE:')
        case "takes for ever":
            monkeypatch.setattr(sessions, "_TRIAL_S", 0.01)
            file = program(tmp_path, "    print(_trial())", "    input() if sys.stdin.isatty() else _wait()")
            Path(file).write_text(f"import time\n_wait = lambda: time.sleep(60)\n{Path(file).read_text()}")
    assert why_not(file) is None
    monkeypatch.setattr(sessions, "READ_LAYOUTS", ())
    assert why_not(file).startswith("no process could try it: ")


def test_no_secret_of_the_environment_reaches_the_process_that_may_crash(tmp_path, monkeypatch):
    monkeypatch.setenv("PASSWORD", "planted")
    monkeypatch.setenv("OPENSSL_CONF", "/dev/null")
    monkeypatch.setattr(sessions, "READ_LAYOUTS", ())
    file = program(tmp_path, "    print(_trial())", "    sys.exit(' '.join(sorted(os.environ)))")
    assert "OPENSSL_CONF" in why_not(file)
    assert "PASSWORD" not in why_not(file)


@pytest.mark.parametrize("version", TlsVersion)
@pytest.mark.parametrize("admin", [False, True], ids=["listener", "admin port"])
async def test_a_client_that_has_closed_leaves_no_session_with_its_certificates_behind(
    certificates, version, admin
):
    """20,480 sessions of TLS 1.2, each with up to 100 KiB of certificates, took 3.5 GiB for each listener."""
    world, used = World(), config(certificates, admin=admin)
    watched = Certificates(used, world.metrics.registry, Clock())
    own = watched.admin if admin else watched.listeners["default"]
    if version is TlsVersion.V1_2:
        assert left_behind(own.current(), client(certificates, version)) == 3, "before the trial"
        watched.prepare(used)()

    await watched.keep_no_sessions()

    assert left_behind(own.current(), client(certificates, version)) == 0
    before = own.current()
    watched.prepare(used)()
    assert own.current() is not before
    assert left_behind(own.current(), client(certificates, version)) == 0, "after a reload"
    watched.log_ends()
    assert world.metric(GAUGE) == 0


@pytest.mark.parametrize("takes_tickets", [True, False], ids=["tickets", "no tickets"])
@pytest.mark.parametrize("version", TlsVersion)
@pytest.mark.parametrize("auth", ClientAuth)
def test_a_client_that_shows_a_certificate_resumes_no_session(certificates, auth, version, takes_tickets):
    """OpenSSL checks no date of a resumed one: a certificate that had expired got in without end."""
    listener = server_context(replace(config(certificates).listeners[0].tls, client_auth=auth))
    its = client(certificates, version)
    if takes_tickets:
        its.options &= ~ssl.OP_NO_TICKET
    first = Pair((listener, its)).client
    with pytest.raises(ssl.SSLWantReadError):
        first.read()  # the tickets of TLS 1.3 come behind the handshake
    sessions.keep_no_sessions(listener)  # at the start, the first clients come before it

    again = Pair((listener, its), first.session)
    has_ticket = takes_tickets or version is TlsVersion.V1_3  # where nobody can do without
    assert again.connection.session_reused is (auth is ClientAuth.NONE and has_ticket)
    assert bool(again.connection.getpeercert(binary_form=True)) is (auth is not ClientAuth.NONE)


@pytest.mark.parametrize(("min_version", "is_told"), [("1.2", True), ("1.3", False)])
async def test_a_python_that_does_not_let_it_is_told_until_tls_1_2_is_no_longer_spoken(
    certificates, hides, min_version, is_told
):
    world = World()
    watched = Certificates(config(certificates, min_version), world.metrics.registry, Clock())
    with structlog.testing.capture_logs() as logs:
        await watched.keep_no_sessions()
    assert [line["error"] for line in logs if line["event"] == "tls_sessions_stored"] == ["planted"] * is_told
    watched.log_ends()
    assert world.metric(GAUGE) == is_told
    watched.prepare(config(certificates, "1.3"))()
    watched.log_ends()
    assert world.metric(GAUGE) == 0


async def test_without_tls_toward_clients_no_process_is_started(monkeypatch):
    monkeypatch.setattr(sys.modules[Certificates.__module__], "why_not", lambda: pytest.fail("started"))
    used = config_of(
        "upstream: { bootstrap_servers: ['k:9092'], tls: {} }\nlisteners: [{ bind: 'h:9192' }]\n"
    )
    await Certificates(used, World().metrics.registry, Clock()).keep_no_sessions()


@pytest.mark.parametrize(("min_version", "status"), [("1.2", 2), ("1.3", 0)])
def test_check_has_a_problem_with_it_and_doctor_a_warning(certificates, hides, min_version, status, tmp_path):
    used = config(certificates, min_version)
    tls = used.listeners[0].tls
    file = tmp_path / "tsproxy.yaml"
    file.write_text(
        "upstream: { bootstrap_servers: ['127.0.0.1:9'] }\n"
        "listeners:\n  - bind: '127.0.0.1:9192'\n"
        f"    tls: {{ certificate: '{tls.certificate}', key: '{tls.key}', min_version: '{min_version}' }}\n"
    )
    ended = run_command("tsproxy", "check", "--json", file)
    problems = json.loads(ended.stdout)["problems"]

    assert ended.returncode == status
    assert [each["key"] for each in problems] == [f"{file}:4: listeners[0].tls.min_version"] * bool(status)
    assert all('(planted): say min_version: "1.3"' in each["text"] for each in problems)
    warnings = [each for each in examine(used, 0) if "OpenSSL keeps sessions" in each.text]
    assert [each.grade for each in warnings] == [Grade.WARNING] * bool(status)


async def test_a_running_proxy_turns_it_off(kafka_440, certificates, tmp_path):
    tls = config(certificates).listeners[0].tls
    files = f"certificate: '{tls.certificate}', key: '{tls.key}', client_ca: '{tls.client_ca}'"
    text = (
        f"upstream: {{ bootstrap_servers: ['{kafka_440.bootstrap_servers}'] }}\n"
        f"listeners: [{{ bind: '127.0.0.1:0', tls: {{ {files} }} }}]\n"
        f"decisions: {{ directory: '{tmp_path}/log' }}\n"
    )
    async with proxy_in_this_process(text) as proxy:
        listener = proxy._certificates.listeners["default"]
        await until(lambda: listener._keeps_no_sessions)
        assert left_behind(listener.current(), client(certificates)) == 0
