"""Kafka's own validator of signed tokens: whom does it take a client for, and by which claim?

`OAuthBearerValidatorCallbackHandler` with a JWKS file (KIP-768). Its reading of claims (jose4j) is not that
of the unsecured validator in `test_principals`: it trims names and takes no claim twice.
"""

from functools import cache

import pytest
import pytest_asyncio

from tests.e2e.issuer import BEARER, Issuer, validated
from tests.e2e.principals import allow, names
from tests.full_only import RELEASES
from tests.kit.admin import AUTHORIZER
from tests.proxy.world import until
from tsproxy.testing.kafka_cluster import KafkaCluster

pytestmark = [
    pytest.mark.broker,
    pytest.mark.full_only(
        "starts a broker; test_principals.py has tokens, tests/session/test_sasl.py claims"
    ),
]

TOPICS = {"mallory": "mallory", "admin": "admin"}
USERS = {"proxy": "password-of-the-proxy"}


async def said(*tokens):
    for token in tokens:
        if not (yield b"n,,\x01auth=Bearer " + token + b"\x01\x01"):
            return
    yield b"\x01"


@cache
def issuer(name):
    """Made by the test that needs it: a stranger signs by another key of the same name."""
    return Issuer({})


def signed(claims, by="the brokers'"):
    return issuer(by).signed(claims)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=RELEASES)
async def kafka(request, tmp_path_factory):
    """Brokers that go by the claim `client_id`."""
    with validated(issuer("the brokers'"), tmp_path_factory.mktemp("jwks")) as properties:
        properties |= {
            **AUTHORIZER,
            "connection.failed.authentication.delay.ms": "0",
            f"{BEARER}.sasl.oauthbearer.sub.claim.name": "client_id",
        }
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
