"""Clients that begin frames and do not end them: they are cut off, and the others go on."""

import asyncio
import struct

from aiokafka import AIOKafkaProducer

from tests.attacks.attacker import PATIENCE_S, attackers, metric, port_of
from tsproxy.testing.proxy import RunningProxy

MIB = 1 << 20
ATTACKERS = 8


def beginning(announced, sent, topic=b"t"):
    """The first bytes of a Produce v3 request, in good order as far as they go."""
    head = struct.pack(">hhih", 0, 3, 1, 1) + b"a" + struct.pack(">hhi", -1, -1, 10_000)
    head += struct.pack(">ih", 1, len(topic)) + topic + struct.pack(">iii", 1, 0, announced - 100)
    return struct.pack(">i", announced) + head + bytes(sent - len(head) - 4)


def stalled(port, announced, sent, count=ATTACKERS):
    """So many connections that have sent the beginning of a request each, and say no more."""
    return attackers(port, beginning(announced, sent), count)


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
