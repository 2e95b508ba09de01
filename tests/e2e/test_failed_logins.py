"""A login that a real broker does not accept: who tried is in the log and in the metrics, and no secret."""

import asyncio
import os
import re
import urllib.request

import pytest
import pytest_asyncio

from tests.e2e.sasl import bearer, connect, plain, scram, unsecured_token
from tests.planted import traces
from tests.proxy.world import until
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = pytest.mark.broker

FULL = os.environ.get("TSPROXY_TEST") == "full"
USERS = {"alice": "planted-password", "proxy": "planted-password-of-the-proxy"}
WRONG = "planted-and-wrong"
LISTENER = "listener.name.clients"
NAMED = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROPERTIES = {
    f"{LISTENER}.sasl.enabled.mechanisms": ",".join((*NAMED, "OAUTHBEARER")),
    f"{LISTENER}.oauthbearer.sasl.jaas.config": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    ),
    f"{LISTENER}.plain.connections.max.reauth.ms": "600000",
}
ADMIN = {
    "upstream.admin.sasl.mechanism": "SCRAM-SHA-512",
    "upstream.admin.sasl.username": "proxy",
    "upstream.admin.sasl.password": "${PROXY_PASSWORD}",
}
REJECTED, CLOSED = "SASL_AUTHENTICATION_FAILED", "the broker closed instead of an answer"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["4.4.0", "3.9.1"] if FULL else ["4.4.0"])
async def kafka(request):
    async with KafkaCluster(
        request.param, security="SASL_PLAINTEXT", users=USERS, properties=PROPERTIES
    ) as it:
        yield it


@pytest.fixture
async def proxy(kafka):
    secrets = {"PROXY_PASSWORD": USERS["proxy"]}
    async with RunningProxy(kafka.bootstrap_servers, settings=ADMIN, environment=secrets) as it:
        yield it


def exchange_of(mechanism, password=WRONG):
    match mechanism:
        case "PLAIN":
            return plain("alice", password)
        case "OAUTHBEARER":
            return bearer(b"planted.planted.planted")
        case _:
            return scram(mechanism, "alice", password)


def told_of(proxy, port):
    """The log's lines about the connection from this port of the client."""
    return [line for line in proxy.log if line.get("client_port") == port]


async def is_told(proxy, client, mechanism, error):
    [line] = await until(lambda: told_of(proxy, client.port), f"a line about {mechanism}")
    assert (line["event"], line["level"], line["client"]) == ("sasl_failed", "warning", "127.0.0.1")
    assert (line["listener"], line["mechanism"], line["error"]) == ("default", mechanism, error)
    client.close()


async def test_each_login_that_fails_has_one_line_with_its_address_and_mechanism(proxy):
    """New form and old, a mechanism that is not there, a token that is no JWT; metrics count all."""
    for mechanism in (*NAMED, "OAUTHBEARER"):
        client = await connect(proxy.bootstrap_servers)
        assert (await client.handshake(mechanism))[0] == 0
        assert (await client.authenticate(exchange_of(mechanism)))[0] == 58
        assert await client.is_closed()
        await is_told(proxy, client, mechanism, REJECTED)
    for mechanism in (*NAMED, "OAUTHBEARER"):
        client = await connect(proxy.bootstrap_servers)
        assert (await client.handshake(mechanism, version=0))[0] == 0
        with pytest.raises(asyncio.IncompleteReadError):
            await client.authenticate_raw(exchange_of(mechanism))
        await is_told(proxy, client, mechanism, CLOSED)
    await are_counted(proxy, "tsproxy_sasl_failures", dict.fromkeys((*NAMED, "OAUTHBEARER"), 2.0))
    await are_counted(proxy, "tsproxy_sessions_closed", {"sasl_failed": 8.0})
    no_secret_was_told(proxy)


