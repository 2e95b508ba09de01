"""Very many connections: those that stay, those that come and go, those that send a byte now and then."""

import asyncio
import contextlib
import time

import pytest

from rigs.load.watched import watching
from tests.attacks.attacker import HOST, metric, port_of
from tests.attacks.test_limits import beginning
from tests.full_only import IS_FULL
from tests.session.messages import API_VERSIONS, request
from tsproxy.proxy.limits.descriptors import raise_limit
from tsproxy.testing.proxy import RunningProxy

CONNECTIONS = 10_000 if IS_FULL else 1_000
"""The larger number needs two workers where a process may open 20,000 files: each connection takes two."""
ARGUMENTS = ("--workers", "2") if IS_FULL else ()
MOST = CONNECTIONS * 14 // 10
"""Each worker has its share of the limit, and the kernel does not divide connections evenly."""
SETTINGS = {"limits.connections": str(MOST), "limits.connections_per_address": str(MOST)}
AT_ONCE = 100
ASK = request(API_VERSIONS, 0, client_id="load")

KIB_A_CONNECTION = 48
CPU_S_A_CONNECTION = 0.002
LEFT_KIB_A_CONNECTION = 24
"""Memory that stays in the process when the connections are gone, as malloc keeps what it had."""
LORIS_KIB_A_CONNECTION = 48
STALLED_S = 3


pytestmark = [pytest.mark.broker, pytest.mark.timeout(900)]


@pytest.fixture(autouse=True)
def open_files():
    """This process has one for each connection, where a shell often allows 1,024."""
    granted = raise_limit(CONNECTIONS + 1_000) or 0
    assert granted > CONNECTIONS, "the system grants too few open files"


@contextlib.asynccontextmanager
async def proxy_of(kafka, topic, **settings):
    await kafka.create_topic(topic)
    async with RunningProxy(
        kafka.bootstrap_servers, settings=SETTINGS | settings, arguments=ARGUMENTS
    ) as proxy:
        yield proxy


async def opened(port, count, first=b""):
    """So many connections, each of which has sent `first`; a hundred are made at a time."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one():
        async with gate:
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(first)
            return reader, writer

    return await asyncio.gather(*(one() for _ in range(count)))


async def answered(reader):
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))


async def test_connections_that_stay_take_a_bounded_memory_each_and_leave_nothing(kafka_440, topic):
    async with proxy_of(kafka_440, topic) as proxy, watching(proxy, topic) as watched:
        ends = await opened(port_of(proxy), CONNECTIONS, ASK)
        await asyncio.gather(*(answered(reader) for reader, _ in ends))
        kib = watched.grown_kib() / CONNECTIONS
        for _, writer in ends:
            writer.close()
        await watched.has_closed_all()
        await watched.told("connections", count=CONNECTIONS, kib_a_connection=round(kib, 1))
    assert kib <= KIB_A_CONNECTION


async def test_connections_that_come_and_go_cost_little_cpu_and_leave_nothing(kafka_440, topic):
    """A connection: it is accepted, the broker is connected, a request is answered, all is closed."""

    async def visit():
        [(reader, writer)] = await opened(port_of(proxy), 1, ASK)
        await answered(reader)
        writer.close()

    async with proxy_of(kafka_440, topic) as proxy, watching(proxy, topic) as watched:
        begun_s = time.monotonic()
        for _ in range(CONNECTIONS // AT_ONCE):
            await asyncio.gather(*(visit() for _ in range(AT_ONCE)))
        a_second = CONNECTIONS / (time.monotonic() - begun_s)
        await watched.has_closed_all()
        cpu_s, kib = watched.cpu_s() / CONNECTIONS, watched.grown_kib() / CONNECTIONS
        await watched.told(
            "new connections",
            count=CONNECTIONS,
            a_second=round(a_second),
            cpu_ms_a_connection=round(1000 * cpu_s, 2),
            left_kib_a_connection=round(kib, 2),
        )
    assert cpu_s <= CPU_S_A_CONNECTION
    assert kib <= LEFT_KIB_A_CONNECTION


async def test_requests_that_come_byte_by_byte_are_cut_off_and_take_a_bounded_memory(kafka_440, topic):
    """Slow loris. A byte now and then does not make the time for a request longer."""
    count = CONNECTIONS // 5

    async def trickle(reader, writer):
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b"x")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1), 0.5)

    async with (
        proxy_of(kafka_440, topic, **{"limits.stalled_frame": f"{STALLED_S}s"}) as proxy,
        watching(proxy, topic) as watched,
    ):
        ends = await opened(port_of(proxy), count, beginning(1 << 20, 1000))
        begun_s = time.monotonic()
        kib = watched.grown_kib() / count
        await asyncio.gather(*(trickle(*each) for each in ends))
        cut_s = time.monotonic() - begun_s
        cut = await metric(proxy, 'tsproxy_limits_total{limit="stalled_frame"}')
        for _, writer in ends:
            writer.close()
        await watched.has_closed_all()
        await watched.told(
            "slow loris", count=count, kib_a_connection=round(kib, 1), all_cut_after_s=round(cut_s, 1)
        )
    assert cut == count
    assert kib <= LORIS_KIB_A_CONNECTION
