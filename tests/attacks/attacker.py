"""Bytes that no decent client sends, and a connection to send them on."""

import asyncio
import contextlib
import struct
from pathlib import Path

from tests.kit.client import connect, connections
from tests.proxy.running import series
from tests.proxy.world import until
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.testing.proxy import RunningProxy

HOST = "127.0.0.1"
PATIENCE_S = 120


def produce(topic, records, *, client_id=b"app", version=3, acks=-1, correlation_id=1):
    """A whole Produce frame (v3 to v8) of one partition; names are bytes, so any may be sent."""
    name = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id)) + client_id
    payload = struct.pack(">hhi", 0, version, correlation_id) + name
    payload += struct.pack(">hhii", -1, acks, 10_000, 1)
    payload += struct.pack(">h", len(topic)) + topic
    payload += struct.pack(">iii", 1, 0, len(records)) + records
    return struct.pack(">i", len(payload)) + payload


def far_ahead(clock):
    """A batch of one record that no limit but "unlimited" lets pass: its time is in microseconds."""
    return batch([clock.now_ms() * 1000])


def port_of(proxy):
    return int(proxy.bootstrap_servers.rpartition(":")[2])


async def answer_to(port, data):
    """The bytes of the answer, up to the end of the first frame; None if the connection just ends."""
    async with await connect(f"{HOST}:{port}") as client, asyncio.timeout(PATIENCE_S):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            return await client.frame(data)
    return None


async def last_words(port, data, *, ends=False):
    """All that comes back until the proxy closes. `ends`: say after `data` that nothing more comes."""
    async with await connect(f"{HOST}:{port}") as client, asyncio.timeout(PATIENCE_S):
        client.send(data)
        if ends:
            client.ends()
        return await client.rest()


@contextlib.asynccontextmanager
async def attackers(port, sent, count):
    """So many connections that have sent these bytes, and say no more."""
    async with connections(f"{HOST}:{port}", count) as clients:
        for client in clients:
            client.send(sent)
        yield clients


@contextlib.asynccontextmanager
async def proxy_that_knows(kafka, topic, settings=None):
    """A proxy that judges by the topic's limits."""
    async with RunningProxy(kafka.bootstrap_servers, settings=settings) as proxy:

        async def is_judged_here():
            told = await answer_to(port_of(proxy), produce(topic.encode(), far_ahead(Clock()), version=8))
            return proxy.decisions() and told and proxy.decisions()[-1].get("verdict") == "rejected"

        await until(is_judged_here, "the topic's limits are known")
        yield proxy


async def metric(proxy, line):
    """The value of a metric by its line without the value; 0 where there is no such line."""
    return (await series(proxy)).get(line, 0.0)


def resident_mib(proxy):
    """Memory of the proxy's process."""
    pages = int(Path(f"/proc/{proxy.pid}/statm").read_text().split()[1])
    return pages * 4096 / 2**20
