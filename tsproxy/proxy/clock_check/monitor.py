"""Watches the clock, reports problems with it, and can suspend enforcement while it is wrong."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Final

from aiokafka import AIOKafkaProducer
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.clock import Clock
from tsproxy.cluster.conversation import Pause, keep_conversing
from tsproxy.cluster.kafka_producer import connected_producer
from tsproxy.config.settings import Config
from tsproxy.decisions import LifecycleKind
from tsproxy.log_events.catalogue import (
    BROKER_CLOCK_DIFFERS,
    CLOCK_LISTENING_CRASHED,
    CLOCK_NOT_MEASURED,
    CLOCK_OFFSET_BEYOND,
    CLOCK_OFFSET_WITHIN,
    CLOCK_STEPPED,
)
from tsproxy.proxy.clock_check import system_clock
from tsproxy.proxy.clock_check.doubts import ClockWarnings, Witness
from tsproxy.proxy.clock_check.listening import Connections, newest_stamps
from tsproxy.proxy.clock_check.offsets import Conclusion, Offset, conclude, offset_text
from tsproxy.proxy.clock_check.probe import NoLogAppendTimeError, measure
from tsproxy.proxy.clock_check.stamps import Stamps
from tsproxy.proxy.clock_check.steps import Steps
from tsproxy.proxy.metrics.catalogue import (
    CLOCK_OFFSET,
    CLOCK_OFFSET_MARGIN,
    CLOCK_STEPS,
    ENFORCEMENT_SUSPENDED,
)
from tsproxy.proxy.notes import Trouble, frames_of
from tsproxy.proxy.wait import next_tick, wait_at_most
from tsproxy.tls.contexts import CurrentTls

CLIENT_ID: Final = "tsproxy-clock"
POLL_INTERVAL_S: Final = 1.0
RETRY_MS: Final = 2_000
ANSWER_TIMEOUT_S: Final = 10.0
"""How long one measurement of all brokers may take."""
TOLD_BEFORE_MS: Final = 60_000
"""How long brokers' times of before a step are a witness of it. A virtual machine that was stopped and is set
right makes such a step, too. Brokers that are heard later decide."""
RETRY_DELAY_S: Final = 1.0
LISTEN_INTERVAL_S: Final = 30.0
UNCONFIRMED_MS: Final = 3_600_000
"""How old a process must be to believe its clock without brokers' times: it did not see its own start."""
EAGER_LISTENS: Final = 30
"""How many pairs of queries follow each other quickly: at the start, after a step, and while brokers seem far
off. Queries come in pairs because only a timestamp that grows between two queries gives an offset."""

_PROBE_TOPIC: Final = (
    "the topic keeps the times that it is sent: set its message.timestamp.type to LogAppendTime"
)

