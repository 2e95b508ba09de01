"""With 512 MiB the proxy outlives what is dear to judge and what is left behind, and good clients are served.

Each row of ATTACKS was found to hold a judge for hours, or to take more memory than any limit said.
"""

import asyncio
import contextlib
import re
from pathlib import Path

import pytest
import zstandard

from tests.attacks.attacker import HOST, answer_to, far_ahead, port_of, until
from tests.attacks.attacker import produce as one_batch
from tests.kernel.byte_strings import varint
from tests.session.messages import produce
from tests.wire.batches import ZSTD, batch, record
from tsproxy.runtime.clock import Clock
from tsproxy.testing.proxy import RunningProxy

pytestmark = [
    pytest.mark.broker,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells peak memory"),
]

MIB = 1 << 20
MOST_MIB = 512
MILLION = 1_000_000
DRAIN_S = 5
SETTINGS = {"limits.buffered": "128MiB", "limits.drain_timeout": f"{DRAIN_S}s"}


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

ATTACKS = {
    "3: a million records too old, in each of 2,000 partitions of a compacted topic": (
        COMPACTED,
        lambda: many(million_records(too_old())),
    ),
    "3: a million records in range, in each of 2,000 partitions": (
        DAY,
        lambda: many(million_records(Clock().now_ms())),
    ),
    "3: records of 240 MiB, too old": (DAY, lambda: many(large_record(too_old()), 30)),
    "3: a million records that a broker is said to have stamped": (
        DAY,
        lambda: many(million_records(Clock().now_ms(), ZSTD | 8)),
    ),
    "12: 1,000 topics that do not exist": (
        DAY,
        lambda: {f"__made-up-{n}": {0: batch([Clock().now_ms()])} for n in range(1_000)},
    ),
}
"""Finding and what it does -> the configuration of topic "t", and the topics of one request."""


def peak_mib(proxy):
    status = Path(f"/proc/{proxy.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


@contextlib.asynccontextmanager
async def proxy_that_knows(kafka, topic, settings=SETTINGS):
    async with RunningProxy(kafka.bootstrap_servers, settings=settings) as proxy:

        async def is_judged_here():
            told = await answer_to(port_of(proxy), one_batch(topic.encode(), far_ahead(Clock()), version=8))
            return proxy.decisions() and told and proxy.decisions()[-1].get("verdict") == "rejected"

        await until(is_judged_here, "the topic's limits are known")
        yield proxy


async def good_client_is_served(proxy, topic):
    """Also one whose batch is large enough to wait for its turn with the judges."""
    small, now_ms = batch([Clock().now_ms()]), Clock().now_ms()
    dear = batch(
        [now_ms],
        ZSTD,
        body=zstd(record(0, 0, None, None) * 30_000),
        records_count=30_000,
        last_offset_delta=29_999,
    )
    for records in (small, dear):
        assert await answer_to(port_of(proxy), one_batch(topic.encode(), records, version=8))


@contextlib.asynccontextmanager
async def attackers(proxy, frame, count):
    ends = [await asyncio.open_connection(HOST, port_of(proxy)) for _ in range(count)]
    try:
        for _, writer in ends:
            writer.write(frame)
        yield ends
    finally:
        for _, writer in ends:
            writer.close()


@pytest.mark.parametrize("attack", ATTACKS)
async def test_the_proxy_outlives_it_and_serves_a_good_client_meanwhile(kafka_431, topic, attack):
    config, make = ATTACKS[attack]
    await kafka_431.create_topic(topic, config=config)
    frame = produce({topic if name == "t" else name: parts for name, parts in make().items()})
    async with proxy_that_knows(kafka_431, topic) as proxy:
        async with attackers(proxy, frame, 4):
            await good_client_is_served(proxy, topic)
        await good_client_is_served(proxy, topic)
        assert peak_mib(proxy) < MOST_MIB
    assert not [line for line in proxy.log if line["event"].endswith("_crashed")]


async def test_frames_of_connections_that_closed_are_not_kept_behind_the_judges(kafka_431, topic):
    """Finding 4: forty frames of 20 MiB took 941 MiB, and 20 MiB more with each."""
    await kafka_431.create_topic(topic, config=DAY)
    at_ms = too_old()
    body = zstandard.ZstdCompressor(level=1).compress(bytes(8))
    frame = produce(
        {topic: {n: million_records(at_ms) for n in range(20)}}
        | {f"{topic}.x": {0: batch([at_ms], ZSTD, body=body + bytes(20 * MIB), records_count=1)}}
    )
    assert len(frame) > 20 * MIB
    async with proxy_that_knows(kafka_431, topic) as proxy:
        for _ in range(20):
            async with attackers(proxy, frame, 2) as ends:
                with contextlib.suppress(ConnectionError):
                    for _, writer in ends:
                        await writer.drain()
        await good_client_is_served(proxy, topic)
        assert peak_mib(proxy) < MOST_MIB


async def test_the_process_ends_in_its_time_while_judges_are_busy(kafka_431, topic):
    """Finding 3: it burnt a core 70 s after its last word, and would have for hours."""
    await kafka_431.create_topic(topic, config=DAY)
    frame = produce({topic: dict.fromkeys(range(20_000), million_records(Clock().now_ms()))})
    settings = SETTINGS | {"limits.records_per_request": str(1_000_000_000)}
    async with proxy_that_knows(kafka_431, topic, settings) as proxy, attackers(proxy, frame, 4):
        await good_client_is_served(proxy, topic)
        assert await proxy.stop() == 0
