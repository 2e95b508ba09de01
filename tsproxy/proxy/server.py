"""Connects all parts of one process of the proxy: the only process, or one worker.

Start: the process reads certificates, opens the decision log and reserves ports. Then the proxy's own
connection finds the brokers, each broker gets its port, and clients are accepted. Stop (SIGTERM, SIGINT): the
process reports that it is not ready, and stays open for the drain delay. Then it accepts no new connections
and no new requests, and forwards missing answers of brokers until the drain timeout. Finally it writes the
last lines of the decision log. A second signal ends the delay; a signal during the drain ends the drain.
"""

import asyncio
import platform
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import structlog
from prometheus_client import ProcessCollector

from tsproxy import __version__
from tsproxy.clock import Clock
from tsproxy.cluster.upstream import Upstream
from tsproxy.config.reloaded import Reloaded
from tsproxy.config.settings import Config
from tsproxy.decisions import LifecycleKind
from tsproxy.decisions.totals import Totals
from tsproxy.log_events.catalogue import (
    DECISION_LOG_NOT_FINISHED,
    DRAIN_DELAYED,
    DRAIN_STARTED,
    JUDGES_NOT_ENDED,
)
from tsproxy.model.addresses import Address
from tsproxy.model.outcome import OldRequest, Outcome
from tsproxy.proxy.admin.http import AdminHttp
from tsproxy.proxy.admin.pages import pages
from tsproxy.proxy.admin.report import Report
from tsproxy.proxy.brokers.discovery import Cluster
from tsproxy.proxy.brokers.facts import ClusterFacts
from tsproxy.proxy.brokers.versions import BrokerVersions
from tsproxy.proxy.clock_check.monitor import ClockMonitor
from tsproxy.proxy.connections.context import ConnectionContext
from tsproxy.proxy.connections.drain import drain
from tsproxy.proxy.connections.listener import ProxyListener
from tsproxy.proxy.connections.relay import Relay
from tsproxy.proxy.connections.unserved_endpoints import UnservedEndpoints
from tsproxy.proxy.custom_rules import CustomRuleWatch
from tsproxy.proxy.dead_letters.sender import DeadLetters
from tsproxy.proxy.limits import descriptors
from tsproxy.proxy.limits.memory_guard import MemoryGuard
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.logging import set_level
from tsproxy.proxy.metrics import catalogue
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.metrics.results import ConnectionResults, OpenConnections
from tsproxy.proxy.metrics.stopwatch import LoopLag, Sampler, Tasks
from tsproxy.proxy.metrics.totals import families_now
from tsproxy.proxy.notes import Notes, complaints_logged
from tsproxy.proxy.parts import Commit, Part
from tsproxy.proxy.ports import ListenError
from tsproxy.proxy.reload.certificates import Certificates
from tsproxy.proxy.reload.waivers import Waivers
from tsproxy.proxy.startup import Kept, in_force, not_writable, recorder_of
from tsproxy.proxy.wait import cancelled, wait_at_most
from tsproxy.session.fresh_limits import FreshLimits
from tsproxy.wire.k18_api_versions import Versions

log = structlog.get_logger()


JUDGES_END_S: Final = 1.0
"""How long a thread that judges may take to notice that it must end: it checks after each piece."""


Announce = Callable[[str, Mapping[str, Any]], None]
"""Called with `starting`, `started` and `stopped`, and the facts of each."""