_NOT_SYNCHRONISED: Final = (
    "the kernel says that nothing keeps this machine's clock right (adjtimex: not synchronised)"
)
_SYNCHRONISED: Final = "the kernel says that something keeps this machine's clock right"
_IS_WITHIN: Final = "the clock is within clock.max_offset of the brokers' clocks"
_NOT_KNOWN: Final = "no broker's time is known any more"
_STEP_CONFIRMED: Final = "the brokers' times are off, too: the clock is wrong"
_STEP_REFUTED: Final = "the brokers' times agree with the clock: the step was right"
_SET_BACK: Final = "the clock was set back by as much: it was wrong meanwhile"

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
        kernel_is_synchronised: Callable[[], bool | None] = system_clock.is_synchronised,
    ) -> None:
        """`connections` returns the open connections to brokers, `stamped_topics` the topics with
        LogAppendTime."""
        self.offsets: Mapping[int, Offset] = {}
        """The offset to each broker: measured by the probe if one is configured, else by what brokers write
        anyway."""
        self._clock = clock
        self._connections = connections
        self._doubts = ClockWarnings()
        self._kernel_is_synchronised = kernel_is_synchronised
        self._listens_left = EAGER_LISTENS
        self._stamped_topics = stamped_topics
        self._stamps = Stamps()
        self._config = config
        self._now = Conclusion()
        self._changed = asyncio.Event()
        """Set at a step of the clock, or at a new configuration."""
        self._steps = Steps(clock)
        self._began_ms = clock.monotonic_ms()
        self._step_ms = 0
        """How far the clock was set since brokers' times last agreed with it."""
        self._stepped_ms = 0
        """When it was set last, by the monotonic clock."""
        self._stepped = asyncio.Event()
        self._was_told_before = False
        """True while the offsets come from before the last step, and were moved with it."""
        self._is_confirmed = False
        """True if brokers that were heard since the step have proven that the clock is wrong."""
        self._suspend = suspend
        self._emit = emit
        self._tls = tls
        self._trouble = Trouble(CLOCK_NOT_MEASURED, None, logs_changes=True)

    def apply(self, config: Config) -> None:
        was_probed, self._config = self._config.clock.probe is not None, config
        if config.clock.probe is None and was_probed:
            self.offsets = self._stamps.offsets(self._clock.monotonic_ms())
        elif config.clock.probe is not None and not was_probed:
            self.offsets = {}  # until the probe has measured
        self._judge()
        self._changed.set()

    async def run(self) -> None:
        measuring = keep_conversing(self._converse, self._measuring_failed)
        await asyncio.gather(self._watch_steps(), measuring, self._listen())

    def warnings(self) -> list[str]:
        """A sentence for each reason to doubt this proxy's clock now, if somebody should look."""
        return self._doubts.warnings

    @property
    def is_suspended(self) -> bool:
        """True while nothing is enforced because of the clock."""
        return self._now.is_suspended

    def time_for_ages(self) -> int | None:
        """The time by which a file is too old, ms since the epoch: the brokers', if it is known. None while
        the clock is in doubt, or nobody has confirmed it yet. Any thread may call it."""
        now_ms, offset = self._clock.now_ms(), self._now.offset
        is_young = self._clock.monotonic_ms() - self._began_ms < UNCONFIRMED_MS
        if self._steps.has_news or self._doubts.warnings or (offset is None and is_young):
            return None
        return now_ms - (round(offset.ms) if offset else 0)

    # -- Steps ---------------------------------------------------------------------------------------

    async def _watch_steps(self) -> None:
        while True:
            await next_tick(POLL_INTERVAL_S)
            if not self._has_stepped() and self._step_ms:
                self._judge()
            self._check_kernel()

    def _check_kernel(self) -> None:
        if self._kernel_is_synchronised() is False:
            self._doubts.put(Witness.KERNEL, _NOT_SYNCHRONISED)
        else:
            self._doubts.end(Witness.KERNEL, _SYNCHRONISED)

    def _judge_step(self, now: Conclusion) -> None:
        """Doubt our own step until brokers' times decide, or it is undone. Without them, nobody can tell
        whether it was right: if all producers are rejected, groups have nothing to commit, and brokers write
        no time that would show it."""
        step_ms, offset = self._step_ms, now.offset
        if abs(step_ms) <= self._config.clock.max_offset_ms:
            self._doubts.end(Witness.STEP, _SET_BACK)
        elif now.is_beyond:
            self._doubts.end(Witness.STEP, _STEP_CONFIRMED)
        elif offset is not None and abs(offset.ms) < abs(offset.ms - step_ms):
            self._step_ms = 0
            self._doubts.end(Witness.STEP, _STEP_REFUTED)
        else:
            side = "back" if step_ms < 0 else "forward"
            far = f"{abs(step_ms) / 1000:,.1f} s"
            text = f"this machine's clock was set {side} by {far}, and no broker's time confirms it"
            self._doubts.put(Witness.STEP, text)

    def _has_stepped(self) -> bool:
        """True if the clock was set since the last check. Then it logs the step and starts a new
        measurement."""
        step_ms = self._steps.check()
        if step_ms is None:
            return False
        CLOCK_STEPPED(by_ms=step_ms)
        self._emit(LifecycleKind.CLOCK, {"what": "stepped", "by_ms": step_ms})
        self._stamps.forget()
        # The known offsets belong to the clock before the step, so they move by the same amount.
        self.offsets = {
            node: Offset(offset.ms + step_ms, offset.error_ms + 1) for node, offset in self.offsets.items()
        }
        self._was_told_before = bool(self.offsets)
        self._step_ms += step_ms
        self._stepped_ms = self._clock.monotonic_ms()
        self._judge()
        self._listens_left = EAGER_LISTENS
        self._stepped.set()
        self._changed.set()
        return True

    # -- Offsets -------------------------------------------------------------------------------------

    def _measuring_failed(self, error: Exception) -> Pause:
        """A broker failed; the last measurement stays."""
        self._trouble.failed(_PROBE_TOPIC if isinstance(error, NoLogAppendTimeError) else error)
        return Pause(RETRY_MS)

    async def _converse(self) -> None:
        """Measure as long as a probe topic is configured, with one producer for each `upstream`."""
        while True:
            if self._config.clock.probe is None:
                await self._wait_for_changes(None)
                continue
            upstream = self._config.upstream
            async with connected_producer(upstream, self._tls, CLIENT_ID, acks=1) as producer:
                while (probe := self._config.clock.probe) is not None and self._config.upstream == upstream:
                    await self._measure(producer, probe.topic)
                    await self._wait_for_changes(probe.every_ms / 1000)

    async def _measure(self, producer: AIOKafkaProducer, topic: str) -> None:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            offsets = await measure(producer, topic, self._clock)
        self._trouble.over()
        if not self._has_stepped():  # otherwise the clock changed during the measurement
            self._learn(offsets)

    async def _listen(self) -> None:
        """Read the times that brokers have written anyway, unless a probe topic gives closer measurements."""
        while True:
            try:
                for _ in range(2):
                    await self._listen_once()
                    await asyncio.sleep(RETRY_DELAY_S)
            except Exception as error:  # an error in our code must not end the other checks
                CLOCK_LISTENING_CRASHED(error=type(error).__name__, frames=frames_of(error))
            self._listens_left = max(0, self._listens_left - 1)
            if not self._listens_left:
                await wait_at_most(LISTEN_INTERVAL_S, self._stepped)
            self._stepped.clear()

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
        if offsets or not self._now.is_beyond:  # if nothing is written any more, the last offsets stay
            self._learn(offsets)
        if self._now.is_beyond:
            self._listens_left = EAGER_LISTENS

    async def _wait_for_changes(self, seconds: float | None) -> None:
        await wait_at_most(seconds, self._changed)
        self._changed.clear()

    # -- Consequences --------------------------------------------------------------------------------

    def _learn(self, offsets: Mapping[int, Offset]) -> None:
        self.offsets, self._was_told_before = offsets, False
        self._judge()

    def _judge(self) -> None:
        was = self._now
        since_ms = self._clock.monotonic_ms() - self._stepped_ms
        step_ms = 0 if self._was_told_before and since_ms > TOLD_BEFORE_MS else self._step_ms
        self._now = now = conclude(self.offsets, self._config.clock, was, step_ms)
        for node_id in sorted(now.brokers_off - was.brokers_off):
            BROKER_CLOCK_DIFFERS(node_id=node_id, **_facts(self.offsets[node_id]))
        if now.offset and now.is_beyond:
            self._doubts.put(Witness.BROKERS, _text(now.offset))
        else:
            self._doubts.end(Witness.BROKERS, _IS_WITHIN if now.offset else _NOT_KNOWN)
        is_undone = was.is_proven and abs(step_ms) <= self._config.clock.max_offset_ms
        is_proven = now.is_proven if now.is_beyond else is_undone or self._is_confirmed
        is_witnessed_now = now.is_proven and not self._was_told_before
        self._is_confirmed = now.is_beyond and (self._is_confirmed or is_witnessed_now)
        if replace(was, offset=None, brokers_off=now.brokers_off) != replace(now, offset=None):
            self._log_own_offset(now, is_proven)
        self._judge_step(now)
        if was.is_suspended != now.is_suspended:
            self._suspend(now.is_suspended)

    def _log_own_offset(self, now: Conclusion, is_proven: bool) -> None:
        facts = {
            **_facts(now.offset),
            "max_offset_ms": self._config.clock.max_offset_ms,
            "enforced": not now.is_suspended,
            "proven": is_proven,
        }
        if now.is_beyond:
            CLOCK_OFFSET_BEYOND(**facts)
        else:
            CLOCK_OFFSET_WITHIN(**facts)
        what = "beyond" if now.is_beyond else "within"
        self._emit(LifecycleKind.CLOCK, {"what": what, "step_ms": self._step_ms, **facts})

    def collect(self) -> Iterable[Metric]:
        yield from self._doubts.collect()
        offsets, margins = CLOCK_OFFSET.levels(), CLOCK_OFFSET_MARGIN.levels()
        for node_id, offset in self.offsets.items():
            offsets.add_metric([str(node_id)], offset.ms / 1000)
            margins.add_metric([str(node_id)], offset.error_ms / 1000)
        yield offsets
        yield margins
        yield CLOCK_STEPS.counts(self._steps.count)
        yield ENFORCEMENT_SUSPENDED.levels(self.is_suspended)


def _facts(offset: Offset | None) -> dict[str, object]:
    """The offset and its possible error; empty if none is known."""
    return {} if offset is None else {"offset_ms": round(offset.ms), "error_ms": ceil(offset.error_ms)}


def _text(offset: Offset) -> str:
    side = "behind" if offset.ms < 0 else "ahead of"
    far = offset_text(abs(offset.ms), offset.error_ms).removeprefix("+")
    return f"this machine's clock is {far} {side} the brokers'"
