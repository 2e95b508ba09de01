"""Where outcomes go: the decision log, its files, and the metrics, in one place.

Pure lines come from `tsproxy.decisions`; this adds the clock that ticks and the files they go to.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import structlog

from tsproxy.decisions import DecisionLog, LifecycleKind, WriterHealth
from tsproxy.model.outcome import Outcome
from tsproxy.runtime.clock import Clock
from tsproxy.runtime.decision_files import DecisionFiles
from tsproxy.runtime.metrics import Metrics
from tsproxy.runtime.notes import frames_of

log = structlog.get_logger()

TICK_S: Final = 1.0
LAST_LINES_S: Final = 10.0
"""How long the last lines may take to reach the disk."""


class Journal:
    def __init__(self, log: DecisionLog, files: DecisionFiles, metrics: Metrics, clock: Clock) -> None:
        self._clock = clock
        self._files = files
        self._log = log
        self._metrics = metrics

    def start(self, facts: Mapping[str, object]) -> None:
        """Open the first file. Raises OSError where the directory cannot be written."""
        self._files.start()
        self.tell(LifecycleKind.START, facts)

    def book(self, outcome: Outcome) -> None:
        """One batch has ended."""
        self._files.put(self._log.book(outcome))
        self._metrics.booked(outcome)

    def tell(self, kind: LifecycleKind, facts: Mapping[str, object]) -> None:
        """Something happened to the proxy itself."""
        self._files.put([self._log.lifecycle(kind, self._clock.now_ms(), facts)])

    def see_cluster(self, cluster_id: str | None, node_ids: Sequence[int]) -> None:
        self._log.cluster_id = cluster_id
        self.tell(LifecycleKind.CLUSTER, {"node_ids": list(node_ids)})

    async def tick(self) -> None:
        """Close intervals when they are over, for ever."""
        while True:
            await asyncio.sleep(TICK_S)
            try:
                self._files.put(self._log.tick(self._clock.now_ms(), self._health()))
            except Exception as error:
                # A mistake in the counting must not take the data path down.
                log.error("decision_log_crashed", error=type(error).__name__, frames=frames_of(error))

    async def stop(self) -> bool:
        """Write the last lines and close the file; False where the disk took too long."""
        self._files.put(self._log.stop(self._clock.now_ms(), self._health()))
        return await asyncio.to_thread(self._files.stop, LAST_LINES_S)

    def measure(self) -> None:
        """Bring the metrics up to what the files say."""
        self._metrics.decisions_written = self._files.written
        self._metrics.decisions_dropped = self._files.dropped

    def _health(self) -> WriterHealth:
        return WriterHealth(self._files.dropped, self._files.high_water)
