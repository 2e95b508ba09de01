"""The process above the workers: it keeps them running, reports for them, and stops them gracefully.

It forwards nothing itself. Its admin port serves the reports of the workers: metrics as one sum, and ready
while any worker is ready. Clients of a worker that has ended connect again, to one of the others.
"""

import asyncio
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.metrics_core import Metric

from tsproxy.clock import Clock
from tsproxy.config.problems import ConfigError, Problem
from tsproxy.config.reloaded import Reloaded
from tsproxy.config.settings import Config
from tsproxy.config.source import Source
from tsproxy.log_events.catalogue import PROXY_STARTED, PROXY_STARTING, PROXY_STOPPED, WORKER_WATCH_CRASHED
from tsproxy.model.addresses import Address
from tsproxy.proxy.admin.http import AdminHttp
from tsproxy.proxy.admin.pages import pages
from tsproxy.proxy.admin.report import Report, together
from tsproxy.proxy.limits.descriptors import needed, raise_limit
from tsproxy.proxy.logging import set_level
from tsproxy.proxy.metrics.catalogue import WORKER_READY, WORKER_RESTARTS
from tsproxy.proxy.metrics.stopwatch import Tasks
from tsproxy.proxy.metrics.totals import families_now, joined
from tsproxy.proxy.notes import complaints_logged, frames_of
from tsproxy.proxy.ports import ListenError
from tsproxy.proxy.reload.certificates import Certificates
from tsproxy.proxy.reload.reloader import Reloader
from tsproxy.proxy.service_manager import GRACE_MS, ServiceManager
from tsproxy.proxy.startup import Kept, StartError, salt_in
from tsproxy.proxy.wait import cancelled
from tsproxy.proxy.workers.addresses import reserved
from tsproxy.proxy.workers.member import PREPARE_S, Member
from tsproxy.tls.contexts import check_files

Show = Callable[[Mapping[str, Any]], None]

REPORT_INTERVAL_S: Final = 1.0
"""The interval of reports. If a worker is killed, the metrics lose its counts since its last report."""


async def supervise(config: Config, source: Source, manager: ServiceManager, show: Show) -> None:
    """Run `config.workers` workers until a signal stops them, then stop them gracefully. Reload all of them
    when `source` changes. `show` is called with the facts of the start.

    Raises ConfigError for unusable certificates, and StartError.
    """
    check_files(config)
    try:
        with reserved(config) as shared:
            await Supervisor(shared, source, manager, Clock(), show).run()
    except ListenError as error:
        raise StartError(str(error)) from error


