"""Whom the broker takes a client for, the session takes it for as well, or for nobody.

A real broker lets each user write to the topic of its name alone. The same bytes pass through a session,
whose bookings say whom it takes the client for. `TSPROXY_TEST=full` does more, and 3.9.1 as well.
"""

import asyncio
import random
import time

import pytest
import pytest_asyncio
from confluent_kafka.admin import ScramMechanism

from tests.attacks.kept import MARK, OLD_IS_BAD, assert_little_is_kept, kept_by_path, proxy_in_this_process
from tests.e2e.principals import (
    ClosedError,
    Watched,
    allow,
    delegation_token,
    names,
)
from tests.e2e.test_policy import EXAMPLES
from tests.full_only import IS_FULL, RELEASES
from tests.kit.admin import AUTHORIZER, UNSECURED_TOKENS, set_password
from tests.kit.client import connect, plain, produced, scram, scram_first, scram_signed, unsecured_token
from tests.proxy.running import file_for
from tests.proxy.world import until
from tests.session.messages import produce
from tests.session.names import BEHIND_A_MARK, BY_BROKERS_ALONE, NAMES
from tests.wire.batches import batch
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = pytest.mark.broker

SAMPLES = 400 if IS_FULL else 40
SEED = 14
USERS = {
    "mallory": "password-of-mallory",
    "admin": "password-of-admin",
    "proxy": "password-of-the-proxy",
}
ODD_USERS = ("a,b=c", "a=2Cb", "al ice", "al\nice")
"""They log in by SCRAM with mallory's password."""
ODD_NAMES = (" mallory", "!alice!", "älice", *ODD_USERS)
TOPICS = {
    "mallory": "mallory",
    "admin": "admin",
    **{f"odd-{number}": name for number, name in enumerate(ODD_NAMES)},
}
LISTENER = "listener.name.clients"
SCRAMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
PROPERTIES = {
    **AUTHORIZER,
    "delegation.token.secret.key": "a-key-of-the-brokers",
    "super.users": "User:proxy",
    "connection.failed.authentication.delay.ms": "0",
    f"{LISTENER}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    **UNSECURED_TOKENS,
    **{
        f"{LISTENER}.{mechanism}.connections.max.reauth.ms": "600000"
        for mechanism in ("scram-sha-256", "scram-sha-512", "oauthbearer", "plain")
    },
}
BETWEEN_RENEWALS_S = 1.1
"""Brokers take one a second at most (`KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS`)."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=RELEASES)
async def kafka(request):
    async with KafkaCluster(
        request.param, security="SASL_PLAINTEXT", users=USERS, properties=PROPERTIES
    ) as it:
        await allow(it, TOPICS)
        for user in ODD_USERS:
            for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
                await set_password(it, user, USERS["mallory"], mechanism)
        newest = scram_first(ODD_USERS[-1])
        await until(lambda: scram_names(it, SCRAMS[1], newest), "brokers know the newest user")
        yield it


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def token(kafka):
    """(id, password) of mallory's own delegation token."""
    client = await Watched.to(kafka, TOPICS)
    assert (await client.handshake("PLAIN"))[0] == 0
    assert (await client.authenticate(plain("mallory", USERS["mallory"])))[0] == 0
    token_id, password = await delegation_token(client)
    client.close()
    first = scram_first(token_id, ",tokenauth=true")
    await until(lambda: scram_names(kafka, SCRAMS[0], first, password), "the broker knows the token")
    yield token_id, password


async def scram_names(kafka, mechanism, first, password=USERS["mallory"], *, behind="", is_raw=False):
    """`names` by SCRAM, in whichever order the broker signs the extensions."""
    for signed in signed_by_brokers(first):
        exchange = scram(mechanism, "", password, first=first, signed=signed, behind=behind)
        if (named := await names(kafka, TOPICS, mechanism, exchange, is_raw=is_raw)) is not None:
            return named
    return None


def signed_by_brokers(first):
    """No message at all if a broker rejects the first one."""
    try:
        return scram_signed(first)
    except ValueError:
        return [first]


async def said(*tokens):
    """These tokens one after another, until the broker's answer is empty."""
    for token in tokens:
        if not (yield token):
            return


# -- One table -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_raw", [False, True])
@pytest.mark.parametrize("mechanism", NAMES)
async def test_the_broker_and_the_session_name_whom_the_table_says(kafka, mechanism, is_raw):
    """Rows whose user this broker does not have are asked of the session alone. The last message of SCRAM
    names nobody."""
    for token, name in NAMES[mechanism].items():
        if name is not None and name not in TOPICS.values():
            continue
        if mechanism in SCRAMS:
            first = token.decode("latin-1")
            named = await scram_names(
                kafka, mechanism, first, behind=",tokenauth=true,n=admin", is_raw=is_raw
            )
        else:
            named = await names(kafka, TOPICS, mechanism, said(token), is_raw=is_raw)
        assert named == (name and (name, f"User:{name}")), token[:200]


