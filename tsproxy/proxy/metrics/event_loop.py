"""The event loop: how late it runs a task that is due (`LoopLag`), and how many tasks it has (`Tasks`).

Four times a second a task is due. Its delay is the time that every connection of this process waits for the
loop, because the core is busy or one step took long.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.proxy.metrics.catalogue import EVENT_LOOP_LAG, TASKS

POLL_INTERVAL_S: Final = 0.25
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class LoopLag:
    def __init__(self) -> None:
        self.histogram = EVENT_LOOP_LAG.histogram(_BUCKETS)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due_s = loop.time() + POLL_INTERVAL_S
            await asyncio.sleep(POLL_INTERVAL_S)
            self.histogram.observe(max(0.0, loop.time() - due_s))


class Tasks(Collector):
    """Counts the tasks of the running event loop at each scrape, as `go_goroutines` does in Go."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def collect(self) -> Iterable[Metric]:
        yield TASKS.levels(len(asyncio.all_tasks(self._loop)))
