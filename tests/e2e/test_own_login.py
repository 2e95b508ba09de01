"""The proxy's own connection logs in with a token, where brokers check tokens as in production.

Kafka's own validator reads the issuer's keys from a file (KIP-768). Sessions end after a few seconds and
must be made anew (KIP-368). A client with SCRAM shows that the proxy knows the topic's limits.
"""

import asyncio
import base64
import contextlib
import os
import re
import signal
import socket
import ssl
import threading
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError
from cryptography import x509

from tests.e2e.issuer import Issuer, cluster_for_tokens
from tests.kit.admin import set_password
from tests.kit.clocks import BEGIN_MS, HandClock
from tests.kit.tasks import beside
from tests.proxy.running import EVERY_SECOND, page, series
from tests.proxy.test_cluster import learning, sasl_of, upstream_of
from tests.proxy.test_revocation import authority
from tests.proxy.world import until
from tsproxy.cluster import tokens
from tsproxy.cluster.client_options import security_options
from tsproxy.cluster.tokens import Token, TokenError, TokenProvider, token_provider
from tsproxy.config.settings import ClientCredentials, MskIam, Sasl, SaslMechanism, Secret, TokenFile
from tsproxy.proxy.brokers import discovery
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.proxy import ProxyError, RunningProxy

NEEDED = (x509.BasicConstraints, x509.SubjectAlternativeName)
"""The extensions of an old authority's certificates."""
SECRET = "planted secret: of/the+proxy"
SESSION_MS = 3_000
TROUBLES = {"upstream_unreachable", "own_login_failed"}
CHUNKED = b"HTTP/1.1 %s\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n{"
"""An answer whose body ends too early."""
OK, NO = b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 400 planted\r\n\r\n"
ELSEWHERE = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/elsewhere\r\n\r\n"


