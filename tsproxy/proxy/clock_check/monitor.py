"""Watches the clock, reports problems with it, and can suspend enforcement while it is wrong."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import structlog
from aiokafka import AIOKafkaProducer
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.clock import Clock
from tsproxy.cluster.kafka_producer import connected_producer
from tsproxy.config.settings import Config, WhenBeyond
from tsproxy.config.values import duration_text
from tsproxy.decisions import LifecycleKind
from tsproxy.proxy.clock_check import system_clock as kernel
from tsproxy.proxy.clock_check.doubts import Doubts, Witness
from tsproxy.proxy.clock_check.listening import Connections, newest_stamps
from tsproxy.proxy.clock_check.probe import NoLogAppendTimeError, Offset, measure, middle
from tsproxy.proxy.clock_check.stamps import Stamps
from tsproxy.proxy.clock_check.steps import Steps
from tsproxy.proxy.metrics.catalogue.clock import CLOCK_OFFSET, CLOCK_STEPS, ENFORCEMENT_SUSPENDED
from tsproxy.proxy.notes import frames_of
from tsproxy.proxy.reloadable import Commit
from tsproxy.proxy.trouble import Trouble
from tsproxy.proxy.wait import wait_at_most
from tsproxy.tls.contexts import CurrentTls

log = structlog.get_logger()

CLIENT_ID: Final = "tsproxy-clock"
LOOK_EVERY_S: Final = 1.0
RETRY_S: Final = 2.0
PATIENCE_S: Final = 10.0
"""How long one measurement of all brokers may take."""
LISTEN_AGAIN_S: Final = 2.0
LISTEN_EVERY_S: Final = 30.0
EAGER_LISTENS: Final = 15
"""How many pairs of queries follow each other quickly: at the start, after a step, and while brokers seem far
off. Queries come in pairs because only a timestamp that grows between two queries gives an offset."""

_PROBE_TOPIC: Final = (
    "the topic keeps the times that it is sent: set its message.timestamp.type to LogAppendTime"
)

Emit = Callable[[LifecycleKind, Mapping[str, object]], None]
"""Writes a lifecycle line to the decision log."""


class ClockMonitor(Collector):
    """Checks the clock. `suspend` is called with True when enforcement is suspended, with False when it
    resumes."""

    def __init__(
        self,
        config: Config,
        tls: CurrentTls | None,
        clock: Clock,
        emit: Emit,
        suspend: Callable[[bool], None],
        *,
        connections: Connections = dict,
        stamped_topics: Callable[[], Sequence[str]] = tuple,
        kernel_is_synchronised: Callable[[], bool | None] = kernel.is_synchronised,
    ) -> None:
        """`connections` returns the open connections to brokers, `stamped_topics` the topics with
        LogAppendTime."""
        self.is_suspended = False
        self.offsets: Mapping[int, Offset] = {}
        """The offset to each broker at the last measurement."""
        self._clock = clock
        self._connections = connections
        self._doubts = Doubts()
        self._kernel_is_synchronised = kernel_is_synchronised
        self._listens_left = EAGER_LISTENS
        self._stamped_topics = stamped_topics
        self._stamps = Stamps()
        self._config = config
        self._is_beyond = False
        self._changed = asyncio.Event()
        """Set at a step of the clock, or at a new configuration."""
        self._off: frozenset[int] = frozenset()
        self._steps = Steps(clock)
        self._suspend = suspend
        self._emit = emit
        self._tls = tls
        self._trouble = Trouble("clock_not_measured", None, logs_changes=True)

    def prepare(self, config: Config) -> Commit:
        """A reload; it cannot fail."""

        def commit() -> None:
            self._config = config
            if config.clock.probe is None:
                self.offsets = self._stamps.offsets(self._clock.monotonic_ms())
            self._judge()
            self._changed.set()

        return commit

    async def run(self) -> None:
        """Runs for ever."""
        await asyncio.gather(self._watch_steps(), self._measure_again_and_again(), self._listen())

    def warnings(self) -> list[str]:
        """A sentence for each reason to doubt this proxy's clock now."""
        return self._doubts.texts

    # -- Steps ---------------------------------------------------------------------------------------

    async def _watch_steps(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self._has_stepped()
            self._check_kernel()

    def _check_kernel(self) -> None:
        text = "the kernel says that nothing keeps this machine's clock right (adjtimex: not synchronised)"
        self._doubts.put(Witness.KERNEL, text if self._kernel_is_synchronised() is False else None)

    def _has_stepped(self) -> bool:
        """True if the clock was set since the last check. Then it logs the step and starts a new
        measurement."""
        step_ms = self._steps.look()
        if step_ms is None:
            return False
        log.warning("clock_stepped", by_ms=step_ms)
        self._emit(LifecycleKind.CLOCK, {"what": "stepped", "by_ms": step_ms})
        self._stamps.forget()
        # The known offsets belong to the clock before the step, so they move by the same amount.
        self.offsets = {
            node_id: Offset(each.ms + step_ms, each.error_ms + 1) for node_id, each in self.offsets.items()
        }
        self._judge()
        self._listens_left = EAGER_LISTENS
        self._changed.set()
        return True

    # -- Offsets -------------------------------------------------------------------------------------

    async def _measure_again_and_again(self) -> None:
        while True:
            try:
                await self._converse()
            except Exception as error:  # a broker failed; the last measurement stays
                self._trouble.failed(_PROBE_TOPIC if isinstance(error, NoLogAppendTimeError) else error)
                await asyncio.sleep(RETRY_S)

    async def _converse(self) -> None:
        """Measure as long as a probe topic is configured, with one producer."""
        if self._config.clock.probe is None:
            await self._wait_for_changes(None)
            return
        upstream = self._config.upstream
        async with connected_producer(upstream, self._tls, CLIENT_ID, acks=1) as producer:
            while (probe := self._config.clock.probe) is not None and self._config.upstream == upstream:
                await self._measure(producer, probe.topic)
                await self._wait_for_changes(probe.every_ms / 1000)

    async def _measure(self, producer: AIOKafkaProducer, topic: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            offsets = await measure(producer, topic, self._clock)
        self._trouble.over()
        if not self._has_stepped():  # otherwise the clock changed during the measurement
            self.offsets = offsets
            self._judge()

    async def _listen(self) -> None:
        """Read the times that brokers have written anyway, unless a probe topic gives closer measurements."""
        while True:
            try:
                for _ in range(2):
                    await self._listen_once()
                    await asyncio.sleep(LISTEN_AGAIN_S)
            except Exception as error:  # an error in our code must not end the other checks
                log.error("clock_listening_crashed", error=type(error).__name__, frames=frames_of(error))
            self._listens_left = max(0, self._listens_left - 1)
            if not self._listens_left:
                await asyncio.sleep(LISTEN_EVERY_S)

    async def _listen_once(self) -> None:
        if self._config.clock.probe is not None:
            return
        connections = self._connections()
        look, newest = await newest_stamps(connections, self._stamped_topics(), self._clock)
        if connections and not newest:
            self._listens_left = 0  # no such topics, or no permission: brokers log each refusal
        if self._has_stepped() or self._config.clock.probe is not None:
            return
        self._stamps.record(look, newest)
        offsets = self._stamps.offsets(look.ended_ms)
        if offsets or not self._is_beyond:  # if nothing is written any more, the last offsets stay
            self.offsets = offsets
            self._judge()
        if self._is_beyond:
            self._listens_left = EAGER_LISTENS

    async def _wait_for_changes(self, seconds: float | None) -> None:
        await wait_at_most(seconds, self._changed)
        self._changed.clear()

    # -- Consequences --------------------------------------------------------------------------------

    def _judge(self) -> None:
        """Apply the current configuration to the current offsets."""
        settings, offset = self._config.clock, middle(self.offsets)
        self._log_broker_offsets(settings.max_offset_ms)
        was_beyond = self._is_beyond
        if offset is None:
            self._is_beyond = False
        elif was_beyond:
            # Times that brokers wrote anyway are exact to a few seconds only, so smaller offsets do not show.
            nearest_ms = 0.0 if settings.probe else offset.error_ms
            self._is_beyond = abs(offset.ms) > max(settings.max_offset_ms, nearest_ms)
        else:
            self._is_beyond = offset.is_surely_beyond(settings.max_offset_ms)
        self._doubts.put(Witness.BROKERS, self._by_brokers(offset) if self._is_beyond else None)
        is_suspended = self._is_beyond and settings.when_beyond is WhenBeyond.AUDIT
        if (was_beyond, self.is_suspended) == (self._is_beyond, is_suspended):
            return
        sessions_must_know = self.is_suspended != is_suspended
        self.is_suspended = is_suspended
        self._log_own_offset(offset)
        if sessions_must_know:
            self._suspend(is_suspended)

    def _by_brokers(self, offset: Offset | None) -> str:
        ms = 0.0 if offset is None else offset.ms
        side = "behind" if ms < 0 else "ahead of"
        far = duration_text(max(1, round(abs(ms) / 1000)) * 1000)
        return f"this machine's clock is about {far} {side} the brokers'"

    def _log_own_offset(self, offset: Offset | None) -> None:
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
        self._emit(LifecycleKind.CLOCK, {"what": "beyond" if self._is_beyond else "within", **facts})

    def _log_broker_offsets(self, most_ms: int) -> None:
        """Log each broker that is far off, once."""
        off = {node_id for node_id, offset in self.offsets.items() if offset.is_surely_beyond(most_ms)}
        for node_id in sorted(off - self._off):
            log.warning("broker_clock_differs", node_id=node_id, offset_ms=round(self.offsets[node_id].ms))
        self._off = frozenset(off)

    def collect(self) -> Iterable[Metric]:
        yield from self._doubts.collect()
        offsets = CLOCK_OFFSET.levels()
        for node_id, offset in self.offsets.items():
            offsets.add_metric([str(node_id)], offset.ms / 1000)
        yield offsets
        yield CLOCK_STEPS.counts(self._steps.count)
        yield ENFORCEMENT_SUSPENDED.levels(self.is_suspended)
