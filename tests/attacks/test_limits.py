"""Clients that take all there is, in front of a real broker: it does not notice, and the others go on."""

import asyncio
import struct

import pytest
from aiokafka import AIOKafkaProducer

from tests.attacks.attacker import (
    PATIENCE_S,
    attackers,
    metric,
    port_of,
    resident_mib,
    until,
)
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

MIB = 1 << 20
ANNOUNCED = 90_000_000
SENT = 200_000
ATTACKERS = 8


def beginning(announced, sent, topic=b"t"):
    """The first bytes of a Produce v3 request, in good order as far as they go."""
    head = struct.pack(">hhih", 0, 3, 1, 1) + b"a" + struct.pack(">hhi", -1, -1, 10_000)
    head += struct.pack(">ih", 1, len(topic)) + topic + struct.pack(">iii", 1, 0, announced - 100)
    return struct.pack(">i", announced) + head + bytes(sent - len(head) - 4)


def stalled(port, announced, sent, count=ATTACKERS):
    """So many connections that have sent the beginning of a request each, and say no more."""
    return attackers(port, beginning(announced, sent), count)


async def has_come(proxy, size):
    return await metric(proxy, 'tsproxy_bytes_total{direction="from_client"}') >= size


@pytest.mark.broker
async def test_a_broker_does_not_notice_frames_that_are_announced_and_do_not_come(topic):
    """Straight to the broker, the same eight connections take its heap and make it deaf for good."""
    async with KafkaCluster(version="4.4.0", heap="512m") as kafka:
        await kafka.create_topic(topic)
        async with RunningProxy(kafka.bootstrap_servers) as proxy:
            before_mib = resident_mib(proxy)
            async with (
                stalled(port_of(proxy), ANNOUNCED, SENT),
                AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, acks="all") as producer,
            ):
                await until(lambda: has_come(proxy, ATTACKERS * SENT), "the beginnings have come")
                for n in range(100):
                    await producer.send_and_wait(topic, str(n).encode())
                grown_mib = resident_mib(proxy) - before_mib
            async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as straight:
                await straight.send_and_wait(topic, b"after them all")

        assert await kafka.end_offsets(topic) == {0: 101}
        assert "OutOfMemoryError" not in kafka.log_text(1)
    assert grown_mib < 4 * ATTACKERS * SENT / MIB + 16


async def test_a_frame_that_stalls_is_cut_off_and_a_good_client_beside_it_goes_on(kafka_440, topic):
    await kafka_440.create_topic(topic)
    settings = {"limits.stalled_frame": "100ms"}
    async with (
        RunningProxy(kafka_440.bootstrap_servers, settings=settings) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
        stalled(port_of(proxy), MIB, 1000) as clients,
    ):
        for client in clients:
            assert await asyncio.wait_for(client.rest(), PATIENCE_S) == b""
        await producer.send_and_wait(topic, b"x")
        assert await metric(proxy, 'tsproxy_limits_total{limit="stalled_frame"}') == ATTACKERS

    told = [line for line in proxy.log if line.get("reason") == "stalled_frame"]
    assert len(told) == ATTACKERS
    assert told[0]["text"].endswith(f"came 1000 bytes of the {MIB + 4} that it announced")
