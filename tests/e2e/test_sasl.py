"""Every mechanism of a real broker, through the proxy: passed on untouched, and nothing of it kept.

A login that fails is in the log and in the metrics.

One cluster that knows PLAIN, SCRAM and OAUTHBEARER; sessions by OAUTHBEARER last a few seconds, and must be
renewed (KIP-368). In `TSPROXY_TEST=full` Kafka 3.9.1 is met as well.
"""

import asyncio
import contextlib
import re
import time

import pytest
import pytest_asyncio
from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import InvalidTimestampError

from tests.full_only import RELEASES, variations
from tests.kit.admin import UNSECURED_TOKENS, own_login
from tests.kit.client import bearer, connect, plain, scram, unsecured_token
from tests.planted import traces
from tests.proxy.running import page
from tests.proxy.world import PATIENCE_S, until
from tests.session.logins import authenticate, handshake
from tests.session.messages import API_VERSIONS, METADATA, frame, produce, request
from tests.wire.batches import batch
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy
from tsproxy.wire import k00_produce

pytestmark = pytest.mark.broker

USERS = {
    "alice": "planted-password-of-alice",
    "bob": "planted-password-of-bob",
    "proxy": "planted-password-of-the-proxy",
}
WRONG, WRONG_TOKEN = "planted-and-wrong", "planted.planted.planted"
REJECTED = "SASL_AUTHENTICATION_FAILED"
LISTENER = "listener.name.clients"
ADMIN_PAGES = ("/", "/metrics", "/config", "/brokers", "/decisions/top", "/readyz")
LIFETIME_MS = 6000
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
OAUTH = {
    f"{LISTENER}.sasl.enabled.mechanisms": ",".join(MECHANISMS),
    **UNSECURED_TOKENS,
    f"{LISTENER}.oauthbearer.connections.max.reauth.ms": str(LIFETIME_MS),
    f"{LISTENER}.plain.connections.max.reauth.ms": "600000",
}
ADMIN = own_login("SCRAM-SHA-512", "proxy", "${PROXY_PASSWORD}")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=RELEASES)
async def kafka(request):
    async with KafkaCluster(request.param, security="SASL_PLAINTEXT", users=USERS, properties=OAUTH) as it:
        await it.create_topic("orders", config={"message.timestamp.before.max.ms": "60000"})
        yield it


def proxy_of(kafka):
    secrets = {"PROXY_PASSWORD": USERS["proxy"]}
    return RunningProxy(kafka.bootstrap_servers, settings=ADMIN, environment=secrets)


@pytest.fixture
async def proxy(kafka):
    async with proxy_of(kafka) as it:
        yield it


class Token(AbstractTokenProvider):
    async def token(self):
        return unsecured_token("alice", planted="planted-claim").decode()


def options_of(mechanism):
    if mechanism == "OAUTHBEARER":
        more = {"sasl_oauth_token_provider": Token()}
    else:
        more = {"sasl_plain_username": "alice", "sasl_plain_password": USERS["alice"]}
    return {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism, **more}


def exchange_of(mechanism, password=None, user="alice"):
    password = password or USERS[user]
    match mechanism:
        case "PLAIN":
            return plain(user, password)
        case "OAUTHBEARER":
            return bearer(unsecured_token(user, planted="planted-claim"))
        case _:
            return scram(mechanism, user, password)


async def test_every_mechanism_passes_and_no_secret_stays(kafka):
    """All ways to get in and all ways not to; then everything that the proxy told is looked through."""
    async with proxy_of(kafka) as proxy:
        for mechanism in MECHANISMS:
            await is_accepted_and_judged_by_name(proxy, mechanism)
            await passes_as_raw_tokens(proxy, mechanism)
        for mechanism in MECHANISMS:
            await is_rejected_and_told(proxy, mechanism)
            await is_rejected_as_raw_tokens_and_told(proxy, mechanism)
        for version in (0, 1):
            await is_told_the_mechanisms_there_are(proxy, version)
        await nothing_is_served_before_authentication(proxy)
        await are_counted(proxy, "tsproxy_sasl_failures", dict.fromkeys((*MECHANISMS, "other"), 2.0))
        await are_counted(proxy, "tsproxy_sessions_closed", {"sasl_failed": 10.0})
        told = [str(await page(proxy.admin_address, path)) for path in ADMIN_PAGES]

    decisions = [line for line in proxy.decisions() if line["event"] == "decision"]
    assert {line["principal"] for line in decisions} == {"User:alice"}
    assert "alice" not in str(proxy.log)
    told += [str(proxy.log), str(proxy.decisions())]
    planted = {*USERS.values(), WRONG, WRONG_TOKEN, "planted-claim", "planted-value", "planted-key"}
    assert "planted" not in "\n".join(told)
    assert traces("\n".join(told), {secret: secret for secret in planted}) == []