async def test_a_mechanism_that_the_broker_does_not_know_is_told_and_not_named(proxy):
    for version in (0, 1):
        client = await connect(proxy.bootstrap_servers)
        assert (await client.handshake("planted-mechanism", version))[0] == 33
        assert await client.is_closed()
        await is_told(proxy, client, "other", "UNSUPPORTED_SASL_MECHANISM")
    client = await connect(proxy.bootstrap_servers)
    assert (await client.handshake("GSSAPI"))[0] == 33
    await is_told(proxy, client, "GSSAPI", "UNSUPPORTED_SASL_MECHANISM")
    await are_counted(proxy, "tsproxy_sasl_failures", {"other": 2.0, "GSSAPI": 1.0})
    no_secret_was_told(proxy)


async def test_gssapi_by_raw_tokens_is_closed_at_the_handshake_and_the_log_says_why(proxy):
    """A broker with GSSAPI would not answer the last token."""
    client = await connect(proxy.bootstrap_servers)
    with pytest.raises(asyncio.IncompleteReadError):
        await client.handshake("GSSAPI", version=0)
    [line] = await until(lambda: told_of(proxy, client.port))
    assert line["event"] == "client_rejected"
    assert "use a client that sends SaslAuthenticate (Kafka 1.0)" in line["detail"]
    client.close()


async def test_a_renewal_that_fails_is_told_and_one_that_works_is_not(proxy):
    client = await connect(proxy.bootstrap_servers)
    for _ in range(2):
        assert (await client.handshake("PLAIN"))[0] == 0
        assert (await client.authenticate(exchange_of("PLAIN", USERS["alice"])))[0] == 0
        await asyncio.sleep(1.1)  # brokers take a renewal a second at most
    assert not told_of(proxy, client.port)
    assert (await client.handshake("PLAIN"))[0] == 0
    assert (await client.authenticate(exchange_of("PLAIN")))[0] == 58
    await is_told(proxy, client, "PLAIN", REJECTED)


async def test_a_bearer_that_goes_without_asking_for_the_error_is_told(proxy):
    client = await connect(proxy.bootstrap_servers)
    assert (await client.handshake("OAUTHBEARER"))[0] == 0

    async def gives_up():
        yield b"n,,\x01auth=Bearer " + unsecured_token("alice", lasts_s=-60) + b"\x01\x01"

    assert (await client.authenticate(gives_up()))[0] == 0  # RFC 7628: a text says why, and no error code
    client.close()
    [line] = await until(lambda: told_of(proxy, client.port))
    assert (line["event"], line["error"]) == ("sasl_failed", "the broker rejected the token")


async def test_a_storm_of_failed_logins_is_counted_whole_and_told_in_part(proxy):
    """Ten lines for an address, as of all that clients do."""
    for _ in range(15):
        client = await connect(proxy.bootstrap_servers)
        assert (await client.handshake("NONE"))[0] == 33
        assert await client.is_closed()
        client.close()
    await are_counted(proxy, "tsproxy_sasl_failures", {"other": 15.0})
    assert 10 <= len([line for line in proxy.log if line["event"] == "sasl_failed"]) < 15


def no_secret_was_told(proxy):
    told = f"{proxy.log}"
    assert "planted" not in told
    assert (
        traces(told, {secret: secret for secret in (*USERS.values(), WRONG, "planted.planted.planted")}) == []
    )
    assert "alice" not in told


async def are_counted(proxy, series, expected):
    """Waits until the metric has these values by its label `mechanism` or `reason`."""

    async def is_so():
        return await asyncio.to_thread(counted, proxy, series) == expected

    await until(is_so, f"{series} is {expected}")


def counted(proxy, series):
    with urllib.request.urlopen(f"http://{proxy.admin_address}/metrics", timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    found = re.compile(re.escape(series) + r'_total\{.*(?:mechanism|reason)="([^"]*)".*\} (\S+)').fullmatch
    return {match[1]: float(match[2]) for match in map(found, lines) if match}
