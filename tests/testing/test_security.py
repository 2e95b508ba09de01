"""Secured listeners, met by three families of clients."""

from dataclasses import replace

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import Producer

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaRecord
from tests.full_only import RELEASES
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.kafka_cluster import KafkaCluster

USERS = {"alice": "wonder-land", "bob": "builder"}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


async def send_by_aiokafka(options: ClientOptions, topic: str = "orders") -> None:
    async with AIOKafkaProducer(**options.aiokafka()) as producer:
        await producer.send_and_wait(topic, b"aiokafka")


def send_by_librdkafka(options: ClientOptions) -> None:
    errors = []
    producer = Producer(options.librdkafka())
    producer.produce("orders", b"librdkafka", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(30) == 0
    assert errors == [None]


async def send_by_java(options: ClientOptions, version: str) -> None:
    async with JavaProducer(options.java(), version) as producer:
        (result,) = await producer.send_all([JavaRecord("orders", b"java")])
    assert isinstance(result, Acknowledged)


@pytest.mark.broker
@pytest.mark.parametrize("version", RELEASES)
async def test_every_client_family_gets_in_with_certificate_and_password_and_none_without(
    version, certificates
):
    """SASL_SSL with client certificates: everything at once."""
    async with KafkaCluster(
        version, security="SASL_SSL", mutual_tls=True, users=USERS, authority=certificates
    ) as kafka:
        await kafka.create_topic("orders")
        for mechanism in MECHANISMS:
            options = kafka.client_options("bob", mechanism)
            await send_by_aiokafka(options)
            send_by_librdkafka(options)
        await send_by_java(kafka.client_options("alice", "SCRAM-SHA-512"), version)
        assert await kafka.end_offsets("orders") == {0: 2 * len(MECHANISMS) + 1}
        with pytest.raises(KafkaConnectionError):
            await send_by_aiokafka(replace(options, identity=None))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"security": "TLS"}, "none of PLAINTEXT"),
        ({"security": "SSL"}, "an authority goes with SSL"),
        ({"mutual_tls": True}, "mutual_tls needs SSL"),
        ({"security": "SASL_PLAINTEXT"}, "users go with"),
        ({"users": USERS}, "users go with"),
        ({"security": "SASL_PLAINTEXT", "users": {"eve": 'x"y'}}, "letters, digits"),
    ],
)
def test_security_that_makes_no_sense_is_rejected_before_anything_starts(arguments, says):
    with pytest.raises(ValueError, match=says):
        KafkaCluster(**arguments)