async def is_accepted_and_judged_by_name(proxy, mechanism):
    servers = {"bootstrap_servers": proxy.bootstrap_servers}
    async with AIOKafkaProducer(**servers, **options_of(mechanism)) as producer:
        await producer.send_and_wait("orders", b"planted-value", b"planted-key")
        with pytest.raises(InvalidTimestampError):
            await producer.send_and_wait("orders", b"planted-value", b"planted-key", timestamp_ms=1)


async def passes_as_raw_tokens(proxy, mechanism):
    """Handshake v0: tokens without a header, as clients before Kafka 1.0 send them."""
    async with await connect(proxy.bootstrap_servers) as client:
        assert (await client.handshake(mechanism, version=0))[0] == 0
        await client.authenticate_raw(exchange_of(mechanism))
        assert await client.is_served()


def told_of(proxy, port):
    """The log's lines about the connection from this port of the client."""
    return [line for line in proxy.log if line.get("client_port") == port]


async def is_told(proxy, client, mechanism, error):
    [line] = await until(lambda: told_of(proxy, client.port), f"a line about {mechanism}")
    assert (line["event"], line["level"], line["client"]) == ("sasl_failed", "warning", "127.0.0.1")
    assert (line["listener"], line["mechanism"], line["error"]) == ("default", mechanism, error)
    client.close()


def wrong_exchange_of(mechanism):
    return bearer(WRONG_TOKEN.encode()) if mechanism == "OAUTHBEARER" else exchange_of(mechanism, WRONG)


async def is_rejected_and_told(proxy, mechanism):
    client = await connect(proxy.bootstrap_servers)
    assert (await client.handshake(mechanism))[0] == 0
    error_code, message, _ = await client.authenticate(wrong_exchange_of(mechanism))
    assert error_code == 58  # SASL_AUTHENTICATION_FAILED, in the broker's own words
    assert mechanism == "OAUTHBEARER" or message.startswith("Authentication failed")
    assert await client.is_closed()
    await is_told(proxy, client, mechanism, REJECTED)


async def is_rejected_as_raw_tokens_and_told(proxy, mechanism):
    client = await connect(proxy.bootstrap_servers)
    assert (await client.handshake(mechanism, version=0))[0] == 0
    with pytest.raises(asyncio.IncompleteReadError):
        await client.authenticate_raw(wrong_exchange_of(mechanism))
    await is_told(proxy, client, mechanism, "the broker closed instead of an answer")


async def is_told_the_mechanisms_there_are(proxy, version):
    """UNSUPPORTED_SASL_MECHANISM (33) with the broker's list, and the broker closes. The log names none."""
    client = await connect(proxy.bootstrap_servers)
    error_code, names = await client.handshake("planted-mechanism", version)
    assert error_code == 33
    assert sorted(names) == sorted(MECHANISMS)
    assert await client.is_closed()
    await is_told(proxy, client, "other", "UNSUPPORTED_SASL_MECHANISM")


async def nothing_is_served_before_authentication(proxy):
    async with await connect(proxy.bootstrap_servers) as client:
        with pytest.raises(asyncio.IncompleteReadError):
            await client.ask(METADATA, 1, bytes(4))


async def are_counted(proxy, series, expected):
    """Waits until the metric has these values by its label `mechanism` or `reason`."""
    row = re.compile(re.escape(series) + r'_total\{.*(?:mechanism|reason)="([^"]*)".*\} (\S+)')

    async def is_so():
        _, text = await page(proxy.admin_address, "/metrics")
        return expected.items() <= {name: float(value) for name, value in row.findall(text)}.items()

    await until(is_so, f"{series} is {expected}")


# -- Requests that do not wait for the answers before them ---------------------------------------------

LAST = 99
"""The correlation id of the last request of a pipeline."""
HEADER_BYTES = 4


def produced(timestamp_ms):
    return produce({"orders": {0: batch([timestamp_ms])}}, version=8)


def metadata():
    return request(METADATA, 1, bytes(4), LAST)


VERSIONS = request(API_VERSIONS, correlation_id=API_VERSIONS)
NOBODY = b"\0alice\0" + WRONG.encode()
ALICE = b"\0alice\0" + USERS["alice"].encode()


