"""Nothing lost, nothing twice, nothing forbidden: whoever dies, whatever changes."""

import asyncio
import collections

import pytest
from aiokafka import AIOKafkaConsumer

from tests.attacks.attacker import HOST, port_of, until
from tests.proxy.test_reload import error_code
from tsproxy.testing.java_producer import Acknowledged, JavaProducer, JavaRecord
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy

MINUTE_MS = 60_000
RECORDS = 500_000
PARTITIONS = 6
KILLS = 5


async def test_a_limit_made_tighter_holds_on_a_connection_whose_batches_passed_before(kafka_440, topic):
    """The fast path forwards what it once learned to be acceptable; it must forget in time."""
    await kafka_440.create_topic(topic)
    ahead_ms = 30 * MINUTE_MS
    async with RunningProxy(
        kafka_440.bootstrap_servers, settings={"upstream.admin.refresh": "250ms"}
    ) as proxy:
        connection = await asyncio.open_connection(HOST, port_of(proxy))
        codes = [await error_code(connection, topic, ahead_ms) for _ in range(20)]
        assert codes == [0] * 20
        await kafka_440.alter_topic(topic, {"message.timestamp.after.max.ms": str(MINUTE_MS)})

        async def is_rejected_here():
            await error_code(connection, topic, ahead_ms)
            return any(line.get("verdict") == "rejected" for line in proxy.decisions())

        await until(is_rejected_here, "the proxy knows the new limit")
        codes = [await error_code(connection, topic, ahead_ms) for _ in range(20)]
        assert codes == [32] * 20
        connection[1].close()


@pytest.mark.full_only("takes a minute; rigs/truth/test_kills.py kills proxies under such producers")
@pytest.mark.parametrize("victim", ["proxy", "broker"])
async def test_kill_9_under_an_idempotent_producer_loses_nothing_and_doubles_nothing(tmp_path, victim):
    listen = f"{HOST}:{free_ports(1)[0]}"
    async with KafkaCluster() as kafka:
        await kafka.create_topic("t", partitions=PARTITIONS)

        def proxy_again():
            return RunningProxy(
                kafka.bootstrap_servers,
                decisions=tmp_path,
                # A port of its own: the brokers' follow from it, and are the same after a restart.
                arguments=["--listen", listen],
            )

        options = {
            "bootstrap.servers": listen,
            "acks": "all",
            "enable.idempotence": "true",
            "batch.size": "4000",
            "retry.backoff.ms": "50",
            "reconnect.backoff.ms": "20",
            "reconnect.backoff.max.ms": "200",
            "request.timeout.ms": "8000",
        }
        proxy = await proxy_again().__aenter__()
        async with JavaProducer(options) as producer:
            records = (JavaRecord("t", b"%d" % n, partition=n % PARTITIONS) for n in range(RECORDS))
            sending = asyncio.create_task(producer.send_all(records))
            for _ in range(KILLS):
                await _grown(kafka, by=RECORDS // (2 * KILLS))
                if victim == "proxy":
                    await proxy.kill()
                    proxy = await proxy_again().__aenter__()
                else:
                    await kafka.kill_node(1)
                    await kafka.start_node(1)
            results = await sending
        stored = await _values(kafka)
        await proxy.__aexit__(None, None, None)

    acknowledged = {n for n, result in enumerate(results) if isinstance(result, Acknowledged)}
    assert len(acknowledged) == RECORDS
    assert acknowledged - stored.keys() == set()
    assert [n for n, times in stored.items() if times > 1] == []


async def _grown(kafka, by):
    before = sum((await kafka.end_offsets("t")).values())

    async def has_grown():
        return sum((await kafka.end_offsets("t")).values()) >= before + by

    await until(has_grown, f"{by} records more")


async def _values(kafka):
    """How often each value stands in the log."""
    end = sum((await kafka.end_offsets("t")).values())
    found = collections.Counter()
    async with AIOKafkaConsumer(
        "t", bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest", group_id=None
    ) as consumer:
        while found.total() < end:
            for messages in (await consumer.getmany(timeout_ms=1000)).values():
                found.update(int(message.value) for message in messages)
    return found
