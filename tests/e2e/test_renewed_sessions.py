"""Real clients renew their sessions (KIP-368) through the proxy, while requests are under way.

They do so by a token, by a password, and by a delegation token (KIP-48).
"""

import asyncio
import time
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaRecord
from tests.e2e.load import values_of
from tests.e2e.principals import delegation_token
from tests.e2e.sasl import connect, scram
from tests.proxy.running import series
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = [
    pytest.mark.broker,
    pytest.mark.full_only("takes the time of two sessions; test_sasl.py renews a session by hand"),
]

LIFETIME_MS = 10_000
SESSIONS = 2.5
AT_ONCE = 50
"""Records that a client sends without waiting, each in a batch of its own."""
LISTENER = "listener.name.clients"
SCRAM, BEARER = "SCRAM-SHA-512", "OAUTHBEARER"
USERS = {"alice": "password-of-alice", "proxy": "password-of-the-proxy"}
PROPERTIES = {
    f"{LISTENER}.sasl.enabled.mechanisms": f"PLAIN,{SCRAM},{BEARER}",
    f"{LISTENER}.oauthbearer.sasl.jaas.config": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    ),
    "delegation.token.secret.key": "a-key-of-the-brokers",
    **{
        f"{LISTENER}.{name}.connections.max.reauth.ms": str(LIFETIME_MS)
        for name in (SCRAM.lower(), BEARER.lower())
    },
}
ADMIN = {
    "upstream.admin.sasl.mechanism": SCRAM,
    "upstream.admin.sasl.username": "proxy",
    "upstream.admin.sasl.password": USERS["proxy"],
}
EACH_ALONE = {"linger.ms": "0", "batch.size": "1"}
OF_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
OF_BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def sessions():
    """Again and again, until sessions that begin now have been renewed twice."""
    end = time.monotonic() + SESSIONS * LIFETIME_MS / 1000
    while time.monotonic() < end:
        yield


class Java:
    """Kafka's own producer, with what its JAAS says."""

    def __init__(self, servers, mechanism, jaas):
        sasl = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
        self._options = {"bootstrap.servers": servers, **sasl, **EACH_ALONE}

    async def run(self, topic):
        """Returns the records that were acknowledged, and how many were too old."""
        taken, too_old = [], 0
        async with JavaProducer(self._options) as producer:
            for _ in sessions():
                values = [b"%d" % (len(taken) + n) for n in range(AT_ONCE)]
                told = await producer.send_all(JavaRecord(topic, value) for value in values)
                assert all(isinstance(each, Acknowledged) for each in told), told
                taken += values
                [told] = await producer.send_all([JavaRecord(topic, b"too old", timestamp_ms=1)])
                too_old += told.exception == "InvalidTimestampException"
        return taken, too_old


class Librdkafka:
    """librdkafka, with a password."""

    def __init__(self, options):
        more = {"enable.idempotence": True, "linger.ms": 0, "batch.num.messages": 1}
        self._options = {**options.librdkafka(), **more}

    async def run(self, topic):
        return await asyncio.to_thread(self._run, topic)

    def _run(self, topic):
        taken, errors = [], []

        def answered(error, message):
            if error is None:
                taken.append(message.value())
            else:
                errors.append(error.name())

        producer, number = Producer(self._options), 0
        for _ in sessions():
            for _ in range(AT_ONCE):
                producer.produce(topic, b"%d" % number, on_delivery=answered)
                number += 1
            producer.flush()
            producer.produce(topic, b"too old", timestamp=1, on_delivery=answered)
            producer.flush()
        assert set(errors) == {"INVALID_TIMESTAMP"}
        return taken, len(errors)


async def test_sessions_are_renewed_while_requests_are_under_way():
    """Each record is stored once and in order, none that is too old, and no connection ends."""
    async with (
        KafkaCluster(security="SASL_PLAINTEXT", users=USERS, properties=PROPERTIES) as kafka,
        RunningProxy(kafka.bootstrap_servers, settings=ADMIN) as proxy,
    ):
        token_id, token = await token_of_alice(proxy)
        servers = proxy.bootstrap_servers
        clients = {
            "by-bearer": Java(servers, BEARER, f'{OF_BEARER} unsecuredLoginStringClaim_sub="alice";'),
            "by-delegation-token": Java(
                servers, SCRAM, f'{OF_SCRAM} username="{token_id}" password="{token}" tokenauth="true";'
            ),
            "by-password": Librdkafka(
                replace(kafka.client_options("alice", SCRAM), bootstrap_servers=servers)
            ),
        }
        for topic in clients:
            await kafka.create_topic(topic, config={"message.timestamp.before.max.ms": "60000"})
        told = await asyncio.gather(*(client.run(topic) for topic, client in clients.items()))
        stored = [await values_of(kafka, topic) for topic in clients]
        opened = await series(proxy)
    for (taken, too_old), values in zip(told, stored, strict=True):
        assert too_old
        assert values == taken
    kept = 'tsproxy_client_connections_total{broker="1",listener="default",result="served"}'
    assert opened[kept] == len(clients)


async def token_of_alice(proxy):
    client = await connect(proxy.bootstrap_servers)
    assert (await client.handshake(SCRAM))[0] == 0
    assert (await client.authenticate(scram(SCRAM, "alice", USERS["alice"])))[0] == 0
    made = await delegation_token(client)
    client.close()
    return made
