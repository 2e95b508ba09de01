"""The process above the workers: it keeps them running, speaks for them, and stops them in order.

It relays nothing itself. Its admin port serves what the workers say of themselves: metrics as one sum,
ready while all of them are.
"""

import asyncio
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tsproxy.config.settings import Address, Config
from tsproxy.runtime.admin_http import AdminHttp, Answer
from tsproxy.runtime.clock import Clock
from tsproxy.runtime.metrics import CONTENT_TYPE
from tsproxy.runtime.ports import ListenError
from tsproxy.runtime.server import StartError, complain, livez_page, readyz_page
from tsproxy.runtime.tls import check_files
from tsproxy.runtime.workers.addresses import reserved
from tsproxy.runtime.workers.member import Member
from tsproxy.runtime.workers.totals import as_metrics, joined

log = structlog.get_logger()

REPORT_EVERY_S: Final = 1.0
"""What a worker that is killed has counted since its last report is missing from the metrics."""
GRACE_S: Final = 15.0
"""Beyond the drain timeout: goodbyes, and the last lines of the decision log."""


async def supervise(config: Config) -> None:
    """Run `config.workers` workers until told to stop, and stop them in order.

    Raises ConfigError for certificates that cannot be used, and StartError.
    """
    check_files(config)
    try:
        with reserved(config) as shared:
            await Supervisor(shared, Clock()).run()
    except ListenError as error:
        raise StartError(str(error)) from error


class Supervisor:
    """`config` has real ports; they stay its own for as long as it runs."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self._admin = AdminHttp(
            {"/metrics": self._metrics_page, "/livez": livez_page, "/readyz": self._readyz_page}
        )
        self._admin_address: Address | None = None
        self._config = config
        self._started: set[int] = set()
        self._stopping = asyncio.Event()
        for_workers = replace(config, admin_bind=None)
        self._members = [
            Member(number, for_workers, clock, partial(self._see_started, number))
            for number in range(1, config.workers + 1)
        ]

    async def run(self) -> None:
        """Returns after SIGTERM or SIGINT. Raises ListenError for the admin port, and StartError."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(complain)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told_to_stop)
        if self._config.admin_bind is not None:
            self._admin_address = await self._admin.start(self._config.admin_bind)
        upstream = [str(each) for each in self._config.upstream.bootstrap_servers]
        log.info("proxy_starting", upstream=upstream, **self._where())
        lives = [loop.create_task(member.run()) for member in self._members]
        told, asking = loop.create_task(self._stopping.wait()), loop.create_task(self._ask())
        try:
            await asyncio.wait([told, *lives], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stopping.set()
            failures = await self._stop(lives)
            for task in (told, asking):
                task.cancel()
            await asyncio.gather(told, asking, return_exceptions=True)
            self._admin.stop()
            log.info("proxy_stopped", clients_cut=sum(member.clients_cut for member in self._members))
        if failures:
            raise failures[0]

    async def _stop(self, lives: Sequence[asyncio.Task[None]]) -> list[BaseException]:
        """Let all workers drain. Returns why some did not end well."""
        for member in self._members:
            member.drain()
        _, late = await asyncio.wait(lives, timeout=self._config.drain_timeout_ms / 1000 + GRACE_S)
        if late:
            for member in self._members:
                member.kill()
        ends = await asyncio.gather(*lives, return_exceptions=True)
        return [end for end in ends if end is not None]

    async def _ask(self) -> None:
        """Keep what is known of the workers fresh, for ever: who is killed can tell no more."""
        while True:
            await self._report()
            await asyncio.sleep(REPORT_EVERY_S)

    async def _report(self) -> None:
        await asyncio.gather(*(member.report() for member in self._members))

    def _told_to_stop(self) -> None:
        if self._stopping.is_set():
            for member in self._members:
                member.hurry()
        self._stopping.set()

    def _see_started(self, number: int, facts: Mapping[str, Any]) -> None:
        """Told once: when the last worker lets clients in for the first time."""
        if number in self._started:
            return
        self._started.add(number)
        if len(self._started) == len(self._members):
            log.info("proxy_started", brokers=facts["brokers"], **self._where())

    def _where(self) -> dict[str, Any]:
        """All addresses, with their real ports."""
        return {
            "listeners": {listener.name: str(listener.bind) for listener in self._config.listeners},
            "admin": str(self._admin_address) if self._admin_address else "off",
            "decisions": str(self._config.decisions.directory),
            "mode": self._config.mode.value,
            "workers": self._config.workers,
        }

    async def _metrics_page(self) -> Answer:
        await self._report()
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Totals(self._members))
        return Answer(HTTPStatus.OK, generate_latest(registry), CONTENT_TYPE)

    async def _readyz_page(self) -> Answer:
        await self._report()
        amiss = [f"worker {member.number}: {text}" for member in self._members for text in member.amiss]
        return readyz_page(amiss)


class _Totals(Collector):
    """What the workers counted, as one, and how the workers themselves are."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members

    def collect(self) -> Iterable[Metric]:
        yield from as_metrics(joined(member.families for member in self._members))
        restarts = CounterMetricFamily(
            "tsproxy_worker_restarts", "Lives of a worker after its first", labels=["worker"]
        )
        ready = GaugeMetricFamily(
            "tsproxy_worker_ready", "1 while nothing is amiss with it", labels=["worker"]
        )
        for member in self._members:
            restarts.add_metric([str(member.number)], member.restarts)
            ready.add_metric([str(member.number)], not member.amiss)
        yield restarts
        yield ready