class Proxy:
    """All parts of one process. The constructor reserves the ports (ListenError).

    The process ends if a port of the first known brokers cannot be bound, since it could then serve no
    client, and if it may not read limits. With `kept` it replaces another one, and serves as its neighbours
    do: it retries such a port, as it does for brokers that are found later.
    """

    def __init__(
        self,
        config: Config,
        clock: Clock,
        announce: Announce,
        *,
        kept: Kept | None = None,
    ) -> None:
        self._announce = announce
        self._clock = clock
        self._config = config
        self._waits_no_more = asyncio.Event()
        self._is_closing = asyncio.Event()
        self._is_draining = False
        self._is_open = False
        self._kept = kept
        self._members: tuple[str | None, tuple[int, ...]] | None = None
        self.metrics = Metrics(lambda topic: self._cluster.knows_topic(topic))
        self._brokers = catalogue.BROKERS.gauge(self.metrics.registry)
        self._brokers_not_served = catalogue.BROKERS_NOT_SERVED.gauge(self.metrics.registry)
        self._topics_unreadable = catalogue.TOPICS_UNREADABLE.gauge(self.metrics.registry)
        self._stopping: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.metrics.rules.know(config.policy)
        self._certificates = certificates = Certificates(
            config, self.metrics.registry, clock, kept.certificates if kept else {}
        )
        self._custom_rules = CustomRuleWatch()
        tls = certificates.upstream.current if certificates.upstream else None
        self._recorder = recorder_of(
            config, tls, self.metrics, clock, self._drain_totals, lambda: self._sanity.time_for_ages(), kept
        )
        self._dead_letters = DeadLetters(
            config, tls, self._recorder.privacy, clock, lambda: self._cluster.has_authorizer
        )
        self._fresh_limits = FreshLimits()
        self._cluster = Cluster(
            config.upstream,
            tls,
            clock,
            self._apply_facts,
            reads_limits=config.policy.asks_broker,
            listeners=config.listeners,
            fresh_limits=self._fresh_limits,
            asks_authorizer=config.needs_proofs,
            needs_permission=kept is None,
        )
        self._offers = BrokerVersions(config.upstream, tls, self._offer)
        self._limits = ProcessLimits(
            descriptors.share_of(config), clock, is_lowered=descriptors.lowers(config)
        )
        self._memory_guard = MemoryGuard(
            config,
            self._limits,
            lambda: self.metrics.from_clients.bytes,
            catalogue.MEMORY_USED_RATIO.gauge(self.metrics.registry),
            catalogue.MEMORY_MARK.gauge(self.metrics.registry),
        )
        self._results = ConnectionResults(clock)
        self._upstream = Upstream(tls, self._cluster.client_connected)
        context = self._context()
        self._judges = context.judges
        self._limits.memory.beside = lambda: context.judges.abandoned_bytes + self._recorder.waiting_bytes
        shown = {name: credentials.current for name, credentials in certificates.listeners.items()}
        self._listeners = [
            ProxyListener(listener, config, shown.get(listener.name), self._upstream, context)
            for listener in config.listeners
        ]
        self._sanity = ClockMonitor(
            config,
            tls,
            clock,
            self._recorder.record_lifecycle,
            self._suspend,
            connections=self._cluster.connections,
            stamped_topics=self._cluster.stamped_topics,
        )
        self._unserved = UnservedEndpoints(
            self._listeners, self._count_brokers, self._cluster.request_brokers
        )
        self._admin = AdminHttp(
            pages(self),
            lambda: self.config.admin,
            certificates.admin.current if certificates.admin else None,
        )
        self._admin_address: Address | None = None
        self._parts = self._list_parts()
        for part in self._parts:
            if part.metrics is not None:
                self.metrics.add(part.metrics)

    def _context(self) -> ConnectionContext:
        return ConnectionContext(
            self._clock,
            self.metrics,
            Notes(log, self._clock),
            self._book,
            self._dead_letters.enqueue,
            self._cluster.want_topic,
            self._cluster.want_node,
            self._limits,
            results=self._results,
            suspect_hang=self._cluster.suspect_hang,
            timed=self._custom_rules.timed,
            memory_counted=self._memory_guard.step_done,
            thread_done=partial(self._memory_guard.step_done, is_large=True),
            fresh_limits=self._fresh_limits,
        )

    def _list_parts(self) -> tuple[Part, ...]:
        """Each part of the process once. A reload applies to them in this order, and warnings have it."""
        read_when_scraped = (
            (catalogue.UPSTREAM_UP, lambda: self._cluster.is_up),
            (catalogue.OWN_LOGIN_UP, lambda: self._cluster.is_logged_in),
            (catalogue.CLUSTER_CHANGED, lambda: self._cluster.has_changed),
            (catalogue.BROKERS_HANGING, lambda: len(self._cluster.hanging())),
            (catalogue.BROKERS_LIMITS_UNKNOWN, lambda: len(self._cluster.limits_unknown())),
            (catalogue.BROKER_NAMES_UNRESOLVED, lambda: len(self._upstream.unresolved)),
        )
        for described, read in read_when_scraped:
            described.gauge(self.metrics.registry).set_function(read)
        clock, cluster, limits = self._sanity, self._cluster, self._limits
        recorder, dead_letters = self._recorder, self._dead_letters
        custom, lag, guard = self._custom_rules, LoopLag(), self._memory_guard
        waivers = Waivers(self._config, self.metrics, self._clock)
        return (
            Part("broker names", warnings=self._upstream.warnings),
            Part("listeners", warnings=self._unserved.warnings, not_ready=self._unserved.not_ready),
            Part("clock probe", run=clock.run, apply=clock.apply, warnings=clock.warnings, metrics=clock),
            Part(
                "own login",
                run=cluster.log_in_anew,
                apply=cluster.apply,
                warnings=cluster.warnings,
                not_ready=cluster.not_ready,
            ),
            Part("decision log", run=recorder.tick, apply=recorder.apply, warnings=recorder.warnings),
            Part(
                "dead letters", apply=dead_letters.apply, warnings=dead_letters.warnings, metrics=dead_letters
            ),
            Part("certificates", run=self._certificates.watch),
            Part("certificates", run=self._certificates.keep_no_sessions),
            Part("connections", run=limits.run, apply=limits.apply),
            Part("connections", run=guard.run, apply=guard.apply, warnings=guard.warnings),
            Part("own login", run=self._offers.run, apply=self._offers.apply),
            Part("metrics", run=waivers.watch, apply=waivers.apply),
            Part("metrics", run=custom.watch, metrics=custom.histogram),
            *(Part("listeners", apply=listener.apply) for listener in self._listeners),
            Part("metrics", run=Sampler(self._relays).run),
            Part("metrics", run=lag.run, metrics=lag.histogram),
            Part("metrics", metrics=self._results),
            Part("metrics", metrics=OpenConnections(self._relays)),
            Part("metrics", metrics=ProcessCollector(registry=None)),
            Part("metrics", metrics=Tasks()),
        )

    async def run(self) -> None:
        """Run until `stop`. Raises PermissionDeniedError, ListenError, StartError."""
        loop = asyncio.get_running_loop()
        with complaints_logged(loop):
            await self._run(loop)

    async def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        await self._begin()
        learning = loop.create_task(self._cluster.run())
        serving = loop.create_task(self._unserved.run(self._clock))
        tasks = [loop.create_task(part.run()) for part in self._parts if part.run is not None]
        try:
            await asyncio.wait([self._stopping, learning], return_when=asyncio.FIRST_COMPLETED)
            for ended in (self._stopping, learning):
                if ended.done():
                    ended.result()
            await self._stay_open()
        finally:
            await cancelled(learning, serving)  # these first: a broker served now would open a port
            cut = await self._drain()
            await cancelled(*tasks)
            await self._end(cut)

    @property
    def config(self) -> Config:
        return self._config

    def stop(self) -> None:
        """Stop gracefully, in any state."""
        if not self._stopping.done():
            self._stopping.set_result(None)

    def close(self) -> None:
        """Stop gracefully, and accept no more clients."""
        self._is_closing.set()
        self.stop()

    def stop_now(self) -> None:
        """During the drain delay: accept no more clients. During the drain: wait for no client any more."""
        if self._config.drain_delay_ms and not self._is_draining:
            self._is_closing.set()
        else:
            self._waits_no_more.set()

    def stop_by_signal(self) -> None:
        """The first signal stops gracefully, another one calls `stop_now`."""
        if self._stopping.done():
            self.stop_now()
        else:
            self.stop()

    async def prepare(self, config: Config) -> Commit:
        """Prepare another configuration: read its certificates, the one part of a reload that may fail.
        Raises ConfigError; then nothing has changed. A file system that hangs must not block clients."""
        use_certificates = await asyncio.to_thread(self._certificates.prepare, config)

        def commit() -> None:
            self._config = config
            self.metrics.rules.know(config.policy)
            set_level(config.log_level)
            use_certificates()
            for part in self._parts:
                part.apply(config)
            self._recorder.record_lifecycle(LifecycleKind.RELOAD, in_force(config))

        return commit

    async def adopt(self, change: Reloaded) -> None:
        """Apply another configuration. If it raises ConfigError, nothing has changed."""
        (await self.prepare(change.config))()

    def hanging(self) -> list[str]:
        """Empty: a process that hangs cannot report it."""
        return []

    async def not_ready(self) -> list[str]:
        """A sentence for each reason why no client should connect here now; empty if there is none."""
        stops = ["the proxy stops"] if self._stopping.done() else []
        return stops + [text for part in self._parts for text in part.not_ready()]

    def warnings(self) -> list[str]:
        """A sentence for each problem that exists while clients are served. Forwarding data is more important
        than reporting on it: if these problems kept clients away, full disks on all machines would end all
        service."""
        return [text for part in self._parts for text in part.warnings()]

    async def report(self) -> Report:
        await self._recorder.measure()
        held_bytes = self._limits.memory.held_bytes + self._limits.memory.beside()
        self.metrics.buffered_bytes = held_bytes
        self.metrics.buffered_ratio = held_bytes / self._limits.memory.limit
        now_ms = self._clock.now_ms()
        return Report(
            not_ready=tuple(await self.not_ready()),
            families=families_now(self.metrics.families()),
            now_ms=now_ms,
            cluster_id=self._members[0] if self._members else None,
            brokers=tuple(broker for listener in self._listeners for broker in listener.brokers),
            offenders=tuple(self._recorder.offenders.highest(now_ms)),
            refused_by_kafka_4=self._recorder.refused_by_kafka_4(),
            clients_refused_by_kafka_4=self._recorder.clients_refused_by_kafka_4(),
            warnings=tuple(self.warnings()),
            lately=tuple(self._results.lately()),
        )

    async def _begin(self) -> None:
        config = self._config
        if config.admin.bind is not None:
            self._admin_address = self._admin.start(config.admin.bind)
        try:
            self._recorder.start(
                {
                    "version": __version__,
                    "python": platform.python_version(),
                    **in_force(config),
                },
                is_replacement=self._kept is not None,
            )
        except OSError as error:
            raise not_writable(config.decisions, error) from None
        upstream = [str(address) for address in config.upstream.bootstrap_servers]
        self._announce("starting", {"upstream": upstream, **self._where()})
        descriptors.check(config)
        self._dead_letters.start()

    async def _stay_open(self) -> None:
        """Stay open for the drain delay, since load balancers notice late that this process is not ready."""
        delay_ms = self._config.drain_delay_ms
        if not delay_ms or not self._is_open or self._is_closing.is_set():
            return
        DRAIN_DELAYED(delay_ms=delay_ms, advice="another SIGTERM ends the delay")
        await wait_at_most(delay_ms / 1000, self._is_closing)

    async def _drain(self) -> int:
        """Drain. Returns how many clients were cut off. The rest of the time is for dead letters."""
        self._is_draining = True
        clients, loop = len(self._relays()), asyncio.get_running_loop()
        DRAIN_STARTED(clients=clients, timeout_ms=self._config.drain_timeout_ms)
        ends = loop.time() + self._config.drain_timeout_ms / 1000
        cut = await drain(self._listeners, ends - loop.time(), self._waits_no_more)
        await self._dead_letters.stop(max(0.0, ends - loop.time()), self._waits_no_more)
        self._judges.stop()
        if not await asyncio.to_thread(self._judges.join, JUDGES_END_S):
            JUDGES_NOT_ENDED(advice="a judge is in the middle of a piece; it ends with the process")
        return cut

    async def _end(self, cut: int) -> None:
        """Write the last lines of the decision log and of the operators' log."""
        self._admin.stop()
        if not await self._recorder.stop():
            DECISION_LOG_NOT_FINISHED(directory=str(self._config.decisions.directory))
        self._announce("stopped", {"connections_aborted": cut})

    def _apply_facts(self, facts: ClusterFacts) -> None:
        """Serve the current brokers. Accept clients once there are brokers."""
        if self._is_draining:  # a new broker would open a port
            return
        for listener in self._listeners:
            listener.apply_facts(facts)
        self._topics_unreadable.set(len(facts.unreadable_topics))
        self._offers.set_brokers(facts.brokers)
        members = (facts.cluster_id, tuple(sorted(facts.brokers)))
        if members != self._members:
            self._members = members
            self._recorder.record_cluster(*members)
        self._count_brokers()
        if not self._is_open:
            self._is_open = True
            self._let_clients_in()

    def _count_brokers(self) -> None:
        for listener in self._listeners:
            self._brokers.labels(listener.name).set(listener.served_count)
            self._brokers_not_served.labels(listener.name).set(len(listener.unserved))

    def _let_clients_in(self) -> None:
        try:
            for listener in self._listeners:
                if self._kept is None:
                    listener.check_ports()
                listener.open()
        except ListenError as error:
            if not self._stopping.done():
                self._stopping.set_exception(error)
            return
        brokers = {
            listener.name: {str(node_id): endpoint.port for node_id, endpoint in listener.endpoints.items()}
            for listener in self._listeners
        }
        self._announce("started", {"brokers": brokers, **self._where()})

    def _book(self, booked: Outcome | Totals | OldRequest) -> None:
        if not isinstance(booked, OldRequest):
            self._cluster.topic_used(booked.topic)
            self._dead_letters.booked(booked)
        self._recorder.book(booked)

    def _offer(self, produce_versions: Versions | None) -> None:
        for listener in self._listeners:
            listener.offer(produce_versions)

    def _suspend(self, is_suspended: bool) -> None:
        for listener in self._listeners:
            listener.suspend(is_suspended)

    def _relays(self) -> list[Relay]:
        return [relay for listener in self._listeners for relay in listener.relays]

    def _drain_totals(self) -> list[Totals]:
        # A list, since an error in a relay ends the relay and removes it from the listener while we iterate.
        return [totals for relay in self._relays() for totals in relay.drain_totals()]

    def _where(self) -> dict[str, Any]:
        return {
            "listeners": {listener.name: str(listener.address) for listener in self._listeners},
            "admin": str(self._admin_address) if self._admin_address else "off",
            "decisions": str(self._config.decisions.directory),
            "mode": self._config.policy.mode.value,
        }