class Supervisor:
    """Runs the workers. `config` has real ports, which stay reserved while it runs."""

    def __init__(
        self,
        config: Config,
        source: Source,
        manager: ServiceManager,
        clock: Clock,
        show: Show,
    ) -> None:
        self._certificates = certificates = Certificates(config, CollectorRegistry(), clock)
        """Also those of the workers, whose replacements begin with copies."""
        tls = certificates.admin.current if certificates.admin else None
        self._admin = AdminHttp(pages(self), lambda: self.config.admin, tls)
        self._admin_address: Address | None = None
        self._changing = changing = asyncio.Lock()
        self._clock = clock
        self._config = config
        # As each worker does: the metrics have the lowest limit of all processes, and the most open files.
        raise_limit(needed(config))
        self._manager = manager
        self._process = ProcessCollector(registry=None)
        self._tasks = Tasks()
        self._reloader = Reloader(source, config, self.adopt, manager)
        self._show = show
        self._started: set[int] = set()
        self._stopping = asyncio.Event()
        for_workers, salt = _without_admin_port(config), salt_in(config.decisions)
        self._members = [
            Member(
                number,
                for_workers,
                clock,
                partial(self._log_started, number),
                changing,
                lambda: Kept(salt, certificates.copies()),
            )
            for number in range(1, config.workers + 1)
        ]

    @property
    def config(self) -> Config:
        return self._config

    def hanging(self) -> list[str]:
        return [f"worker {member.number} hangs" for member in self._members if member.hangs]

    async def not_ready(self) -> list[str]:
        """A sentence for each reason of a worker why no client should connect here now; none if any worker is
        ready. The first answer to say so is enough: a worker that hangs delays no probe."""
        if self._stopping.is_set():
            return ["the proxy stops"]
        reasons: list[str] = []
        for answer in asyncio.as_completed([member.not_ready() for member in self._members]):
            if not (texts := await answer):
                return []
            reasons += texts
        return sorted(reasons)

    async def report(self) -> Report:
        await asyncio.gather(*(member.report() for member in self._members))
        known = together([member.known for member in self._members])
        if not self._stopping.is_set() and any(member.is_ready for member in self._members):
            known = replace(known, not_ready=(), warnings=(*known.not_ready, *known.warnings))
        about = _about(self._members)
        metrics = (*self._reloader.collect(), *about, *self._process.collect(), *self._tasks.collect())
        return replace(known, families=joined([known.families, families_now(metrics)]))

    async def run(self) -> None:
        """Run the workers until SIGTERM or SIGINT. Raises ListenError for the admin port, and StartError."""
        loop = asyncio.get_running_loop()
        with complaints_logged(loop):
            await self._run(loop)

    async def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop_signalled)
        loop.add_signal_handler(signal.SIGHUP, self._reloader.reload_now)
        if self._config.admin.bind is not None:
            self._admin_address = self._admin.start(self._config.admin.bind)
        upstream = [str(address) for address in self._config.upstream.bootstrap_servers]
        PROXY_STARTING(upstream=upstream, **self._where())
        self._manager.waiting()
        lives = [loop.create_task(member.run()) for member in self._members]
        stopping, watching = loop.create_task(self._stopping.wait()), loop.create_task(self._watch())
        reloading = loop.create_task(self._reloader.run())
        renewing = loop.create_task(self._certificates.watch())
        guarding = loop.create_task(self._certificates.keep_no_sessions())
        beating = loop.create_task(self._manager.beat(lambda: not self.hanging()))
        try:
            await asyncio.wait([stopping, *lives], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stopping.set()
            await cancelled(reloading)
            failures = await self._stop(lives)
            await cancelled(stopping, watching, beating, renewing, guarding)
            self._admin.stop()
            PROXY_STOPPED(connections_aborted=sum(member.connections_aborted for member in self._members))
        if failures:
            raise failures[0]

    async def adopt(self, change: Reloaded) -> None:
        """Apply another configuration in all workers, or in none. Raises ConfigError."""
        real = {listener.name: listener for listener in self._config.listeners}
        listeners = tuple(
            replace(listener, bind=real[listener.name].bind, brokers=real[listener.name].brokers)
            for listener in change.config.listeners
        )
        config = replace(change.config, listeners=listeners)
        for_workers = _without_admin_port(config)
        use_certificates = await asyncio.to_thread(self._certificates.prepare, config)
        async with self._changing:
            answers = await asyncio.gather(*(member.prepare(for_workers) for member in self._members))
            late = [
                f"worker {member.number} has not answered for {PREPARE_S:g} s"
                for member, answer in zip(self._members, answers, strict=True)
                if answer is None
            ]
            # Most often all workers have the same problems, and each text is a whole line.
            problems = dict.fromkeys([*late, *(problem for answer in answers for problem in answer or ())])
            if problems:
                for member in self._members:
                    member.abandon()
                raise ConfigError(*(Problem("", "", problem) for problem in problems))
            for member in self._members:
                member.commit(for_workers)
            self._config = config
            raise_limit(needed(config))
            use_certificates()
            set_level(config.log_level)
            # The orders are only sent so far. The reload is reported after all workers have applied it.
            await asyncio.gather(*(member.has_committed() for member in self._members))

    async def _stop(self, lives: Sequence[asyncio.Task[None]]) -> list[BaseException]:
        """Let all workers drain. Returns the errors of those that did not end cleanly."""
        for member in self._members:
            member.drain()
        _, late = await asyncio.wait(lives, timeout=(self._config.stop_ms + GRACE_MS) / 1000)
        if late:
            for member in self._members:
                member.kill()
        ends = await asyncio.gather(*lives, return_exceptions=True)
        return [end for end in ends if end is not None]

    async def _watch(self) -> None:
        """Keep the workers' reports up to date, for ever. A killed worker cannot report any more, so its last
        report must be a recent one. This also finds workers that hang."""
        while True:
            try:
                await asyncio.gather(*(member.look_after() for member in self._members))
            except Exception as error:
                # An error in our code must not end the checks of the workers.
                WORKER_WATCH_CRASHED(error=type(error).__name__, frames=frames_of(error))
            await asyncio.sleep(REPORT_INTERVAL_S)

    def _stop_signalled(self) -> None:
        self._manager.stopping(self._config.stop_ms)
        if self._stopping.is_set():
            for member in self._members:
                member.stop_now()
        self._stopping.set()

    def _log_started(self, number: int, facts: Mapping[str, Any]) -> None:
        """Log the start once, when the last worker accepts clients for the first time."""
        if number in self._started:
            return
        self._started.add(number)
        if len(self._started) == len(self._members):
            started = {"brokers": facts["brokers"], **self._where()}
            PROXY_STARTED(**started)
            self._manager.ready()
            self._show(started)

    def _where(self) -> dict[str, Any]:
        return {
            "listeners": {listener.name: str(listener.bind) for listener in self._config.listeners},
            "admin": str(self._admin_address) if self._admin_address else "off",
            "decisions": str(self._config.decisions.directory),
            "mode": self._config.policy.mode.value,
            "workers": self._config.workers,
        }


def _without_admin_port(config: Config) -> Config:
    return replace(config, admin=replace(config.admin, bind=None))


def _about(members: Sequence[Member]) -> Iterable[Metric]:
    restarts, ready = WORKER_RESTARTS.counts(), WORKER_READY.levels()
    for member in members:
        restarts.add_metric([str(member.number)], member.restarts)
        ready.add_metric([str(member.number)], member.is_ready)
    yield restarts
    yield ready