@pytest.mark.parametrize("is_raw", [False, True])
async def test_a_name_that_only_brokers_read_is_nobodys_here(kafka, is_raw):
    for token, name in BY_BROKERS_ALONE.items():
        is_rejected = token == BEHIND_A_MARK and kafka.version == "3.9.1"
        named = await names(kafka, TOPICS, "OAUTHBEARER", said(token), is_raw=is_raw)
        assert named == (None if is_rejected else (name, None)), token[:200]


# -- SCRAM -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_raw", [False, True])
@pytest.mark.parametrize("mechanism", SCRAMS)
async def test_a_delegation_token_has_an_owner_for_the_broker_and_none_here(kafka, token, mechanism, is_raw):
    token_id, password = token
    for extensions in (",tokenauth=true", ",tokenauth=false,tokenauth=TRUE", ",n=admin,tokenauth=true"):
        first = scram_first(token_id, extensions)
        named = await scram_names(kafka, mechanism, first, password, behind=",n=admin", is_raw=is_raw)
        assert named == ("mallory", None), extensions


KEYS = ("tokenauth", "TOKENAUTH", "tokenAuth", "xtokenauth", "n", "a", "r", "m", "p", "ext")
VALUES = ("true", "TRUE", "false", "admin", "mallory", "x=y", "=", "tokenauth=true", " true", "n=admin")


async def test_by_generated_scram_messages_the_two_agree(kafka, token):
    """Keys, values, orders and repetitions by chance; the seed is told."""
    chance, accepted = random.Random(SEED), 0
    for number in range(SAMPLES):
        mechanism = chance.choice(SCRAMS)
        name, password = chance.choice([("mallory", USERS["mallory"]), token])
        extensions = [(chance.choice(KEYS), chance.choice(VALUES)) for _ in range(chance.randrange(5))]
        first = scram_first(name, "".join(f",{key}={value}" for key, value in extensions))
        if chance.random() < 0.25:
            first = first.replace("n,,", f"n,a={name},", 1)
        behind = "".join(
            f",{chance.choice(KEYS)}={chance.choice(VALUES)}" for _ in range(chance.randrange(3))
        )
        is_raw = chance.random() < 0.3
        named = await scram_names(kafka, mechanism, first, password, behind=behind, is_raw=is_raw)
        is_token = dict(extensions).get("tokenauth", "").lower() == "true"
        expected = (
            None if is_token != (name != "mallory") else ("mallory", None if is_token else "User:mallory")
        )
        assert named == expected, f"seed {SEED}, number {number}: {first}, {behind}"
        accepted += named is not None
    assert accepted >= SAMPLES // 5


# -- OAUTHBEARER -------------------------------------------------------------------------------------


def bearer(*auths, head=b"n,,", more=()):
    pairs = [b"auth=Bearer " + auth for auth in auths]
    return head + b"\x01" + b"".join(pair + b"\x01" for pair in (*pairs, *more)) + b"\x01"


OVER, OWN = unsecured_token("admin", lasts_s=-60), unsecured_token("mallory")


async def test_by_generated_bearer_messages_the_two_agree(kafka):
    chance, accepted = random.Random(SEED), 0
    parts = (OVER, OWN, b"opaque", b"a.b.c", unsecured_token("admin", lasts_s=-1, sub2="mallory"))
    extras = (b"traceId=1", b"AUTH=Bearer " + OVER, b"xauth=Bearer " + OVER, b"e=auth=Bearer x")
    heads = (b"n,,", b"n,,", b"n,a=mallory,", b"n,a=admin,", b"N,,")
    for number in range(SAMPLES):
        tokens = [
            bearer(
                *(chance.choice(parts) for _ in range(chance.randrange(1, 3))),
                head=chance.choice(heads),
                more=[chance.choice(extras) for _ in range(chance.randrange(2))],
            )
            for _ in range(chance.randrange(1, 4))
        ]
        named = await names(kafka, TOPICS, "OAUTHBEARER", said(*tokens), is_raw=chance.random() < 0.3)
        assert named in (None, ("mallory", "User:mallory")), f"seed {SEED}, number {number}: {tokens}"
        accepted += named is not None
    assert accepted >= SAMPLES // 10


# -- Memory ------------------------------------------------------------------------------------------

