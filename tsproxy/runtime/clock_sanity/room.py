"""Watches the clock, tells of what is wrong with it, and has nothing enforced by one that is wrong."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final

import structlog
from aiokafka import AIOKafkaProducer
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tsproxy.config.settings import Config, WhenBeyond
from tsproxy.decisions import LifecycleKind
from tsproxy.runtime.clock import Clock
from tsproxy.runtime.clock_sanity.probe import NoLogAppendTimeError, Offset, measure, middle
from tsproxy.runtime.clock_sanity.steps import Steps
from tsproxy.runtime.own_producer import own_producer
from tsproxy.runtime.reload import Commit
from tsproxy.runtime.tls import CurrentTls

log = structlog.get_logger()

CLIENT_ID: Final = "tsproxy-clock"
LOOK_EVERY_S: Final = 1.0
RETRY_S: Final = 2.0
PATIENCE_S: Final = 10.0
"""How long one measurement of all brokers may take."""

Tell = Callable[[LifecycleKind, Mapping[str, object]], None]
"""Writes a line of the decision log."""


class ClockSanity(Collector):
    """`suspend` is called with True when nothing is to be enforced any more, with False when it is again."""

    def __init__(
        self,
        config: Config,
        tls: CurrentTls | None,
        clock: Clock,
        tell: Tell,
        suspend: Callable[[bool], None],
    ) -> None:
        self.is_suspended = False
        self.offsets: Mapping[int, Offset] = {}
        """To each broker, when it was last measured."""
        self._clock = clock
        self._config = config
        self._is_beyond = False
        self._news = asyncio.Event()
        """A step, or another configuration."""
        self._off: frozenset[int] = frozenset()
        self._steps = Steps(clock)
        self._suspend = suspend
        self._tell = tell
        self._tls = tls
        self._trouble: str | None = None

    def prepare(self, config: Config) -> Commit:
        """A reload; it cannot fail."""

        def commit() -> None:
            self._config = config
            if config.clock.probe is None:
                self.offsets = {}
            self._judge()
            self._news.set()

        return commit

    async def run(self) -> None:
        """For ever."""
        await asyncio.gather(self._watch_steps(), self._measure_again_and_again())

    # -- Steps ---------------------------------------------------------------------------------------

    async def _watch_steps(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self._has_stepped()

    def _has_stepped(self) -> bool:
        """True where the clock was set since the last look; then it is told, and measured anew."""
        step_ms = self._steps.look()
        if step_ms is None:
            return False
        log.warning("clock_stepped", by_ms=step_ms)
        self._tell(LifecycleKind.CLOCK, {"what": "stepped", "by_ms": step_ms})
        self._news.set()
        return True

    # -- Offsets -------------------------------------------------------------------------------------

    async def _measure_again_and_again(self) -> None:
        while True:
            try:
                await self._converse()
            except Exception as error:  # brokers come and go; what was measured stays
                self._met(error)
                await asyncio.sleep(RETRY_S)

    async def _converse(self) -> None:
        """Measure while there is something to measure by, over one producer."""
        if self._config.clock.probe is None:
            await self._wait(None)
            return
        upstream = self._config.upstream
        async with own_producer(upstream, self._tls, CLIENT_ID, acks=1) as producer:
            while (probe := self._config.clock.probe) is not None and self._config.upstream == upstream:
                await self._measure(producer, probe.topic)
                await self._wait(probe.every_ms / 1000)

    async def _measure(self, producer: AIOKafkaProducer, topic: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            offsets = await measure(producer, topic, self._clock)
        self._trouble = None
        if not self._has_stepped():  # else it was measured with two clocks
            self.offsets = offsets
            self._judge()

    async def _wait(self, seconds: float | None) -> None:
        """Until there is news, but no longer than that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    # -- What follows --------------------------------------------------------------------------------

    def _judge(self) -> None:
        """By what is known now, under the configuration of now."""
        settings, offset = self._config.clock, middle(self.offsets)
        self._tell_of_brokers(settings.max_offset_ms)
        was_beyond = self._is_beyond
        if offset is None:
            self._is_beyond = False
        elif was_beyond:
            self._is_beyond = abs(offset.ms) > settings.max_offset_ms
        else:
            self._is_beyond = offset.is_surely_beyond(settings.max_offset_ms)
        is_suspended = self._is_beyond and settings.when_beyond is WhenBeyond.AUDIT
        if (was_beyond, self.is_suspended) == (self._is_beyond, is_suspended):
            return
        is_news_for_sessions = self.is_suspended != is_suspended
        self.is_suspended = is_suspended
        self._tell_of_ours(offset)
        if is_news_for_sessions:
            self._suspend(is_suspended)

    def _tell_of_ours(self, offset: Offset | None) -> None:
        facts = {
            "offset_ms": None if offset is None else round(offset.ms),
            "max_offset_ms": self._config.clock.max_offset_ms,
            "enforced": not self.is_suspended,
        }
        facts = {name: fact for name, fact in facts.items() if fact is not None}
        if self._is_beyond:
            log.error("clock_offset_beyond", **facts)
        else:
            log.info("clock_offset_within", **facts)
        self._tell(LifecycleKind.CLOCK, {"what": "beyond" if self._is_beyond else "within", **facts})

    def _tell_of_brokers(self, most_ms: int) -> None:
        """Of each that is far off, once."""
        off = {node_id for node_id, offset in self.offsets.items() if offset.is_surely_beyond(most_ms)}
        for node_id in sorted(off - self._off):
            log.warning("broker_clock_differs", node_id=node_id, offset_ms=round(self.offsets[node_id].ms))
        self._off = frozenset(off)

    def _met(self, error: Exception) -> None:
        text = str(error) or type(error).__name__
        if isinstance(error, NoLogAppendTimeError):
            text = (
                "the topic keeps the times that it is sent: set its message.timestamp.type to LogAppendTime"
            )
        if text != self._trouble:
            self._trouble = text
            log.error("clock_not_measured", error=text)

    def collect(self) -> Iterable[Metric]:
        offsets = GaugeMetricFamily(
            "tsproxy_clock_offset_seconds", "This proxy's clock minus a broker's", labels=["broker"]
        )
        for node_id, offset in self.offsets.items():
            offsets.add_metric([str(node_id)], offset.ms / 1000)
        yield offsets
        yield CounterMetricFamily(
            "tsproxy_clock_steps", "How often the wall clock was set", value=self._steps.count
        )
        yield GaugeMetricFamily(
            "tsproxy_enforcement_suspended",
            "1 while nothing is enforced because of the clock",
            value=self.is_suspended,
        )
