"""With 512 MiB the proxy survives expensive batches and abandoned connections, and serves good clients.

Each row of ATTACKS was found to hold a judge for hours, each of ANSWERED the loop for
seconds, or to take more memory than any limit said. A sample runs always, all with `TSPROXY_TEST=full`.

The peak of resident memory counts, as in a cgroup. RLIMIT_AS (`ulimit -v`) would count addresses: an idle
proxy has 390 MiB of them, and each thread 64 MiB more for its arena of malloc, of which it touches little.
"""

import asyncio
import contextlib
import re
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
import zstandard
from aiokafka import AIOKafkaProducer

from tests.attacks.attacker import (
    PATIENCE_S,
    answer_to,
    attackers,
    metric,
    port_of,
    proxy_that_knows,
    resident_mib,
    until,
)
from tests.attacks.attacker import produce as one_batch
from tests.attacks.test_limits import stalled
from tests.attacks.test_work import DESCRIBE_CONFIGS, SHELLS, headed
from tests.full_only import IS_FULL, variations
from tests.session.messages import SASL_AUTHENTICATE, produce, request
from tests.wire.batches import ZSTD, batch, record, unsigned, varint
from tsproxy.clock import Clock
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = [
    pytest.mark.broker,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells peak memory"),
]

MIB = 1 << 20
MAX_MIB = 512
MILLION = 1_000_000
DRAIN_S = 5
SETTINGS = {"limits.buffered": "128MiB", "limits.drain_timeout": f"{DRAIN_S}s"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kafka():
    """One of its own, so that an attack that a broker does not outlive fails no other test."""
    async with KafkaCluster("4.4.0", heap="1g") as it:
        yield it


def zstd(*pieces):
    packer = zstandard.ZstdCompressor().compressobj()
    return b"".join(packer.compress(piece) for piece in pieces) + packer.flush()


def million_records(at_ms, attributes=ZSTD):
    """In about 700 bytes."""
    body = zstd(record(0, 0, None, None) * MILLION)
    return batch([at_ms], attributes, body=body, records_count=MILLION, last_offset_delta=MILLION - 1)


def large_record(at_ms):
    """One of 240 MiB, in some KB."""
    head = b"\x00" + varint(0) + varint(0) + varint(-1) + varint(240 * MIB)
    length = varint(len(head) + 240 * MIB + 1)
    return batch([at_ms], ZSTD, body=zstd(length + head, *[bytes(MIB)] * 240, b"\x00"), records_count=1)


def many(records, partitions=2_000):
    return {"t": dict.fromkeys(range(partitions), records)}


def too_old():
    return Clock().now_ms() - 400 * 86_400_000


DAY = {"message.timestamp.before.max.ms": "86400000"}
COMPACTED = DAY | {"cleanup.policy": "compact"}


def frames(topics):
    """The bytes of that one request to topic "t"."""
    return lambda topic: [
        produce({topic if name == "t" else name: parts for name, parts in topics().items()}, version=8)
    ]


def tagged_header(size):
    """A Produce request whose header is fields of two bytes."""
    return headed(0, 9, unsigned(size // 2) + b"\x00\x00" * (size // 2))


def sasl_token(mib, of):
    """The first of v2, where nobody shook hands."""
    token = of * (mib * MIB // len(of))
    return request(SASL_AUTHENTICATE, 2, unsigned(len(token) + 1) + token + b"\x00")


def keyless(count):
    """Good but for the topic: a broker rejects them all, and names each."""
    body = zstd(record(0, 0, None, b"v") * count)
    return batch([Clock().now_ms()], ZSTD, body=body, records_count=count, last_offset_delta=count - 1)


def configurations_of(resource_type, name, count):
    """A DescribeConfigs request for one resource, named `count` times."""
    resource = bytes([resource_type]) + unsigned(len(name) + 1) + name.encode() + b"\x00\x00"
    return request(DESCRIBE_CONFIGS, 4, unsigned(count + 1) + resource * count + bytes(3))


def shells_of(make):
    """Five megabytes, none of whose batches is large enough to be expensive for its size."""
    records = batch([Clock().now_ms()], SHELLS[make], body=make(250_000), records_count=1)
    return {"t": dict.fromkeys(range(5), records)}


ATTACKS = {
    "3: a million records too old, in each of 2,000 partitions of a compacted topic": (
        COMPACTED,
        frames(lambda: many(million_records(too_old()))),
    ),
    "3: a million records in range, in each of 2,000 partitions": (
        DAY,
        frames(lambda: many(million_records(Clock().now_ms()))),
    ),
    "3: records of 240 MiB, too old": (DAY, frames(lambda: many(large_record(too_old()), 30))),
    "3: a million records that a broker is said to have stamped": (
        DAY,
        frames(lambda: many(million_records(Clock().now_ms(), ZSTD | 8))),
    ),
    "12: 1,000 topics that do not exist": (
        DAY,
        frames(lambda: {f"__made-up-{n}": {0: batch([Clock().now_ms()])} for n in range(1_000)}),
    ),
}
"""Finding and what it does -> the configuration of topic "t", and the requests of one connection."""

ANSWERED = {
    "5: fifty million tagged fields in a header": (DAY, lambda _: [tagged_header(100 * MIB)]),
    "6: SASL tokens of 8 MiB": (DAY, lambda _: [sasl_token(8, b"\x01")]),
    "11: 300,000 records without a key for a compacted topic": (
        COMPACTED,
        frames(lambda: {"t": {0: keyless(300_000)}}),
    ),
    "13: the configuration of 2,000 topics": (DAY, lambda topic: [configurations_of(2, topic, 2_000)]),
    "13: the configuration of 20,000 brokers": (DAY, lambda _: [configurations_of(4, "7", 20_000)]),
    "20,000 partitions of nothing": (
        DAY,
        lambda topic: [produce({topic: dict.fromkeys(range(20_000))})] * 2,
    ),
    "20,000 topics of one batch": (
        DAY,
        lambda _: [produce({f"none-{n}": {0: batch([Clock().now_ms()])} for n in range(20_000)})],
    ),
    "20,000 topics, twice": (DAY, lambda _: [produce({f"none-{n}": {} for n in range(20_000)})] * 2),
} | {
    f"17: {make.__name__}": (DAY, lambda topic, make=make: frames(partial(shells_of, make))(topic) * 4)
    for make in SHELLS
}
"""The same form, for attacks that come to an end: every request is answered, or the connection closed."""

ALL = (*ATTACKS, *ANSWERED)
SAMPLE = ("3: a million records too old", "12:")


def peak_mib(proxy):
    status = Path(f"/proc/{proxy.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


async def good_client_is_served(proxy, topic):
    """Also one whose batch is large enough to wait for its turn with the judges."""
    small, now_ms = batch([Clock().now_ms()]), Clock().now_ms()
    expensive = batch(
        [now_ms],
        ZSTD,
        body=zstd(record(0, 0, None, None) * 30_000),
        records_count=30_000,
        last_offset_delta=29_999,
    )
    for records in (small, expensive):
        assert await answer_to(port_of(proxy), one_batch(topic.encode(), records, version=8))


async def ended(clients, count):
    """All of them have `count` answers, or the proxy has closed."""
    for client in clients:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            async with asyncio.timeout(PATIENCE_S):
                for _ in range(count):
                    await client.read()


@pytest.mark.parametrize(
    "attack",
    variations(
        "test_work.py and test_strangers.py have headers, tokens, shells and partitions without a proxy",
        ALL,
        but=[name for name in ALL if name.startswith(SAMPLE)],
    ),
)
async def test_the_proxy_outlives_it_and_serves_a_good_client_meanwhile(kafka, topic, attack):
    config, make = (ATTACKS | ANSWERED)[attack]
    await kafka.create_topic(topic, config=config)
    requests = make(topic)
    async with proxy_that_knows(kafka, topic, SETTINGS) as proxy:
        count = 12 if attack.startswith("20,000") else 4
        async with attackers(port_of(proxy), b"".join(requests), count) as ends:
            await good_client_is_served(proxy, topic)
            if attack in ANSWERED:
                await ended(ends, len(requests))
        await good_client_is_served(proxy, topic)
        assert peak_mib(proxy) < MAX_MIB
    assert not [line for line in proxy.log if line["event"].endswith("_crashed")]


async def test_frames_of_connections_that_closed_are_not_kept_behind_the_judges(kafka, topic):
    """Finding 4: forty frames of 20 MiB took 941 MiB, and 20 MiB more with each."""
    await kafka.create_topic(topic, config=DAY)
    at_ms = too_old()
    body = zstandard.ZstdCompressor(level=1).compress(bytes(8))
    attack = produce(
        {topic: {n: million_records(at_ms) for n in range(20)}}
        | {f"{topic}.x": {0: batch([at_ms], ZSTD, body=body + bytes(20 * MIB), records_count=1)}}
    )
    assert len(attack) > 20 * MIB
    async with proxy_that_knows(kafka, topic, SETTINGS) as proxy:
        for _ in range(20 if IS_FULL else 13):  # all their frames would take more than the limit
            async with attackers(port_of(proxy), attack, 2) as ends:
                with contextlib.suppress(ConnectionError):
                    for client in ends:
                        await client.write(b"")
        await good_client_is_served(proxy, topic)
        assert peak_mib(proxy) < MAX_MIB


async def test_the_process_ends_in_its_time_while_judges_are_busy(kafka, topic):
    """Finding 3: it burnt a core 70 s after its last word, and would have for hours."""
    await kafka.create_topic(topic, config=DAY)
    attack = produce({topic: dict.fromkeys(range(20_000), million_records(Clock().now_ms()))})
    settings = SETTINGS | {"limits.records_per_request": str(1_000_000_000)}
    async with proxy_that_knows(kafka, topic, settings) as proxy, attackers(port_of(proxy), attack, 4):
        await good_client_is_served(proxy, topic)
        assert await proxy.stop() == 0


ANNOUNCED, SENT, STALLED = 90_000_000, 200_000, 12
"""The bytes of a frame that are announced and that come, and the connections that send so: straight to the
broker, they take its heap and make it deaf for good."""


async def test_a_broker_does_not_notice_frames_that_are_announced_and_do_not_come(kafka, topic):
    await kafka.create_topic(topic)
    async with RunningProxy(kafka.bootstrap_servers) as proxy:
        before_mib = resident_mib(proxy)

        async def have_come():
            return await metric(proxy, 'tsproxy_bytes_total{direction="from_client"}') >= STALLED * SENT

        async with (
            stalled(port_of(proxy), ANNOUNCED, SENT, STALLED),
            AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, acks="all") as producer,
        ):
            await until(have_come, "the beginnings have come")
            for n in range(100):
                await producer.send_and_wait(topic, str(n).encode())
            grown_mib = resident_mib(proxy) - before_mib
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as straight:
            await straight.send_and_wait(topic, b"after them all")
    assert await kafka.end_offsets(topic) == {0: 101}
    assert "OutOfMemoryError" not in kafka.log_text(1)
    assert grown_mib < 4 * STALLED * SENT / MIB + 16
