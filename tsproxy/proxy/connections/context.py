"""The parts of the process that all its connections share: `ConnectionContext`."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from tsproxy.clock import Clock
from tsproxy.decisions.totals import Totals
from tsproxy.model.addresses import Address
from tsproxy.model.outcome import OldRequest, Outcome, RejectedBatch
from tsproxy.model.policy import Policy
from tsproxy.model.produce import TopicKey
from tsproxy.proxy.connections.judge_pool import JudgePool
from tsproxy.proxy.connections.offload import DECODERS
from tsproxy.proxy.daemon_threads import DaemonThreads
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.metrics.results import ConnectionResults
from tsproxy.proxy.notes import Notes
from tsproxy.proxy.pipe import Buffers
from tsproxy.session.fresh_limits import FreshLimits
from tsproxy.session.throttle import Throttle
from tsproxy.session.topic_names import NamesOnly
from tsproxy.session.trust import Trust


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """The shared parts. There is one object for all connections of a process."""

    clock: Clock
    metrics: Metrics
    notes: Notes
    book: Callable[[Outcome | Totals | OldRequest], None]
    enqueue: Callable[[RejectedBatch], None]
    want_topic: Callable[[TopicKey, str], None]
    """(topic, the address for which it counts)"""
    want_node: Callable[[int, Address], None]
    limits: ProcessLimits
    buffers: Buffers = field(default_factory=Buffers)
    fresh_limits: FreshLimits = field(default_factory=FreshLimits)
    names_only: NamesOnly = field(default_factory=NamesOnly)
    throttle: Throttle = field(default_factory=Throttle)
    trust: Trust = field(default_factory=Trust)
    judges: JudgePool = field(default_factory=JudgePool)
    decoders: Executor = field(default_factory=lambda: DaemonThreads(DECODERS, "decoder"))
    results: ConnectionResults = field(default_factory=lambda: ConnectionResults(Clock()))
    suspect_hang: Callable[[str], None] = lambda _: None
    """(the address of a broker that keeps a client waiting)"""
    memory_counted: Callable[[], None] = lambda: None
    thread_done: Callable[[], None] = lambda: None
    """Memory of a connection was counted; a thread has done something that may have taken much."""
    timed: Callable[[Policy], Policy] = lambda policy: policy
    """Returns the same policy, with custom rules that are measured."""
