"""The surroundings of a relay. They keep everything that it tells, for the test to look at."""

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from tsproxy.clock import Clock
from tsproxy.config.settings import ConnectionLimits
from tsproxy.decisions.totals import Totals
from tsproxy.proxy.connections.context import ConnectionContext
from tsproxy.proxy.connections.judge_pool import JudgePool
from tsproxy.proxy.connections.offload import DECODERS
from tsproxy.proxy.daemon_threads import DaemonThreads
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.notes import Notes
from tsproxy.proxy.pipe import Buffers
from tsproxy.session.throttle import Throttle

PATIENCE_S = 120
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.005, 0.05


@dataclass
class Logged:
    """A log that keeps its lines."""

    lines: list[dict] = field(default_factory=list)

    def warning(self, event, **facts):
        self.lines.append({"event": event, **facts})

    info = error = warning

    def events(self):
        return [line["event"] for line in self.lines]

    def of(self, event):
        return [line for line in self.lines if line["event"] == event]


@dataclass
class World:
    logged: Logged = field(default_factory=Logged)
    outcomes: list = field(default_factory=list)
    totals: list = field(default_factory=list)
    dead: list = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)
    buffers: Buffers = field(default_factory=Buffers)
    limits: ProcessLimits = field(default_factory=lambda: ProcessLimits(ConnectionLimits(), Clock()))
    throttle: Throttle = field(default_factory=Throttle)
    judges: JudgePool = field(default_factory=JudgePool)
    decoders: Executor = field(default_factory=lambda: DaemonThreads(DECODERS, "decoder"))

    @property
    def surroundings(self):
        clock = Clock()
        return ConnectionContext(
            clock,
            self.metrics,
            Notes(self.logged, clock),
            lambda booked: (self.totals if isinstance(booked, Totals) else self.outcomes).append(booked),
            self.dead.append,
            lambda topic, _: self.topics.append(topic),
            lambda node_id, _: self.nodes.append(node_id),
            self.limits,
            self.buffers,
            throttle=self.throttle,
            judges=self.judges,
            decoders=self.decoders,
        )

    def metric(self, line):
        """The value of a metric, by its line without the value; 0 where there is no such line."""
        for each in self.metrics.render().decode().splitlines():
            if each.startswith(line + " "):
                return float(each.rpartition(" ")[2])
        return 0.0


async def until(is_so: Callable[[], object], what: str = "", patience_s: float = PATIENCE_S):
    """Waits for a fact, not for a time; fails when it does not come about.

    The longer it waits, the less often it looks: a look may cost the proxy or a broker as much as the test.
    """
    pause_s = SHORTEST_PAUSE_S
    async with asyncio.timeout(patience_s):
        while not (found := await _result(is_so())):
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)
    return found


async def _result(found):
    return await found if inspect.isawaitable(found) else found
