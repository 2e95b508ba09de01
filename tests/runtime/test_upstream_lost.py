"""All brokers go and come back; upstreams that can never answer. What the proxy says of it, and how soon."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest
import structlog

from tests.runtime.running import series, until_page
from tests.runtime.surroundings import until
from tsproxy.config.settings import Address, Upstream
from tsproxy.runtime.clock import Clock
from tsproxy.runtime.cluster import TROUBLE_AGAIN_MS, Cluster
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy

NEVER = {"upstream.admin.refresh": "1h"}


class Hasty(Clock):
    """The real clock, `by_ms` further on."""

    by_ms = 0

    def monotonic_ms(self):
        return super().monotonic_ms() + self.by_ms


@asynccontextmanager
async def conversing(cluster):
    task = asyncio.create_task(cluster.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.broker
async def test_that_all_brokers_are_gone_and_back_is_noticed_without_waiting_for_a_refresh():
    async with KafkaCluster() as kafka, RunningProxy(kafka.bootstrap_servers, settings=NEVER) as proxy:
        await until_page(proxy, "/readyz", 200, "ready")
        for end in (kafka.kill_node, kafka.stop_node):
            await end(1)
            await until_page(proxy, "/readyz", 503, "the cluster does not answer the proxy's own connection")
            assert (await series(proxy))["tsproxy_upstream_up"] == 0
            await kafka.start_node(1)
            await until_page(proxy, "/readyz", 200, "ready")
            assert (await series(proxy))["tsproxy_upstream_up"] == 1


@pytest.mark.broker
async def test_a_broker_that_is_gone_or_back_makes_brokers_be_read_at_once():
    async with KafkaCluster(nodes=[1, 2]) as kafka:
        told = []
        node = kafka.node(1)
        upstream = Upstream((Address(node.host, node.port),), None, None, 3_600_000)
        async with conversing(Cluster(upstream, None, Clock(), told.append, lambda _: None)):
            await until(lambda: told and told[-1].brokers.keys() == {1, 2})
            await kafka.stop_node(2)  # in good order: the cluster hears of it before the connection ends
            await until(lambda: told[-1].brokers.keys() == {1})


async def test_an_upstream_that_does_not_answer_is_told_of_again_every_five_minutes():
    clock = Hasty()
    upstream = Upstream((Address("127.0.0.1", free_ports(1)[0]),), None, None, 30_000)
    with structlog.testing.capture_logs() as logs:
        async with conversing(Cluster(upstream, None, clock, lambda _: None, lambda _: None)):
            await until(lambda: logs)
            clock.by_ms += TROUBLE_AGAIN_MS
            await until(lambda: len(logs) == 2)
            clock.by_ms += TROUBLE_AGAIN_MS
            await until(lambda: len(logs) == 3)
    assert {line["event"] for line in logs} == {"upstream_unreachable"}
    assert [line["for_s"] // 300 for line in logs] == [0, 1, 2]
    assert {line["advice"].rpartition("; ")[2] for line in logs} == {
        "clients are not let in before a broker has answered"
    }
