"""`tsproxy_tasks`: the tasks of the event loop, as `go_goroutines` is for a program in Go."""

import asyncio
from collections.abc import Iterable

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.proxy.metrics.catalogue import TASKS


class Tasks(Collector):
    """Counts the tasks of the running event loop at each scrape."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def collect(self) -> Iterable[Metric]:
        yield TASKS.levels(len(asyncio.all_tasks(self._loop)))
