"""The timer around `Overload`: reads the memory of the process, and performs the decisions."""

from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import Gauge

from tsproxy.config.settings import Config
from tsproxy.log_events.catalogue import (
    CONNECTION_MONITOR_CRASHED,
    MEMORY_FREED,
    MEMORY_NEARLY_FULL,
    MEMORY_NOT_LIMITED,
)
from tsproxy.proxy.limits import memory_use
from tsproxy.proxy.limits.overload import Decision, Overload
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.notes import frames_of
from tsproxy.proxy.wait import next_tick

GRANTED_PART: Final = 0.8
"""The default of `limits.memory`, of what the cgroup or the machine has."""
CHECK_S: Final = 0.25
"""While less than half of the limit is used."""
CHECK_SOONER_S: Final = CHECK_S / 2
"""Beyond that: a reading takes 8 us, and clients may send 100 MB a second."""
STEP_BYTES: Final = 4 << 20
_CALM_READINGS: Final = 120
"""The log says that memory is free again after so many readings below all marks."""
_STEPS: Final = ("", "no more clients are accepted", "clients are not read", "connections are closed")
_UNREADABLE: Final = {"error": "/proc/self/statm cannot be read", "advice": "mount /proc"}
_UNKNOWN: Final = {"error": "the machine does not say how much memory it has", "advice": "set limits.memory"}
_IN_VAIN: Final = "closing connections did not help: clients are served, and new ones rejected"


class MemoryGuard:
    """Holds one process within its share of `limits.memory`. `used_ratio` gets each reading, `mark` the mark
    that it has reached."""

    def __init__(
        self,
        config: Config,
        limits: ProcessLimits,
        received_bytes: Callable[[], int],
        used_ratio: Gauge,
        mark: Gauge,
    ) -> None:
        self._limits = limits
        self._received_bytes = received_bytes
        self._seen_bytes = 0
        self._used_ratio = used_ratio
        self._mark = mark
        self._own_bytes = memory_use.used_bytes()
        self._decision = Decision()
        self._logged: tuple[int, bool] = 0, False
        self._calm = 0
        self._interval_s = CHECK_S
        self.apply(config)

    def apply(self, config: Config) -> None:
        limit_bytes = config.connection_limits.share(config.workers).memory
        if not limit_bytes:
            limit_bytes = int(GRANTED_PART * (memory_use.granted_bytes() or 0)) // config.workers
        self._overload = Overload(limit_bytes, self._own_bytes or 0)
        if blind := self._blind:
            MEMORY_NOT_LIMITED(**blind)

    @property
    def _blind(self) -> Mapping[str, str] | None:
        """Why no reading can be compared with a limit, and what to do."""
        if self._own_bytes is None:
            return _UNREADABLE
        return None if self._overload.limit_bytes else _UNKNOWN

    def warnings(self) -> list[str]:
        if blind := self._blind:
            return [f"limits.memory limits nothing: {blind['error']} ({blind['advice']})"]
        limit = self._overload.limit_bytes
        if not self._overload.has_room:
            return [f"limits.memory: {limit:,} bytes for a process leave no room, and limit nothing"]
        return [f"limits.memory: {_step(self._decision)}"] if self._decision.mark else []

    async def run(self) -> None:
        while True:
            await next_tick(self._interval_s)
            try:
                self.check()
            except Exception as error:  # it must not stop the data path
                CONNECTION_MONITOR_CRASHED(error=type(error).__name__, frames=frames_of(error))

    def step_done(self, *, is_large: bool = False) -> None:
        """A connection was counted. One iteration of the loop may read from a thousand. While clients are not
        read, the timer alone decides."""
        if (is_large or self._received_bytes() - self._seen_bytes >= STEP_BYTES) and self._decision.reads:
            self.check()

    def check(self) -> None:
        self._seen_bytes = self._received_bytes()
        if self._decision.closes:
            memory_use.give_back()
        used_bytes, limit_bytes = memory_use.used_bytes(), self._overload.limit_bytes
        if used_bytes is None or not limit_bytes:
            return
        self._used_ratio.set(used_bytes / limit_bytes)
        self._interval_s = CHECK_S if used_bytes < limit_bytes / 2 else CHECK_SOONER_S
        before, self._decision = self._decision, self._overload.decide(used_bytes)
        self._mark.set(self._decision.mark)
        self._limits.admission.is_full = self._decision.mark > 0
        if not (before.reads and self._decision.reads):
            self._limits.read_from_clients(self._decision.reads)
        if self._decision.closes:
            self._limits.close_heaviest(f"the process has {used_bytes} bytes, of {limit_bytes}")
        self._log(self._decision, {"used": used_bytes, "limit": limit_bytes})

    def _log(self, now: Decision, facts: dict[str, int]) -> None:
        """Log each mark once, until all have been left for a while."""
        self._calm = 0 if now.mark else self._calm + 1
        if (now.mark, now.gave_up) > self._logged:
            self._logged = now.mark, now.gave_up
            MEMORY_NEARLY_FULL(**facts, step=_step(now), advice="see tsproxy_buffered_bytes, or grant more")
        elif self._logged[0] and self._calm >= _CALM_READINGS:
            self._logged = 0, False
            MEMORY_FREED(**facts)


def _step(decision: Decision) -> str:
    return _IN_VAIN if decision.gave_up else _STEPS[decision.mark]
