"""Very large requests and answers, and clients that never read theirs."""

import asyncio
import contextlib
import socket
import time
from functools import partial

import pytest

from rigs.load.watched import KIB, watching
from tests.attacks.attacker import HOST, answer_to, metric, port_of, produce
from tests.attacks.test_small_and_expensive import culprits
from tests.full_only import IS_FULL
from tests.proxy.world import until
from tests.session.messages import produce as of_partitions
from tests.session.test_bombs import BOMBS
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = pytest.mark.timeout(900)

READERS = 100 if IS_FULL else 10
REQUESTS = 1_500
BUFFERED_MIB = 16
NEVER_READ_MIB = 320 if IS_FULL else 80
"""The judges may have made an answer of a MiB for each before the loop counts the first one."""
FRAME_BYTES = 104_857_600
"""`socket.request.max.bytes`: a broker takes no larger frame."""
FRAMES = 4
FRAME_MIB = 640
PARTITIONS, SENDERS, IN_A_ROW = 1_000, *((20, 20) if IS_FULL else (3, 10))
PARTITIONS_MIB = 256
CPU_S_A_PARTITION = 0.000_15
PARTITIONS_WAIT_CPU_S = 5.0
"""Each of 20 senders has answers of a thousand outcomes before the good client's turn."""
BOMBS_MIB = 256


@contextlib.asynccontextmanager
async def watched_proxy(kafka, topic, config=None, **settings):
    await kafka.create_topic(topic, config=config)
    async with (
        RunningProxy(kafka.bootstrap_servers, settings=settings) as proxy,
        watching(proxy, topic) as watched,
    ):
        yield proxy, watched


@pytest.mark.broker
async def test_clients_that_never_read_take_no_more_than_the_limit_of_buffered_bytes(kafka_440, topic):
    """Each offers 1,500 requests, whose answers have a thousand times their size, and reads none."""
    limit = {"limits.buffered": f"{BUFFERED_MIB}MiB"}
    async with (
        watched_proxy(kafka_440, topic, **limit) as (proxy, watched),
        contextlib.AsyncExitStack() as stack,
    ):
        storm = produce(topic.encode(), culprits(10_000, Clock().now_ms() * 1000), version=8) * REQUESTS
        for _ in range(READERS):
            attacker = stack.enter_context(socket.create_connection((HOST, port_of(proxy))))
            attacker.setblocking(False)
            sending = asyncio.create_task(asyncio.get_running_loop().sock_sendall(attacker, storm))
            stack.callback(sending.cancel)
        served = len(watched.waits_s)
        await until(lambda: len(watched.waits_s) >= served + 20, "the good client is served")
        closed = await metric(proxy, 'tsproxy_limits_total{limit="buffered"}')
        await watched.told("never read", count=READERS, closed=closed)
        assert 0 < closed < READERS
        assert watched.peak_grown_kib() <= NEVER_READ_MIB * KIB


@pytest.mark.broker
@pytest.mark.full_only("400 MiB to a broker of its own; test_limits.py announces such frames")
async def test_the_largest_frames_that_a_broker_takes_are_forwarded_in_a_bounded_memory(topic):
    config = {"max.message.bytes": str(FRAME_BYTES)}
    async with (
        KafkaCluster(heap="2g", properties={"message.max.bytes": str(FRAME_BYTES)}) as kafka,
        watched_proxy(kafka, topic, config) as (proxy, watched),
    ):
        frame = produce(topic.encode(), batch([Clock().now_ms()], value=bytes(FRAME_BYTES - 300)), version=8)
        assert FRAME_BYTES - 200 <= len(frame) <= FRAME_BYTES
        begun_s = time.monotonic()
        answers = await asyncio.gather(*(answer_to(port_of(proxy), frame) for _ in range(FRAMES)))
        await watched.told(
            "frames of 100 MiB", count=FRAMES, all_after_s=round(time.monotonic() - begun_s, 1)
        )
        assert all(answers)
        assert watched.peak_grown_kib() <= FRAME_MIB * KIB
        assert sum((await kafka.end_offsets(topic)).values()) >= FRAMES + len(watched.waits_s)


@pytest.mark.broker
async def test_requests_of_a_thousand_partitions_take_a_bounded_memory(kafka_440, topic):
    """The topic has one of them: the broker answers for each."""
    one = batch([Clock().now_ms()], value=bytes(100))
    sent = of_partitions({topic: dict.fromkeys(range(PARTITIONS), one)}, version=8) * IN_A_ROW

    async def send():
        reader, writer = await asyncio.open_connection(HOST, port_of(proxy))
        writer.write(sent)
        for _ in range(IN_A_ROW):
            assert (
                len(await reader.readexactly(int.from_bytes(await reader.readexactly(4)))) > 30 * PARTITIONS
            )
        writer.close()

    async with watched_proxy(kafka_440, topic) as (proxy, watched):
        await asyncio.gather(*(send() for _ in range(SENDERS)))
        requests, cpu_s = SENDERS * IN_A_ROW, watched.cpu_s()
        await watched.told("1,000 partitions", most_wait_cpu_s=PARTITIONS_WAIT_CPU_S, requests=requests)
        assert cpu_s <= CPU_S_A_PARTITION * requests * PARTITIONS
        assert watched.peak_grown_kib() <= PARTITIONS_MIB * KIB


@pytest.mark.broker
@pytest.mark.full_only("test_bombs.py holds the ceiling of each codec without a proxy")
async def test_bombs_of_every_codec_at_once_take_a_bounded_memory(kafka_440, topic):
    """Each unfolds to 1 GiB, and is rejected with the limit's name."""
    config = {"max.message.bytes": str(FRAME_BYTES)}
    async with watched_proxy(kafka_440, topic, config) as (proxy, watched):
        frames = [
            produce(topic.encode(), batch(codec=codec, body=make(), records_count=1), version=8)
            for codec, make in BOMBS.values()
        ]
        answers = await asyncio.gather(*map(partial(answer_to, port_of(proxy)), frames * 2))
        assert all(each and b"limits.decompressed_batch" in each for each in answers)
        await watched.told("bombs", count=len(answers))
        assert watched.peak_grown_kib() <= BOMBS_MIB * KIB
