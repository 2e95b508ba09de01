"""Kafka's own validator of signed tokens: whom does it take a client for, and by which claim?

`OAuthBearerValidatorCallbackHandler` with a JWKS file (KIP-768). Its reading of claims (jose4j) is not that
of the unsecured validator in `test_principals`: it trims names and takes no claim twice.
"""

import base64
import json
import os
import time
from functools import cache

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.e2e.principals import AUTHORIZER, allow, names
from tests.e2e.sasl import connect, produced
from tests.proxy.world import until
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = pytest.mark.broker

FULL = os.environ.get("TSPROXY_TEST") == "full"
LISTENER = "listener.name.clients.oauthbearer"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
AUDIENCE, ISSUER = "this-cluster", "https://issuer.example.com"
TOPICS = {"mallory": "mallory", "admin": "admin"}
USERS = {"proxy": "password-of-the-proxy"}


@cache
def key_of(owner):
    """Made by the test that needs it, not while tests are collected."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def jwks():
    numbers = key_of("issuer").public_key().public_numbers()
    n, e = (encoded(number.to_bytes((number.bit_length() + 7) // 8)) for number in (numbers.n, numbers.e))
    key = {"kty": "RSA", "kid": "own", "use": "sig", "alg": "RS256", "n": n.decode(), "e": e.decode()}
    return json.dumps({"keys": [key]})


def signed(claims, owner="issuer"):
    """`claims` as a dict, or as the text of JSON."""
    text = claims if isinstance(claims, str) else json.dumps(claims)
    now = int(time.time())
    text = text[:-1] + f',"iss":"{ISSUER}","aud":"{AUDIENCE}","iat":{now},"exp":{now + 3600}}}'
    part = encoded(b'{"alg":"RS256","kid":"own"}') + b"." + encoded(text.encode())
    return part + b"." + encoded(key_of(owner).sign(part, padding.PKCS1v15(), hashes.SHA256()))


async def said(*tokens):
    for token in tokens:
        if not (yield b"n,,\x01auth=Bearer " + token + b"\x01\x01"):
            return
    yield b"\x01"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["4.4.0", "3.9.1"] if FULL else ["4.4.0"])
async def kafka(request, tmp_path_factory):
    """Brokers that go by the claim `client_id`."""
    file = tmp_path_factory.mktemp("jwks") / "jwks.json"
    file.write_text(jwks())
    properties = {
        **AUTHORIZER,
        "connection.failed.authentication.delay.ms": "0",
        "listener.name.clients.sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
        f"{LISTENER}.sasl.jaas.config": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
        ),
        f"{LISTENER}.sasl.server.callback.handler.class": HANDLER,
        f"{LISTENER}.sasl.oauthbearer.jwks.endpoint.url": file.as_uri(),
        f"{LISTENER}.sasl.oauthbearer.sub.claim.name": "client_id",
        # A 4.4 broker does not start without these two.
        f"{LISTENER}.sasl.oauthbearer.expected.audience": AUDIENCE,
        f"{LISTENER}.sasl.oauthbearer.expected.issuer": ISSUER,
    }
    with pytest.MonkeyPatch.context() as patch:
        # Such a file must be allowed to the virtual machine (since 3.9.1).
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={file.as_uri()}"
        patch.setenv("JAVA_TOOL_OPTIONS", f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {allowed}".strip())
        async with KafkaCluster(
            request.param, security="SASL_PLAINTEXT", users=USERS, properties=properties
        ) as it:
            await allow(it, TOPICS)
            await until(lambda: names_of(it, signed({"client_id": "admin"})), "brokers know the newest rule")
            yield it


async def names_of(kafka, *tokens, claim="client_id"):
    return await names(kafka, TOPICS, "OAUTHBEARER", said(*tokens), claim=claim)


OWN = {"sub": "admin", "client_id": "mallory"}
TOKENS = {
    "its own": (["own"], ("mallory", "User:mallory")),
    "a forged one, then its own": (["forged", "own"], ("mallory", "User:mallory")),
    "a forged one alone": (["forged"], None),
    "blanks around its name": (["spaced"], ("mallory", None)),
    "its name twice": (["twice"], None),
    "no text": (["number"], None),
}
MADE = {
    "own": lambda: signed(OWN),
    "forged": lambda: signed({"client_id": "admin"}, "a stranger"),
    "spaced": lambda: signed({"client_id": " mallory "}),
    "twice": lambda: signed('{"client_id":"admin","client_id":"mallory"}'),
    "number": lambda: signed({"client_id": 5}),
}


@pytest.mark.parametrize(("tokens", "expected"), TOKENS.values(), ids=TOKENS)
async def test_the_accepted_token_names_by_the_claim_that_brokers_go_by(kafka, tokens, expected):
    assert await names_of(kafka, *(MADE[token]() for token in tokens)) == expected


async def test_by_another_claim_than_the_brokers_the_name_would_be_anothers(kafka):
    """Why `upstream.bearer_claim` is there: nothing on the wire says by which one brokers go."""
    assert await names_of(kafka, signed(OWN), claim="sub") == ("mallory", "User:admin")


async def test_the_configured_claim_is_the_one_of_rules_and_log(kafka):
    settings = {
        "upstream.admin.sasl.mechanism": "SCRAM-SHA-512",
        "upstream.admin.sasl.username": "proxy",
        "upstream.admin.sasl.password": USERS["proxy"],
        "upstream.bearer_claim": "client_id",
        "policy.limits_from": "config",
    }
    async with RunningProxy(kafka.bootstrap_servers, settings=settings) as proxy:
        client = await connect(proxy.bootstrap_servers)
        assert (await client.handshake("OAUTHBEARER"))[0] == 0
        assert (await client.authenticate(said(signed(OWN))))[0] == 0
        assert await produced(client, "mallory", time.time_ns() // 1_000_000) == 0
        client.close()
    assert {line["principal"] for line in proxy.decisions() if line["event"] == "counters"} == {
        "User:mallory"
    }
