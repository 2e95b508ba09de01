"""Bytes that are no Kafka at all: each connection closes with one line, and leaves nothing behind."""

import asyncio
import random
import struct

import pytest

from tests.attacks.attacker import HOST, answer_to, last_words, port_of, produce, resident_mib
from tests.full_only import IS_FULL
from tests.proxy.world import until
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.testing.proxy import RunningProxy

STORM = 5_000 if IS_FULL else 500
STORMS = 12
AT_ONCE = 50

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


async def test_a_storm_of_garbage_costs_no_memory_and_few_lines_and_the_proxy_serves_on(kafka_440, topic):
    await kafka_440.create_topic(topic)
    chance = random.Random(4)
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        turn = asyncio.Semaphore(AT_ONCE)

        async def one():
            data = chance.choice([*GARBAGE.values(), chance.randbytes(chance.randrange(1, 4_000))])
            async with turn:
                assert await last_words(port_of(proxy), data, ends=True) == b""

        # How much is held at once is chance, and the largest so far stays: what leaks grows each time.
        sizes_mib = [0.0]
        for _ in range(STORMS):
            await asyncio.gather(*(one() for _ in range(STORM)))
            sizes_mib.append(resident_mib(proxy))
            if sizes_mib[-1] - sizes_mib[-2] < 0.5:
                break
        else:
            pytest.fail(f"resident MiB after each storm: {sizes_mib}")
        assert await answer_to(port_of(proxy), produce(topic.encode(), batch([Clock().now_ms()])))
        assert len(proxy.log) < 50