@pytest.fixture(scope="module")
def issuer():
    with Issuer({"tsproxy": SECRET}, expires_in_s=SESSION_MS // 1000) as it:
        yield it


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kafka(issuer, tmp_path_factory):
    async with cluster_for_tokens(issuer, tmp_path_factory.mktemp("issuer"), SESSION_MS) as it:
        yield it


def settings_of(**keys):
    return {f"upstream.admin.sasl.{name}": value for name, value in keys.items()}


BY_ENDPOINT = {
    "mechanism": "OAUTHBEARER",
    "client_id": "tsproxy",
    "client_secret": "${CLIENT_SECRET}",
    "scope": "kafka",
}


def proxy_of(kafka, settings, secret=SECRET):
    return RunningProxy(
        kafka.bootstrap_servers,
        settings={**settings, "upstream.admin.refresh": "1s"},
        environment={"CLIENT_SECRET": secret},
    )


async def is_stored(kafka, proxy, topic="orders", **record):
    """Whether one record of alice's client is accepted. If not, its timestamp is the reason."""
    options = kafka.client_options("alice", mechanism="SCRAM-SHA-512").aiokafka()
    async with AIOKafkaProducer(**options | {"bootstrap_servers": proxy.bootstrap_servers}) as producer:
        try:
            await producer.send_and_wait(topic, b"value", **record)
        except InvalidTimestampError:
            return False
    return True


@pytest.mark.broker
async def test_tokens_of_an_issuer_are_asked_for_again_when_a_session_has_ended(kafka, issuer):
    settings = settings_of(token_endpoint=f"{issuer.url}/token", **BY_ENDPOINT)
    before = len(issuer.asked)
    async with proxy_of(kafka, settings) as proxy:
        begun = len(proxy.log)  # a start that takes longer than 2 s has a line that says so
        await until(lambda: len(issuer.asked) - before >= 3)
        assert await is_stored(kafka, proxy)
        assert not await is_stored(kafka, proxy, timestamp_ms=1)

    assert {client_id for client_id, _ in issuer.asked} == {"tsproxy"}
    assert issuer.asked[-1][1] == {"grant_type": ["client_credentials"], "scope": ["kafka"]}
    assert [line for line in proxy.log[begun:] if line["event"] in TROUBLES] == []
    assert SECRET not in str(proxy.log)


@pytest.mark.broker
async def test_limits_that_the_proxy_cannot_read_again_reject_nothing(kafka, issuer):
    """The broker rejects by them, and clients reach it."""
    settings, old = settings_of(token_endpoint=f"{issuer.url}/token", **BY_ENDPOINT), {"timestamp_ms": 1}
    await kafka.create_topic("backfill", config={"message.timestamp.before.max.ms": "60000"})
    with issuer.rejecting("tsproxy") as reject:
        async with proxy_of(kafka, settings) as proxy:

            def verdicts():
                return [line["verdict"] for line in proxy.decisions() if line["event"] == "decision"]

            async def rejects_by_them():
                """On a slow machine the answer may come too late for the first one: its broker judges it."""
                assert not await is_stored(kafka, proxy, "backfill", **old)
                return "rejected" in verdicts()

            await until(rejects_by_them, "the proxy rejects by the topic's limits")
            reject()
            await until(lambda: "own_login_failed" in [line["event"] for line in proxy.log])

            async def brokers_reject():
                """Limits that were read just before hold for a second."""
                assert not await is_stored(kafka, proxy, "backfill", **old)
                return "broker_rejected" in verdicts()[verdicts().index("rejected") :]

            await until(brokers_reject, "the brokers judge")
            await kafka.alter_topic("backfill", {"message.timestamp.before.max.ms": None})
            assert await is_stored(kafka, proxy, "backfill", **old)
    # The last batch may have a line, too: the candidate finds it old once the limits are not known any more.
    later = verdicts()
    assert "rejected" not in later[later.index("broker_rejected", later.index("rejected")) :]


@pytest.mark.parametrize(
    ("more", "called", "arguments"),
    [
        ({"profile": "streams"}, "profile", ("eu-west-1", "streams")),
        ({"role_arn": "arn:aws:iam::1:role/r"}, "role_arn", ("eu-west-1", "arn:aws:iam::1:role/r")),
    ],
)
async def test_awss_signer_is_asked_for_the_profile_or_the_role(monkeypatch, more, called, arguments):
    """A role needs a service of AWS, so the signer only says what it was asked."""
    signer = pytest.importorskip("aws_msk_iam_sasl_signer.MSKAuthTokenProvider")
    asked = []

    def generate(*arguments):
        asked.append(arguments)
        return "dG9rZW4", 2_000_000_000_000

    monkeypatch.setattr(signer, f"generate_auth_token_from_{called}", generate)
    assert await token_provider(MskIam("eu-west-1", **more)).token()
    assert asked == [arguments]


@pytest.mark.broker
async def test_a_login_that_brokers_want_and_nobody_configured_is_told_with_its_key(kafka):
    with structlog.testing.capture_logs() as logs:
        async with learning(upstream_of(kafka)) as learned:
            await until(lambda: logs)
    assert (logs[0]["event"], learned.logged) == ("own_login_failed", [])
    assert "set upstream.admin.sasl" in logs[0]["error"]


@pytest.mark.broker
async def test_a_password_that_was_changed_is_found_while_the_old_connection_stays(kafka, monkeypatch):
    """Each hour another connection logs in; here it does so more often. The open one answers all the time."""
    monkeypatch.setattr(discovery, "LOGIN_EVERY_S", 0.1)
    monkeypatch.setattr(discovery, "LOGIN_RETRY_S", 0.1)
    alice = sasl_of("alice", "of-alice", SaslMechanism.SCRAM_SHA_512)
    async with learning(upstream_of(kafka, sasl=alice, refresh_ms=50)) as learned:
        cluster = learned.cluster
        await until(lambda: cluster._conversing_with)
        async with beside(cluster.log_in_anew()):
            await set_password(kafka, "alice", "changed")
            try:
                await until(lambda: not cluster.is_logged_in)
                for _ in range(20):  # refreshes of the old connection do not say that all is well
                    assert not cluster.is_logged_in
                    await asyncio.sleep(0.01)
                assert cluster.not_ready() == []
                assert any("although brokers answer clients" in each for each in cluster.warnings())
                assert cluster._conversing_with
            finally:
                await set_password(kafka, "alice", "of-alice")
            await until(lambda: cluster.is_logged_in)


@pytest.mark.broker
async def test_a_password_is_rotated_by_its_file_and_back_as_the_page_says(kafka, tmp_path):
    file = tmp_path / "password"
    file.write_text("of-alice\n")
    login = {"mechanism": "SCRAM-SHA-512", "username": "alice", "password_file": str(file)}
    async with proxy_of(kafka, settings_of(**login)) as proxy:
        try:
            for password in ("planted-new", "of-alice"):
                told = len(proxy.log)
                await set_password(kafka, "alice", password)
                os.kill(proxy.pid, signal.SIGHUP)
                await until(lambda at=told: "own_login_failed" in [line["event"] for line in proxy.log[at:]])
                assert (await page(proxy.admin_address, "/readyz"))[0] == 200
                file.write_text(f"{password}\n")
                os.kill(proxy.pid, signal.SIGHUP)
                await until(lambda at=told: "own_login_works" in [line["event"] for line in proxy.log[at:]])
                assert (await series(proxy))["tsproxy_own_login_up"] == 1
        finally:
            await set_password(kafka, "alice", "of-alice")
        shown = (await page(proxy.admin_address, "/config"))[1]
    assert f"password_file: {file}" in shown
    assert "of-alice" not in f"{shown}{proxy.log}"
    assert "planted-new" not in f"{shown}{proxy.log}"


@pytest.mark.broker
async def test_the_topic_of_the_decision_log_gets_lines_after_a_rotation_and_a_restart_of_its_broker(
    kafka, tmp_path
):
    """The open connection has the old password, and nobody reloads the proxy before it ends."""
    file = tmp_path / "password"
    file.write_text("of-alice")
    login = {"mechanism": "SCRAM-SHA-512", "username": "alice", "password_file": str(file)}
    await kafka.create_topic("log-of-decisions")
    async with proxy_of(
        kafka, settings_of(**login) | {"decisions.topic.name": "log-of-decisions"} | EVERY_SECOND
    ) as proxy:

        async def sent_after(lines):
            with contextlib.suppress(OSError):
                return (await series(proxy))["tsproxy_decision_topic_sent_total"] > lines

        try:
            await until(lambda: sent_after(0))
            await set_password(kafka, "alice", "planted-new")
            file.write_text("planted-new")
            await kafka.stop_node(1)
            await kafka.start_node(1)
            before = (await series(proxy))["tsproxy_decision_topic_sent_total"]
            os.kill(proxy.pid, signal.SIGHUP)  # a line of the log
            await until(lambda: sent_after(before))
        finally:
            await set_password(kafka, "alice", "of-alice")


@pytest.mark.broker
async def test_a_token_is_read_from_its_file_at_each_login(kafka, issuer, tmp_path):
    file = tmp_path / "token"
    file.write_text(issuer.token("somebody-else") + "\n")  # the broker accepts it, and lets it read nothing
    settings = settings_of(mechanism="OAUTHBEARER", token_file=str(file))
    with pytest.raises(ProxyError, match="authenticates by OAUTHBEARER read the limits of topics"):
        async with proxy_of(kafka, settings):
            pass

    file.write_text(issuer.token("tsproxy") + "\n")
    async with proxy_of(kafka, settings) as proxy:
        assert not await is_stored(kafka, proxy, timestamp_ms=1)
        file.write_text("not.a.token")
        told = "although brokers answer clients: .*the broker does not accept the token"
        await until_matches(proxy, "/readyz?verbose", told)
        assert await page(proxy.admin_address, "/readyz") == (200, "ready\n")
        found = await series(proxy)
        assert (found["tsproxy_upstream_up"], found["tsproxy_own_login_up"]) == (1, 0)
        assert await is_stored(kafka, proxy)
        told = len(proxy.log)
        file.write_text(issuer.token("tsproxy") + "\n")
        await until(lambda: "own_login_works" in [line["event"] for line in proxy.log[told:]])


async def test_an_issuer_that_rejects_is_told_without_a_secret(issuer):
    asked = ClientCredentials(f"{issuer.url}/token", "tsproxy", Secret("wrong-secret"))
    with pytest.raises(TokenError, match=r"token answered 401: invalid_client$"):
        await token_provider(asked).token()


@pytest.mark.parametrize(
    ("sent", "told"),
    {
        "no JSON": (OK + b"<html>", "without an access_token"),
        "no object": (OK + b"[]", "without an access_token"),
        "no token": (OK + b"{}", "without an access_token"),
        "no text": (OK + b'{"access_token": 7}', "holds no token: one word of printable ASCII is needed"),
        "a token that would end the message": (
            OK + b'{"access_token": "planted\\u0001b"}',
            "holds no token: one word of printable ASCII is needed",
        ),
        "a redirect": (ELSEWHERE, "answered 302: Found"),
        "no content": (OK, "without an access_token"),
        "another protocol": (b"SSH-2.0-planted\r\n", "is not HTTP, or not whole: BadStatusLine"),
        "cut short": (CHUNKED % b"200 OK", "is not HTTP, or not whole: IncompleteRead"),
        "an endless line": (b"HTTP/1.1 200 " + b"planted" * 10_000, "not whole: LineTooLong"),
        "no, cut short": (CHUNKED % b"400 planted", "answered 400: Bad Request"),
        "no, with a long reason": (b"HTTP/1.1 499 " + b"planted" * 999 + b"\r\n\r\n", "unknown status"),
        "no, with a long word": (NO + b'{"error": "%s"}' % (b"planted" * 8), "answered 400: Bad Request"),
        "no, with a line": (NO + b'{"error": "planted\\nline"}', "answered 400: Bad Request"),
        "no, nested": (NO + b"[" * 200_000, "answered 400: Bad Request"),
        "nothing": (b"", "closed connection without response"),
    }.values(),
)
async def test_what_is_no_answer_or_no_token_is_told_as_that_and_not_shown(sent, told):
    """It was called a mistake in tsproxy, and `doctor` ended with a traceback."""
    async with saying(sent) as url:
        source = ClientCredentials(url, "tsproxy", Secret("planted-secret"))
        with pytest.raises(TokenError, match=f"{told}$") as error:
            await token_provider(source).token()
    assert "planted" not in str(error.value)


async def test_an_issuer_that_is_silent_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(tokens, "ANSWER_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        source = ClientCredentials(f"http://127.0.0.1:{silent.getsockname()[1]}", "tsproxy", Secret("s"))
        with pytest.raises(TokenError, match="cannot be asked for a token: timed out"):
            await token_provider(source).token()


async def test_of_an_endless_answer_only_the_beginning_is_read(monkeypatch):
    monkeypatch.setattr(tokens, "MAX_BYTES", 50)
    async with saying(OK + b'{"access_token": "token"' + b" " * 50 + b"}") as url:
        with pytest.raises(TokenError, match="without an access_token"):
            await token_provider(ClientCredentials(url, "tsproxy", Secret("s"))).token()


@pytest.mark.parametrize("trusts", [True, False])
async def test_the_secret_goes_only_to_an_issuer_whose_certificate_is_trusted(tmp_path, trusts):
    """Its authority is enough, though another one has signed that, as for brokers."""
    issuing = authority(tmp_path / "issuing", "issuing", authority(tmp_path / "root", "root"))
    identity = issuing.issue("issuer-of-tokens")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(identity.certificate, identity.key)
    asked, ca = [], issuing.certificate if trusts else None
    async with saying(OK + b'{"access_token": "token"}', tls=tls, asked=asked) as url:
        fetching = token_provider(ClientCredentials(url, "tsproxy", Secret("s"), ca=ca)).token()
        if trusts:
            assert await fetching == "token"
        else:
            with pytest.raises(TokenError, match="certificate verify failed"):
                await fetching
    assert bool(asked) is trusts


@pytest.mark.parametrize("names", [("localhost", "127.0.0.1"), ("another.test",)], ids=["named", "another"])
async def test_an_issuers_authority_needs_no_key_identifiers_on_any_python(tmp_path, monkeypatch, names):
    """As for the brokers' authority. Python's default context is strict from 3.13 on; here it is on each."""
    made = ssl.create_default_context

    def strict(**options):
        context = made(**options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)
    monkeypatch.setattr(
        x509.CertificateBuilder,
        "add_extension",
        lambda self, extension, critical, add=x509.CertificateBuilder.add_extension: (
            add(self, extension, critical) if isinstance(extension, NEEDED) else self
        ),
    )
    authority = CertificateAuthority(tmp_path, "of old times")
    plain = authority.issue("issuer-of-tokens", names)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(plain.certificate, plain.key)
    async with saying(OK + b'{"access_token": "token"}', tls=tls) as url:
        source = ClientCredentials(url, "tsproxy", Secret("s"), ca=authority.certificate)
        with pytest.raises(ssl.SSLCertVerificationError, match="Missing"):
            await asyncio.open_connection("127.0.0.1", urlsplit(url).port, ssl=strict(cafile=source.ca))
        if "localhost" in names:
            assert await token_provider(source).token() == "token"
        else:
            with pytest.raises(TokenError, match="certificate is not valid for"):
                await token_provider(source).token()


async def test_a_request_that_is_not_encrypted_goes_by_no_proxy_of_the_environment(monkeypatch):
    """Such a proxy could read the secret."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    asked = []
    async with saying(OK + b'{"access_token": "token"}', asked=asked) as url:
        assert await token_provider(ClientCredentials(url, "tsproxy", Secret("s"))).token() == "token"
    assert asked[0].startswith(b"POST /token HTTP/1.1\r\n")
    assert asked[0].endswith(b"\r\n\r\ngrant_type=client_credentials")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "holds no token: one word"),
        (b"planted token", "holds no token: one word"),
        (b"planted\xff", "holds no token$"),
    ],
)
async def test_a_file_without_a_token_is_named_and_not_shown(tmp_path, content, told):
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(TokenError, match=f"the token file {file} {told}") as error:
        await token_provider(TokenFile(file)).token()
    assert "planted" not in str(error.value)
    file.write_bytes(b" token\n")
    assert await token_provider(TokenFile(file)).token() == "token"
    file.write_bytes(b"another")
    assert await token_provider(TokenFile(file)).token() == "another"


@pytest.mark.parametrize(
    ("lasts", "asked_at"), [("", [0, 79_999, 80_000]), (', "expires_in": 100', [0, 80_000])]
)
async def test_an_issuer_says_how_long_its_token_lasts_or_is_asked_at_each_login(
    monkeypatch, lasts, asked_at
):
    monkeypatch.setattr(tokens, "Clock", HandClock)
    asked = []
    async with saying(OK + b'{"access_token": "token"%s}' % lasts.encode(), asked=asked) as url:
        provider = token_provider(ClientCredentials(url, "tsproxy", Secret("s")))
        for provider._clock.ms in (BEGIN_MS, BEGIN_MS + 79_999, BEGIN_MS + 80_000):
            await provider.token()
    assert len(asked) == len(asked_at)


async def test_a_token_of_awss_signer_is_kept_until_shortly_before_its_end(monkeypatch):
    """Its end is a time of day: taken for a lifetime, it was 50 years."""
    signer = pytest.importorskip("aws_msk_iam_sasl_signer.MSKAuthTokenProvider")
    asked = []
    monkeypatch.setattr(
        signer,
        "generate_auth_token",
        lambda region: asked.append(region) or ("token", BEGIN_MS + 100_000),
    )
    monkeypatch.setattr(tokens, "Clock", HandClock)
    provider = token_provider(MskIam("eu-kept-1"))
    for provider._clock.ms in (BEGIN_MS, BEGIN_MS + 79_999, BEGIN_MS + 80_000):
        await provider.token()
    assert asked == ["eu-kept-1"] * 2


async def test_an_error_of_awss_signer_is_told_by_its_kind(monkeypatch):
    signer = pytest.importorskip("aws_msk_iam_sasl_signer.MSKAuthTokenProvider")

    def generate(region):
        raise RuntimeError("planted: what it read of a file of credentials")

    monkeypatch.setattr(signer, "generate_auth_token", generate)
    with pytest.raises(TokenError, match=r"^AWS gives no credentials for MSK: RuntimeError$"):
        await token_provider(MskIam("eu-fails-1")).token()


async def test_an_error_that_nobody_expected_ends_no_login_for_ever():
    outcomes = [ValueError, LookupError, None]

    def fetch():
        if (error := outcomes.pop(0)) is not None:
            raise error
        return Token("token")

    provider = TokenProvider(fetch, HandClock())
    for error in (ValueError, LookupError):
        with pytest.raises(error):
            await asyncio.wait_for(provider.token(), 60)
    assert await provider.token() == "token"


async def test_brokers_that_accept_no_token_do_not_make_the_proxy_ask_for_one_at_each_answer():
    fetched, clock = [], HandClock()

    def fetch():
        fetched.append("token")
        return Token(f"token-{len(fetched)}", 3_600_000)

    provider = TokenProvider(fetch, clock)
    for _ in range(5):
        assert await provider.token() == "token-1"
        provider.forget()
    clock.ms += tokens.REJECTED_MS
    assert await provider.token() == "token-2"


async def test_a_token_that_brokers_may_still_accept_is_used_while_the_issuer_is_away():
    """The rejection may not be the token's fault, or the time for another one has come."""
    clock, answers = HandClock(), [Token("token-1", 3_600_000)]

    def fetch():
        if not answers:
            raise TokenError("the issuer is away")
        return answers.pop()

    provider = TokenProvider(fetch, clock)
    begin_ms = clock.ms
    assert await provider.token() == "token-1"
    provider.forget()
    for clock.ms in (begin_ms + tokens.REJECTED_MS, begin_ms + 3_599_999):
        assert await provider.token() == "token-1"
    clock.ms += 1
    with pytest.raises(TokenError, match="away"):
        await provider.token()
    answers.append(Token("token-2"))
    assert await provider.token() == "token-2"


async def test_all_connections_wait_for_one_token():
    asked, may_go = [], threading.Event()

    def fetch():
        asked.append(threading.current_thread().daemon)
        assert may_go.wait(60)
        return Token("token", 100_000)

    provider = TokenProvider(fetch, HandClock())
    asking = [asyncio.create_task(provider.token()) for _ in range(40)]
    await until(lambda: asked)
    asking[0].cancel()
    may_go.set()
    assert await asyncio.gather(*asking[1:]) == ["token"] * 39
    assert asked == [True], "one thread, which holds up no exit"


async def test_msk_is_given_a_request_that_awss_own_library_has_signed(monkeypatch):
    """No cluster of AWS is here; how brokers of MSK read it is AWS's documentation's word."""
    pytest.importorskip("aws_msk_iam_sasl_signer")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDPLANTED")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    options = security_options(None, Sasl(SaslMechanism.AWS_MSK_IAM, MskIam("eu-west-1")))
    assert options["sasl_mechanism"] == "OAUTHBEARER"
    token = await options["sasl_oauth_token_provider"].token()

    request = urlsplit(base64.urlsafe_b64decode(token + "==").decode())
    query = parse_qs(request.query)
    assert request.hostname == "kafka.eu-west-1.amazonaws.com"
    assert query["Action"] == ["kafka-cluster:Connect"]
    assert query["X-Amz-Expires"] == ["900"]
    assert query["X-Amz-Credential"][0].startswith("AKIDPLANTED/")
    assert "planted-secret" not in token


async def until_matches(proxy, path, pattern):
    """Waits until a line of a page of the admin port has the pattern."""

    async def is_there():
        return re.search(pattern, (await page(proxy.admin_address, path))[1])

    await until(is_there, f"{path} has {pattern!r}")


@contextlib.asynccontextmanager
async def saying(sent, *, tls=None, asked=None):
    """The URL of a server that sends these bytes, and closes. `asked` gets its requests."""

    async def serve(reader, writer):
        request = await reader.readuntil(b"\r\n\r\n")
        request += await reader.readexactly(int(re.search(rb"Content-Length: (\d+)", request)[1]))
        if asked is not None:
            asked.append(request)
        writer.write(sent)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"http{'s' if tls else ''}://localhost:{port}/token"
