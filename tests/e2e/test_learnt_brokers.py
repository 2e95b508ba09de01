"""A proxy without a connection of its own (`upstream.brokers_from: clients`), before real brokers."""

import asyncio

import pytest

from tests.proxy.world import until
from tsproxy.config.settings import BrokersFrom, Upstream
from tsproxy.model.addresses import Address
from tsproxy.proxy.brokers.learnt import LearntCluster
from tsproxy.testing.java_producer import Acknowledged, JavaProducer, JavaRecord, Rejected
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy

SETTINGS = {
    "upstream.brokers_from": "clients",
    "upstream.clients_use_sasl": "yes",
    "policy.limits_from": "config",
    "policy.defaults.message.timestamp.before.max.ms": "1h",
}


@pytest.mark.broker
async def test_brokers_are_learnt_from_answers_and_clients_reach_each_of_them():
    users = {"alice": "of-alice"}
    async with KafkaCluster(nodes=[1, 2], security="SASL_PLAINTEXT", users=users) as kafka:
        await kafka.create_topic("orders", partitions=4)
        async with RunningProxy(kafka.bootstrap_servers, settings=SETTINGS) as proxy:
            assert proxy.facts["brokers"] == {"default": {}}
            options = {**kafka.client_options().java(), "bootstrap.servers": proxy.bootstrap_servers}
            async with JavaProducer(options) as producer:
                records = [JavaRecord("orders", b"good", partition=each) for each in range(4)]
                results = await producer.send_all(records)
                [bad] = await producer.send_all([JavaRecord("orders", b"bad", timestamp_ms=1)])

        assert all(isinstance(each, Acknowledged) for each in results)
        assert isinstance(bad, Rejected)
        assert bad.exception == "InvalidTimestampException"
        served = [line["node_id"] for line in proxy.log if line["event"] == "broker_served"]
        assert sorted(served) == [1, 2]
        # Each line of the proxy's own: nothing here has logged in but alice.
        assert {line["principal"] for line in proxy.decisions() if "principal" in line} == {"User:alice"}
        for node_id in (1, 2):
            assert "Failed authentication" not in kafka.log_text(node_id)


async def test_a_broker_that_has_moved_is_found_at_its_new_address():
    told, upstream = [], upstream_of(Address("127.0.0.1", 9092))
    cluster = LearntCluster(upstream, None, told.append, lambda _: None)
    for port in (1, 1, 2):
        cluster.want_node(3, Address("kafka-3", port))
    await until(lambda: told and told[-1].brokers == {3: Address("kafka-3", 2)})


async def test_brokers_that_cannot_be_reached_are_told_once_and_found_again():
    [port] = free_ports(1)
    reachable = []
    cluster = LearntCluster(upstream_of(Address("127.0.0.1", port)), None, lambda _: None, reachable.append)
    running = asyncio.create_task(cluster.run())
    await until(lambda: len(reachable) >= 2)
    assert {text.startswith(f"127.0.0.1:{port}: ") for text in reachable} == {True}
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", port):
        await until(lambda: reachable[-1] is None)
    running.cancel()


def upstream_of(address):
    return Upstream((address,), refresh_ms=1_000, brokers_from=BrokersFrom.CLIENTS, clients_use_sasl=False)
