"""Bytes that are no Kafka at all, or no whole request: each connection closes with one line."""

import asyncio
import struct

from aiokafka import AIOKafkaProducer

from tests.attacks.attacker import HOST, PATIENCE_S, attackers, last_words, metric, port_of, produce
from tests.proxy.world import until
from tsproxy.testing.proxy import RunningProxy

ATTACKERS = 8
TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(200)

GARBAGE = {
    "a TLS handshake": TLS_HELLO,
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n",
    "2147483647 bytes": struct.pack(">i", 2**31 - 1) + b"x" * 50,
    "-5 bytes": struct.pack(">i", -5) + b"x" * 50,
    "first bytes: 00 00 00 00": bytes(64),
    "API key 999": struct.pack(">ihhih", 14, 999, 0, 1, -1) + bytes(4),
    "7 bytes announced, 2 left": struct.pack(">ihhihh", 14, 0, 3, 1, -1, 7) + bytes(2),
    "'received_bytes': 60": produce(b"t", bytes(200))[:60],
    "'announced_bytes': 94371844": struct.pack(">ihh", 90 << 20, 0, 3) + bytes(200_000),
}


async def test_each_kind_of_garbage_is_told_in_one_line_with_its_sender(kafka_440):
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        for what, data in GARBAGE.items():
            before = len(proxy.log)
            assert await last_words(port_of(proxy), data, ends="_bytes'" in what) == b"", what

            def told(seen=before):
                return [line for line in proxy.log[seen:] if "client" in line]

            (line,) = await until(told, what)
            assert what in str(line)
            assert line["client"] == HOST
            assert line["client_port"] > 0


async def test_a_frame_that_stalls_is_cut_off_and_a_good_client_beside_it_goes_on(kafka_440, topic):
    await kafka_440.create_topic(topic)
    whole, settings = produce(b"t", bytes(500_000)), {"limits.stalled_frame": "100ms"}
    async with (
        RunningProxy(kafka_440.bootstrap_servers, settings=settings) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
        attackers(port_of(proxy), whole[:1000], ATTACKERS) as clients,
    ):
        for client in clients:
            assert await asyncio.wait_for(client.rest(), PATIENCE_S) == b""
        await producer.send_and_wait(topic, b"x")
        assert await metric(proxy, 'tsproxy_limits_total{limit="stalled_frame"}') == ATTACKERS

    told = [line for line in proxy.log if line.get("reason") == "stalled_frame"]
    assert len(told) == ATTACKERS
    assert told[0]["text"].endswith(f"came 1000 bytes of the {len(whole)} that it announced")