LOGINS = 10_000 if IS_FULL else 150
"""The names of each kind that log in, each in a connection of its own, which costs the broker most. With 150,
a place that keeps one such name for each has four times the memory that `too_much` allows."""
STAY = 20
"""So many that were accepted stay connected while the walk looks."""
KEEPING = """
upstream:
  bootstrap_servers: ['{servers}']
  admin: {{ sasl: {{ mechanism: PLAIN, username: proxy, password: '${{PASSWORD}}' }} }}
listeners: [{{ bind: "127.0.0.1:0" }}]"""


def strange(kind, n):
    """A long name. Brokers never answer SCRAM with a name of 3,000 characters."""
    return f"{MARK}{kind}-{n}-".ljust(900, "n")


LOGINS_OF = {
    "PLAIN": lambda n: plain(strange("plain", n), "wrong"),
    "SCRAM-SHA-512": lambda n: scram("SCRAM-SHA-512", strange("scram", n), "wrong"),
    "OAUTHBEARER": lambda n: said(bearer(unsecured_token(strange("bearer", n)))),
}
"""Mechanism -> a login by a name that nobody has. Brokers accept the last kind: who signs a token may give it
any name."""


async def login(port, mechanism, n, bad):
    """The client, if it was accepted and its record rejected; else None."""
    client = await connect(f"127.0.0.1:{port}")
    try:
        assert (await client.handshake(mechanism))[0] == 0
        if (await client.authenticate(LOGINS_OF[mechanism](n)))[0] == 0:
            await client.frame(bad)
            return client
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    client.close()
    return None


async def test_names_of_logins_leave_little_memory(kafka, tmp_path):
    """As `tests/attacks/test_kept_names.py` for the names after a login."""
    text = (KEEPING + OLD_IS_BAD).format(servers=kafka.bootstrap_servers, folder=tmp_path / "log")
    bad = produce({"mallory": {0: batch([int(time.time() * 1000) - 86_400_000])}}, version=8)
    async with proxy_in_this_process(text, {"PASSWORD": USERS["proxy"]}) as proxy:
        port, accepted = proxy._listeners[0].address.port, []
        for mechanism in LOGINS_OF:
            for n in range(LOGINS):
                client = await login(port, mechanism, n, bad)
                if client is not None:
                    accepted.append(client)
                    if n < LOGINS - STAY:
                        client.close()
        while_open = kept_by_path(proxy)
        for client in accepted:
            client.close()
        await until(lambda: not proxy._listeners[0].relays, "all clients have left")
        once_closed = kept_by_path(proxy)
    assert len(accepted) == LOGINS
    assert_little_is_kept(while_open, once_closed)


# -- Renewals (KIP-368) ------------------------------------------------------------------------------


async def test_a_session_that_is_renewed_keeps_its_name_or_loses_it(kafka, token):
    """By any trick it stays itself; by a token it is nobody; as another it is closed."""
    token_id, token_password = token
    mechanism = "SCRAM-SHA-512"
    client = await Watched.to(kafka, TOPICS)
    by_token = scram_first(token_id, ",tokenauth=true")
    for first, password, behind, expected in (
        (scram_first("mallory"), USERS["mallory"], "", "User:mallory"),
        (scram_first("mallory", ",TOKENAUTH=true"), USERS["mallory"], ",n=admin", "User:mallory"),
        (by_token, token_password, ",n=admin", None),
        (scram_first("mallory"), USERS["mallory"], ",n=admin", "User:mallory"),
    ):
        exchange = scram(mechanism, "", password, first=first, behind=behind)
        assert (await client.handshake(mechanism))[0] == 0
        assert (await client.authenticate(exchange))[0] == 0
        assert await client.names() == ("mallory", expected)
        await asyncio.sleep(BETWEEN_RENEWALS_S)
    assert (await client.handshake(mechanism))[0] == 0
    exchange = scram(mechanism, "admin", USERS["admin"])
    error_code, message, _ = await client.authenticate(exchange)
    assert (error_code, "Cannot change principals" in message) == (58, True)
    with pytest.raises(ClosedError, match="rejected the renewal"):
        await client.names()
    client.close()


# -- Through a proxy: what rules make of it ------------------------------------------------------------


async def test_the_documents_allowance_by_name_is_not_nobodys(kafka_440, topic, tmp_path):
    """Two days old, where etl may be thirty late: who has not logged in gets the rule for everybody."""
    await kafka_440.create_topic(topic)
    policy = EXAMPLES["Clients without a principal"].replace('"orders"', topic)
    file = file_for(kafka_440, tmp_path, more=policy)
    async with RunningProxy(config=file) as proxy, await connect(proxy.bootstrap_servers) as client:
        assert await produced(client, topic, time.time_ns() // 1_000_000 - 2 * 86_400_000) == 32
    assert {line["rule"] for line in proxy.decisions() if line["event"] == "decision"} == {"everybody"}
