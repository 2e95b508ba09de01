"""Real clients renew their sessions (KIP-368) through the proxy, while requests are under way.

They do so by a token, by a password, and by a delegation token (KIP-48).
"""

import asyncio
from dataclasses import dataclass, replace

import pytest

from rigs.chaos.producers import JavaClient, LibrdkafkaClient, Told
from tests.e2e.principals import delegation_token
from tests.kit.admin import UNSECURED_TOKENS, own_login
from tests.kit.client import connect, scram
from tests.kit.topics import values_of
from tests.proxy.running import series
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = [
    pytest.mark.broker,
    pytest.mark.full_only("takes the time of two sessions; test_sasl.py renews a session by hand"),
]

LIFETIME_MS = 10_000
SESSIONS = 2.5
LISTENER = "listener.name.clients"
SCRAM, BEARER = "SCRAM-SHA-512", "OAUTHBEARER"
USERS = {"alice": "password-of-alice", "proxy": "password-of-the-proxy"}
PROPERTIES = {
    f"{LISTENER}.sasl.enabled.mechanisms": f"PLAIN,{SCRAM},{BEARER}",
    **UNSECURED_TOKENS,
    "delegation.token.secret.key": "a-key-of-the-brokers",
    **{
        f"{LISTENER}.{name}.connections.max.reauth.ms": str(LIFETIME_MS)
        for name in (SCRAM.lower(), BEARER.lower())
    },
}
RATE = {"batch": 50, "pause_s": 0.05}
OF_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
OF_BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


@dataclass(frozen=True)
class Jaas:
    """The options of Kafka's own producer with what its JAAS says. Each record has a batch of its own."""

    servers: str
    mechanism: str
    jaas: str

    def java(self):
        sasl = {"sasl.mechanism": self.mechanism, "sasl.jaas.config": self.jaas}
        return {
            "bootstrap.servers": self.servers,
            "security.protocol": "SASL_PLAINTEXT",
            "batch.size": "1",
            **sasl,
        }


async def test_sessions_are_renewed_while_requests_are_under_way():
    """Each record is stored once and in order, none that is too far ahead, and no connection ends."""
    async with (
        KafkaCluster(security="SASL_PLAINTEXT", users=USERS, properties=PROPERTIES) as kafka,
        RunningProxy(kafka.bootstrap_servers, settings=own_login(SCRAM, "proxy", USERS["proxy"])) as proxy,
    ):
        token_id, token = await token_of_alice(proxy)
        servers = proxy.bootstrap_servers
        by_token = f'{OF_SCRAM} username="{token_id}" password="{token}" tokenauth="true";'
        by_bearer = f'{OF_BEARER} unsecuredLoginStringClaim_sub="alice";'
        by_password = replace(kafka.client_options("alice", SCRAM), bootstrap_servers=servers)
        clients = [
            JavaClient(
                Told("java", "all", has_forbidden=True, **RATE), "by-bearer", Jaas(servers, BEARER, by_bearer)
            ),
            JavaClient(
                Told("java", "all", has_forbidden=True, **RATE), "by-token", Jaas(servers, SCRAM, by_token)
            ),
            LibrdkafkaClient(Told("c", "all", **RATE), "by-password", by_password),
        ]
        topics = ("by-bearer", "by-token", "by-password")
        for topic in topics:
            await kafka.create_topic(topic)
        running = [asyncio.create_task(client.run()) for client in clients]
        await asyncio.sleep(SESSIONS * LIFETIME_MS / 1000)
        for client in clients:
            client.stop()
        await asyncio.gather(*running)
        stored = [await values_of(kafka, topic) for topic in topics]
        opened = await series(proxy)
    for told, values in zip((client.told for client in clients), stored, strict=True):
        assert bool(told.failed) == told.has_forbidden
        assert all(value.endswith(":forbidden") for value in told.failed)
        assert told.failed.keys() | told.acknowledged == told.sent
        expected = sorted(told.acknowledged, key=lambda value: int(value.split(":")[1]))
        assert [value.decode() for value in values] == expected
    kept = 'tsproxy_client_connections_total{broker="1",listener="default",result="served"}'
    assert opened[kept] == len(clients)


async def token_of_alice(proxy):
    async with await connect(proxy.bootstrap_servers) as client:
        assert (await client.handshake(SCRAM))[0] == 0
        assert (await client.authenticate(scram(SCRAM, "alice", USERS["alice"])))[0] == 0
        return await delegation_token(client)