def logins():
    """Name -> a whole login with requests before and behind it, all at once."""
    token = b"n,,\x01auth=Bearer " + unsecured_token("alice") + b"\x01\x01"
    good, bad = produced(time.time_ns() // 1_000_000), produced(1)
    for mechanism, said in (("PLAIN", ALICE), ("OAUTHBEARER", token)):
        yield f"{mechanism}, raw", [handshake(mechanism, 0), frame(said), good, bad, good]
        for version in (0, 1, 2):
            asked = [VERSIONS, handshake(mechanism), authenticate(said, version), good, bad, good]
            yield f"{mechanism}, SaslAuthenticate {version}", asked
    yield "a wrong password", [handshake("PLAIN"), authenticate(NOBODY), good]
    yield "a wrong password, raw", [handshake("PLAIN", 0), frame(NOBODY), good]
    yield "a mechanism that nobody knows", [handshake("planted"), authenticate(ALICE), good]
    yield "no handshake", [authenticate(ALICE), good]
    yield "two handshakes", [handshake("PLAIN"), handshake("PLAIN"), authenticate(ALICE), good]
    yield "a token of no mechanism", [handshake("PLAIN"), authenticate(b"\0\0\0"), good]
    yield "versions between", [handshake("PLAIN"), VERSIONS, authenticate(ALICE), good]


def renewals():
    """The same for a session of alice by OAUTHBEARER that is old enough to be renewed."""
    again, other = (b"n,,\x01auth=Bearer " + unsecured_token(name) + b"\x01\x01" for name in ("alice", "bob"))
    good, bad, begun = produced(time.time_ns() // 1_000_000), produced(1), handshake("OAUTHBEARER")
    for version in (0, 1, 2):
        yield f"between requests, {version}", [good, bad, begun, authenticate(again, version), bad, good]
    yield "with many before and behind", [good] * 9 + [begun, authenticate(again)] + [good, bad] * 9
    yield "without a token", [begun, good]
    yield "with a request before the token", [begun, good, authenticate(again), good]
    yield "by another", [good, begun, authenticate(other), good]
    yield "by another mechanism", [good, handshake("PLAIN"), authenticate(ALICE), good]
    yield "without a handshake", [good, authenticate(again), good]
    yield "twice at once", [begun, authenticate(again), begun, authenticate(again), good]


async def answers(client, frames, pieces):
    """The answers to `frames` and a last request, each in short, until the connection ends. `pieces`: so
    many writes."""
    asked = [*frames, metadata()]
    data, found = b"".join(asked), []
    size = -(-len(data) // pieces)
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        async with asyncio.timeout(PATIENCE_S):
            for at in range(0, len(data), size):
                await client.write(data[at : at + size])
            for _ in asked:
                found.append(await client.read())  # noqa: PERF401  # all that came before the end counts
    return [in_short(said) for said in found]


def in_short(said):
    """All of an answer that is the same in each connection of a client. Its correlation id says what it is: a
    broker alone may answer out of order."""
    if len(said) < HEADER_BYTES:
        return "a raw token", said
    match int.from_bytes(said[:4], "big"):
        case 1:
            return "Produce", k00_produce.read_response(8, said[4:]).topics[0].partitions[0].error_code
        case correlation_id:
            return correlation_id, said[:7] if correlation_id != LAST else b""


def differing(asked, proxied, direct):
    """The answers that are not the broker's own. A broker that closes while requests are unread resets the
    connection, and its last answers may be lost. The proxy passes them on."""
    return {
        name: (ours, brokers)
        for name, ours, brokers in zip(asked, proxied, direct, strict=True)
        if ours != brokers and (brokers[-1:] == [(LAST, b"")] or ours[: len(brokers)] != brokers)
    }


@pytest.mark.parametrize("pieces", variations("fewer pieces", [1, 40], but=[40]))
async def test_every_form_of_a_login_passes_whatever_is_sent_behind_it(kafka, pieces):
    """The answers are those of the broker alone, and a record that is too old is rejected in each form."""
    asked = dict(logins())
    async with proxy_of(kafka) as proxy:
        direct, proxied = [
            await asyncio.gather(*(login(address, frames, pieces) for frames in asked.values()))
            for address in (kafka.bootstrap_servers, proxy.bootstrap_servers)
        ]
    assert differing(asked, proxied, direct) == {}
    told = [answer for answers in proxied for answer in answers]
    assert told.count(("Produce", 32)) == 8
    assert told.count((LAST, b"")) >= 8


async def login(address, frames, pieces):
    async with await connect(address) as client:
        return await answers(client, frames, pieces)


async def test_a_session_is_renewed_between_requests_that_are_sent_at_once(kafka, proxy):
    """KIP-368. The answers are those of the broker alone."""
    asked = dict(renewals())
    ways = [kafka.bootstrap_servers, proxy.bootstrap_servers]
    direct, proxied = await asyncio.gather(
        *(asyncio.gather(*(renewal(address, frames) for frames in asked.values())) for address in ways)
    )
    # A broker delays the rejection of another name, and may serve meanwhile what came behind it.
    assert differing(asked, proxied, direct).keys() <= {"by another"}
    assert [answers[-1] for answers in proxied[:4]] == [(LAST, b"")] * 4
    others = proxied[[*asked].index("by another")]
    assert [name for name, _ in others] == ["Produce", 10, 11], "then handshake and token"
    assert others[2][1][4:6] == (58).to_bytes(2, "big")


async def renewal(address, frames):
    async with await connect(address) as client:
        assert (await client.handshake("OAUTHBEARER"))[0] == 0
        assert (await client.authenticate(exchange_of("OAUTHBEARER")))[0] == 0
        await asyncio.sleep(1.1)  # brokers take a renewal once a second at most
        return await answers(client, frames, 1)
