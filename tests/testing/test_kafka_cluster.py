"""Real brokers: what no other test notices, although all that use one rely on the rest."""

import socket

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from tests.full_only import RELEASES
from tests.kit.topics import values_of
from tsproxy.testing import kafka_cluster
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.kafka_node import KafkaStartError
from tsproxy.testing.ports import free_ports

SHORT_SESSIONS = {"broker.session.timeout.ms": "1500", "broker.heartbeat.interval.ms": "200"}
"""A killed broker's leaders move, and it is taken back, when its session has ended."""


async def send(kafka: KafkaCluster, topic: str, values: list[bytes]) -> None:
    async with AIOKafkaProducer(**kafka.client_options().aiokafka(), acks="all") as producer:
        for value in values:
            await producer.send_and_wait(topic, value, partition=0)


async def test_a_deleted_topic_is_gone_for_every_client(kafka, topic):
    await kafka.create_topic(topic)
    await kafka.delete_topic(topic)
    with pytest.raises(LookupError):
        await kafka.end_offsets(topic)


async def test_a_topic_that_brokers_reject_raises_with_their_words(kafka, topic):
    with pytest.raises(KafkaError, match=r"no\.such\.config"):
        await kafka.create_topic(topic, config={"no.such.config": "1"})


async def test_a_broker_logs_what_it_does(kafka):
    assert "Kafka Server started" in kafka.log_text(1)


@pytest.mark.broker
@pytest.mark.parametrize("version", RELEASES)
async def test_a_broker_comes_back_with_its_port_and_its_records(version):
    """After a stop in good order, and after a kill. Its node id is what the test chose."""
    async with KafkaCluster(version, nodes=(7,), properties=SHORT_SESSIONS) as kafka:
        port, pid = kafka.node(7).port, kafka.node(7).pid
        await kafka.create_topic("orders")
        await send(kafka, "orders", [b"one"])
        await kafka.stop_node(7)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        kafka.node(7).start()
        assert not kafka.node(7).is_up(), "its log still says that it started, the time before"
        await kafka.kill_node(7)
        await kafka.start_node(7)
        assert await values_of(kafka, "orders") == [b"one"]
        assert kafka.node(7).port == port
        assert kafka.node(7).pid != pid


@pytest.mark.broker
async def test_a_port_that_somebody_took_first_is_replaced(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        taken = somebody.getsockname()[1]
        choices = iter([range(taken, taken + 3)])
        monkeypatch.setattr(
            kafka_cluster, "free_ports", lambda count: next(choices, None) or free_ports(count)
        )
        async with KafkaCluster() as kafka:
            assert kafka.node(1).port != taken
        assert next(choices, None) is None


@pytest.mark.broker
@pytest.mark.parametrize("name", ["log.retention.ms", "authorizer.class.name"])
async def test_a_broker_that_does_not_come_up_shows_the_end_of_its_log(name):
    """Whether it is formatted or started."""
    with pytest.raises(KafkaStartError, match="nonsense"):
        await KafkaCluster(properties={name: "no.such.nonsense"}).__aenter__()
