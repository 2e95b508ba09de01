"""What all relays of a process share."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from tsproxy.config.settings import Address
from tsproxy.model.dead_letter import DeadBatch
from tsproxy.model.outcome import Outcome, Totals
from tsproxy.runtime.clock import Clock
from tsproxy.runtime.daemon_threads import DaemonThreads
from tsproxy.runtime.judges import Judges
from tsproxy.runtime.limits.process import ProcessLimits
from tsproxy.runtime.metrics import Metrics
from tsproxy.runtime.notes import Notes
from tsproxy.runtime.pipe import Buffers
from tsproxy.runtime.reading import READERS
from tsproxy.session.stream_times import StreamTimes
from tsproxy.session.throttle import Throttle


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a relay needs of the rest of the process; one for all relays."""

    clock: Clock
    metrics: Metrics
    notes: Notes
    book: Callable[[Outcome], None]
    book_totals: Callable[[Totals], None]
    bury: Callable[[DeadBatch], None]
    want_topic: Callable[[str], None]
    want_node: Callable[[int, Address], None]
    limits: ProcessLimits
    buffers: Buffers = field(default_factory=Buffers)
    throttle: Throttle = field(default_factory=Throttle)
    stream_times: StreamTimes = field(default_factory=StreamTimes)
    judges: Judges = field(default_factory=Judges)
    readers: Executor = field(default_factory=lambda: DaemonThreads(READERS, "reader"))
