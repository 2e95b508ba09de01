"""A proxy under load, watched from outside: memory, CPU, descriptors, and how long others wait."""

import asyncio
import contextlib
import json
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.attacks.attacker import HOST, far_ahead, port_of, produce
from tests.proxy.running import pids, series
from tests.proxy.world import until
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.testing.proxy import RunningProxy

GOOD_CLIENT_S = 0.1
"""Between two records of the good client."""
MOST_WAIT_CPU_S = 2.0
"""The proxy computes no longer while a good client waits for one answer. On a machine whose cores others use
as well, the client's own time says more about them than about the proxy."""
KIB = 1024
_TICKS = os.sysconf("SC_CLK_TCK")
_LAG = re.compile(r'tsproxy_event_loop_lag_seconds_bucket\{le="([^"]+)"\}')


@dataclass
class Watched:
    """The proxy's processes, and what was seen of them since `watching` began."""

    proxy: RunningProxy
    waits_s: list = field(default_factory=list)
    """The time that each record of the good client waited for its answer."""
    waits_cpu_s: list = field(default_factory=list)
    """The CPU that the proxy used meanwhile."""
    lags_before: dict = field(default_factory=dict)

    def __post_init__(self):
        self._pids = {self.proxy.pid, *pids(self.proxy).values()}
        self._memory_kib = self.memory_kib()
        self._cpu_s = self._cpu()
        self._descriptors = self.descriptors()

    def memory_kib(self):
        """The resident memory now."""
        return sum(self._status("VmRSS"))

    def grown_kib(self):
        return self.memory_kib() - self._memory_kib

    def peak_grown_kib(self):
        """The sum of the peaks, since the processes began, above the memory at the beginning."""
        return sum(self._status("VmHWM")) - self._memory_kib

    def cpu_s(self):
        return self._cpu() - self._cpu_s

    def descriptors(self):
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in self._pids)

    async def has_closed_all(self):
        """Returns when there are as few descriptors as at the beginning."""
        await until(lambda: self.descriptors() <= self._descriptors, "the connections are closed")

    async def lags(self):
        """Edge -> the number of the loop's delays up to it, since the processes began."""
        page = await series(self.proxy)
        return {found[1]: value for name, value in page.items() if (found := _LAG.fullmatch(name))}

    async def lag_s(self):
        """A bound of the loop's longest delay: the smallest bucket that holds all of them."""
        counts = {edge: count - self.lags_before[edge] for edge, count in (await self.lags()).items()}
        return min(float(edge) for edge, count in counts.items() if count == counts["+Inf"])

    async def told(self, load, *, most_wait_cpu_s=MOST_WAIT_CPU_S, **more):
        """Print a line, and hold the ceiling of what the good client waited."""
        lag_s = await self.lag_s()
        line = {
            "load": load,
            "peak_grown_mib": round(self.peak_grown_kib() / KIB, 1),
            "cpu_s": round(self.cpu_s(), 2),
            "longest_wait_s": round(max(self.waits_s), 3),
            "longest_wait_cpu_s": round(max(self.waits_cpu_s), 2),
            "good_records": len(self.waits_s),
            "lag_below_s": lag_s,
        }
        print(json.dumps(line | more))
        assert max(self.waits_cpu_s) <= most_wait_cpu_s

    def _status(self, name):
        texts = (Path(f"/proc/{pid}/status").read_text() for pid in self._pids)
        return [int(re.search(rf"{name}:\s+(\d+)", text)[1]) for text in texts]

    def _cpu(self):
        texts = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self._pids)
        return sum(int(text[11]) + int(text[12]) for text in texts) / _TICKS


@contextlib.asynccontextmanager
async def watching(proxy, topic):
    """A good client sends record after record meanwhile, each on a connection that it already has."""
    reader, writer = await asyncio.open_connection(HOST, port_of(proxy))
    try:
        await until(lambda: _is_judged(reader, writer, topic), "the topic's limits are known")
        watched = Watched(proxy)
        watched.lags_before = await watched.lags()
        task = asyncio.create_task(_send_good_records(reader, writer, topic, watched))
        await until(lambda: watched.waits_s, "the good client is served")
        try:
            yield watched
            served = len(watched.waits_s)
            await until(lambda: len(watched.waits_s) > served + 1, "the good client is served afterwards")
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
    finally:
        writer.close()


async def _send_good_records(reader, writer, topic, watched):
    while True:
        begun_s, begun_cpu_s = time.monotonic(), watched.cpu_s()
        answer = await _exchange(
            reader, writer, produce(topic.encode(), batch([Clock().now_ms()]), version=8)
        )
        code = _error_code(answer, topic)
        assert code == 0, f"a good record has error {code}"
        watched.waits_cpu_s.append(watched.cpu_s() - begun_cpu_s)
        watched.waits_s.append(time.monotonic() - begun_s)
        await asyncio.sleep(GOOD_CLIENT_S)


async def _is_judged(reader, writer, topic):
    """Whether the proxy rejects a record, and not yet the broker, which takes any."""
    answer = await _exchange(reader, writer, produce(topic.encode(), far_ahead(Clock()), version=8))
    return _error_code(answer, topic) != 0


async def _exchange(reader, writer, request):
    writer.write(request)
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))


def _error_code(answer, topic):
    """It stands after the correlation id, one topic with its name, and the index of the only partition."""
    at = 4 + 4 + 2 + len(topic) + 4 + 4
    return int.from_bytes(answer[at : at + 2])
