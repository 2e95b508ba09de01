"""Records outcomes in the decision log, its files, and the metrics.

`tsproxy.decisions` makes the lines without I/O. This module adds the clock and the files.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from tsproxy.clock import Clock
from tsproxy.config.settings import Config
from tsproxy.decisions import DecisionLog, LifecycleKind, Privacy, WriterHealth
from tsproxy.decisions.old_requests import Client, OldRequests, client_facts
from tsproxy.decisions.totals import Totals
from tsproxy.log_events.catalogue import DECISION_LOG_CRASHED, DECISIONS_LEFT_UNSENT
from tsproxy.model.outcome import OldRequest, Outcome
from tsproxy.proxy.decision_log.files import DecisionFiles
from tsproxy.proxy.decision_log.topic import DecisionTopic
from tsproxy.proxy.metrics.offenders import SHOWN, Offenders
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.notes import frames_of

TICK_S: Final = 1.0
MAX_AT_ONCE: Final = 500
"""The most outcomes per turn of the event loop, some 10 ms. One request may have 20,000 outcomes."""

AN_OUTCOME: Final = 1 << 10
A_CULPRIT: Final = 128
"""The memory of an outcome, and of a culprit in it."""

LAST_LINES_S: Final = 10.0
"""How long the last lines may take to reach the disk."""
LAST_SENT_S: Final = 5.0
"""How long they may then take to reach the topic."""


class DecisionRecorder:
    """Records outcomes. `drain` returns the totals that all sessions keep. It is called before an interval
    ends, so that each batch is counted in its own interval, and before the metrics are read."""

    def __init__(
        self,
        log: DecisionLog,
        files: DecisionFiles,
        metrics: Metrics,
        clock: Clock,
        drain: Callable[[], Iterable[Totals]],
        topic: DecisionTopic | None = None,
    ) -> None:
        self.offenders = Offenders(log.privacy)
        self._old_requests = OldRequests()
        """The old requests since the start."""
        self._clock = clock
        self._drain = drain
        self._files = files
        self._log = log
        self._metrics = metrics
        self._topic = topic
        self._booked_now = 0
        """The number of outcomes in this turn of the event loop."""
        self._waiting: deque[Outcome] = deque()
        """The outcomes for the next turns."""
        self._waiting_bytes = 0

    def start(self, facts: Mapping[str, object], *, is_replacement: bool = False) -> None:
        """Open the first file. Raises OSError if the directory is not writable. A replacement tries it again
        beside its work."""
        self._files.start(is_replacement=is_replacement)
        if self._topic is not None:
            self._topic.start(is_replacement=is_replacement)
        self.record_lifecycle(LifecycleKind.START, facts)

    def apply(self, config: Config) -> None:
        self._files.apply(config)
        if self._topic is not None:
            self._topic.apply(config)

    @property
    def privacy(self) -> Privacy:
        return self._log.privacy

    def book(self, booked: Outcome | Totals | OldRequest) -> None:
        """Record the outcome of one batch, batches of one session that the fast path has counted, or an old
        request. If very many outcomes come at once, some are recorded a little later."""
        if isinstance(booked, OldRequest):
            self._end_due_interval()
            self._log.note(booked)
            self._old_requests.note(booked)
            return
        if isinstance(booked, Totals):
            self._record(booked)
            return
        if self._booked_now == 0:
            asyncio.get_running_loop().call_soon(self._next_turn)
            self._end_due_interval()
        if self._waiting or self._booked_now >= MAX_AT_ONCE:
            self._waiting.append(booked)
            self._waiting_bytes += _bytes_of(booked)
        else:
            self._book(booked)

    def refused_by_kafka_4(self) -> tuple[Mapping[str, object], ...]:
        """The fields of a `client` line for each use by clients since the start that Kafka 4 refuses; of at
        most SHOWN clients."""
        shown = {*self._old_requests.clients[:SHOWN]}
        facts = (
            client_facts(use, versions, self.privacy)
            for use, versions in self._old_requests
            if use[:2] in shown
        )
        return tuple(facts)

    def clients_refused_by_kafka_4(self) -> frozenset[Client]:
        """All of them."""
        clients = self._old_requests.clients
        return frozenset((client_id, self.privacy.principal(principal)) for client_id, principal in clients)

    def _next_turn(self) -> None:
        self._booked_now = 0
        if self._waiting:
            self._booked_now = 1  # `_next_turn` is already scheduled
            asyncio.get_running_loop().call_soon(self._next_turn)
        self._catch_up(MAX_AT_ONCE)

    @property
    def waiting_bytes(self) -> int:
        """The memory of outcomes that are not recorded yet. Their requests are not counted any more."""
        return self._waiting_bytes

    def _catch_up(self, most: int | None = None) -> None:
        """Record waiting outcomes: all of them, before counts are reported."""
        for _ in range(min(most or len(self._waiting), len(self._waiting))):
            outcome = self._waiting.popleft()
            self._waiting_bytes -= _bytes_of(outcome)
            self._book(outcome)

    async def _caught_up(self) -> None:
        """Wait until all outcomes that wait now are recorded, before counts are reported. A reader of the
        admin port must not hold everybody up for the 0.4 s that 20,000 outcomes take."""
        for _ in range(0, len(self._waiting), MAX_AT_ONCE):
            await asyncio.sleep(0)  # `_next_turn` is scheduled before this task

    def _book(self, outcome: Outcome) -> None:
        self._booked_now += 1
        if self._log.is_over(outcome.now_ms):
            self._record_all_totals()
        for totals in Totals.by_cause(outcome):
            self._record(totals)

    def _record(self, totals: Totals) -> None:
        self._files.put(self._log.book(totals))
        self._metrics.book(totals)
        self.offenders.book(totals)

    def _record_all_totals(self) -> None:
        for totals in self._drain():
            self._record(totals)

    def record_lifecycle(self, kind: LifecycleKind, facts: Mapping[str, object]) -> None:
        if kind is LifecycleKind.CLOCK:
            self._end_due_interval()
        self._files.put([self._log.lifecycle(kind, self._clock.now_ms(), facts)])

    def _end_due_interval(self) -> None:
        """End the interval if it is over, or the clock was set: an interval holds batches of one clock, and
        the line that says so comes after it."""
        now_ms = self._clock.now_ms()
        if self._log.is_due(now_ms):
            self._record_all_totals()
            self._files.put(self._log.tick(now_ms, self._health()))

    def record_cluster(self, cluster_id: str | None, node_ids: Sequence[int]) -> None:
        self._log.cluster_id = cluster_id
        self.record_lifecycle(LifecycleKind.CLUSTER, {"node_ids": list(node_ids)})

    async def tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S - self._clock.now_ms() % 1000 / 1000)  # on time for an interval's end
            try:
                now_ms = self._clock.now_ms()
                if self._log.is_due(now_ms):
                    self._record_all_totals()
                    await self._caught_up()
                self._files.put(self._log.tick(now_ms, self._health()))
            except Exception as error:
                # An error in the counting must not stop the data path.
                DECISION_LOG_CRASHED(error=type(error).__name__, frames=frames_of(error))

    async def stop(self) -> bool:
        """Write the last lines, close the file, and send the lines that the topic does not have yet. False if
        the disk took too long. The next start sends the lines that the topic does not have by then."""
        self._record_all_totals()
        self._catch_up()
        self._files.put(self._log.stop(self._clock.now_ms(), self._health()))
        is_written = await asyncio.to_thread(self._files.stop, LAST_LINES_S)
        if self._topic is not None and not await self._topic.stop(LAST_SENT_S):
            DECISIONS_LEFT_UNSENT(advice="the next start in this folder sends them")
        return is_written

    def warnings(self) -> list[str]:
        """A sentence for each reason why the decision log cannot be written or sent now; empty if there is
        none."""
        problem = self._files.problem() or self._files.slowness()
        return [*([] if problem is None else [problem]), *(self._topic.warnings() if self._topic else [])]

    async def measure(self) -> None:
        self._record_all_totals()
        await self._caught_up()
        self._metrics.decision_log_writable = self._files.problem() is None
        self._metrics.decision_write_s = self._files.write_s
        self._metrics.decision_files_deleted = self._files.files_deleted
        self._metrics.decisions_written = self._files.written
        self._metrics.clients_refused_by_kafka_4 = len(self.clients_refused_by_kafka_4())
        self._metrics.decisions_dropped = self._files.dropped
        if self._topic is not None:
            self._metrics.decision_topic = (self._topic.is_up, self._topic.sent)

    def _health(self) -> WriterHealth:
        return WriterHealth(self._files.dropped, self._files.high_water)


def _bytes_of(outcome: Outcome) -> int:
    return AN_OUTCOME + A_CULPRIT * len(outcome.culprits)
