"""An operator's daily work, while idempotent producers send: nothing is lost, nothing is doubled, and no
producer notices.

With TSPROXY_TEST=full every broker is restarted, twice, and the proxy five times.
"""

import os
import shutil

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from tests.e2e.load import under_load
from tests.proxy.running import file_for
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy

FULL = os.environ.get("TSPROXY_TEST") == "full"
RECORDS = 1000 if FULL else 100
"""That are acknowledged between one event and the next."""
HOST = "127.0.0.1"
YEAR_MS = 365 * 86_400_000

pytestmark = pytest.mark.timeout(1800 if FULL else 600)  # each wait has its own bound, which says for what


def events(proxy, name):
    return [line for line in proxy.log if line["event"] == name]


@pytest.mark.broker
async def test_restarted_brokers_new_certificates_and_a_reload_lose_and_double_nothing(
    three_brokers, topic, certificates, tmp_path
):
    shown = {"certificate": tmp_path / "server.pem", "key": tmp_path / "server.key"}

    def show(identity):
        shutil.copy(identity.certificate, shown["certificate"])
        shutil.copy(identity.key, shown["key"])

    show(certificates.issue("first"))
    kafka = three_brokers
    await kafka.create_topic(topic, partitions=6, replication=3, config={"min.insync.replicas": "2"})
    config = tmp_path / "tsproxy.yaml"
    text = f"""\
upstream: {{ bootstrap_servers: [{kafka.bootstrap_servers}] }}
listeners:
  - bind: {HOST}:0
    tls: {{ certificate: "{shown["certificate"]}", key: "{shown["key"]}" }}
"""
    config.write_text(text)
    async with RunningProxy(config=config, arguments=["--workers", "2"]) as proxy:
        options = ClientOptions(proxy.bootstrap_servers, "SSL", certificates.certificate)
        async with under_load(topic, options, librdkafka=4 if FULL else 1) as load:
            for node_id in kafka.node_ids * 2 if FULL else kafka.node_ids[:1]:
                await kafka.stop_node(node_id)
                await load.goes_on(RECORDS)
                await kafka.start_node(node_id)
                await load.goes_on(RECORDS)
            show(certificates.issue("second"))
            await until(lambda: len(events(proxy, "certificates_reloaded")) >= 2)  # one a worker
            await load.goes_on(RECORDS)
            config.write_text(text + "policy: { clock_tolerance: 1s }\nlimits: { idle: 20m }\n")
            [line] = await until(lambda: events(proxy, "config_reloaded"))
            assert set(line["changed"]) == {"policy.clock_tolerance", "limits.idle"}
            await load.goes_on(RECORDS)
    await load.is_in_the_log_once(kafka, topic)
    assert not [line for line in proxy.log if line["event"].endswith("_crashed")]


@pytest.mark.broker
@pytest.mark.full_only("three brokers of its own; above, brokers of one version restart under load")
@pytest.mark.parametrize("before", ["4.3.1", "3.9.1"])
async def test_a_rolling_upgrade_loses_and_doubles_nothing_and_lets_nothing_pass(topic, before):
    """To 4.4.0, broker by broker, so the cluster is mixed meanwhile. No record of a year ahead is stored. The
    topic has the limit that 4.4.0 has by default, since 3.9.1 has none."""
    async with KafkaCluster(before, nodes=3) as kafka:
        await kafka.create_topic(topic, partitions=6, replication=3, config={"min.insync.replicas": "2"})
        limit = {"message.timestamp.after.max.ms": "3600000"}
        await kafka.create_topic(f"{topic[:200]}.ahead", partitions=3, replication=3, config=limit)
        async with (
            RunningProxy(kafka.bootstrap_servers) as proxy,
            under_load(topic, ClientOptions(proxy.bootstrap_servers, "PLAINTEXT")) as load,
            AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
        ):
            for node_id in kafka.node_ids:
                await kafka.stop_node(node_id)
                await load.goes_on(RECORDS)
                await kafka.start_node(node_id, "4.4.0")
                await load.goes_on(RECORDS)
                ahead_ms = Clock().now_ms() + YEAR_MS
                with pytest.raises(InvalidTimestampError):
                    await producer.send_and_wait(f"{topic[:200]}.ahead", b"x", timestamp_ms=ahead_ms)
        await load.is_in_the_log_once(kafka, topic)
        assert set(kafka.versions.values()) == {"4.4.0"}
        assert set((await kafka.end_offsets(f"{topic[:200]}.ahead")).values()) == {0}


async def test_a_restarted_proxy_loses_and_doubles_nothing(kafka_440, topic, tmp_path):
    """Drained, ended, begun again at the same ports, as a service manager does it for a new version."""
    await kafka_440.create_topic(topic, partitions=3)
    first, *_ = free_ports(10)
    config = file_for(kafka_440, tmp_path, f"bind: '{HOST}:{first}', brokers: {{ count: 5 }}")
    proxy = await RunningProxy(config=config).__aenter__()
    options = ClientOptions(proxy.bootstrap_servers, "PLAINTEXT")
    try:
        async with under_load(topic, options, librdkafka=4 if FULL else 1) as load:
            for _ in range(5 if FULL else 1):
                await load.goes_on(RECORDS)
                await proxy.__aexit__(None, None, None)
                assert events(proxy, "proxy_stopped")[0]["connections_aborted"] == 0
                proxy = await RunningProxy(config=config).__aenter__()
            await load.goes_on(RECORDS)
    finally:
        await proxy.__aexit__(None, None, None)
    await load.is_in_the_log_once(kafka_440, topic)
