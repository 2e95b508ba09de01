"""A connection of the proxy without sockets, one turn of the event loop after the other: `run`.

Everything is the product's own but the ends: the bytes of a client and of a broker come from genes. Only what
the product does is measured, and only on the loop; jobs for threads are run here, and measured apart.
"""

import asyncio
import gc
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count

from tests.attacks.steps import bytecodes
from tests.cost.broker import Broker
from tests.cost.cluster import view_of
from tests.cost.genes import Genes, cluster_value
from tests.cost.traffic import Said, said_by
from tests.session.conversation import NOW_MS
from tsproxy.clock import Clock
from tsproxy.config.settings import Config
from tsproxy.decisions import DecisionLog
from tsproxy.model.outcome import Peer
from tsproxy.model.view import View
from tsproxy.proxy.connections.context import ConnectionContext
from tsproxy.proxy.connections.judge_pool import JudgePool, _turn
from tsproxy.proxy.connections.relay import Relay
from tsproxy.proxy.decision_log.recorder import DecisionRecorder
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.notes import Notes

MOST_TURNS = 2_000
"""A session that takes longer is cut off: it has been seen enough of."""
PEER = Peer("public", "192.0.2.1", 50_000)


def cpu(call: Callable[..., object], *arguments: object) -> float:
    """Milliseconds of CPU of one call."""
    began = time.thread_time_ns()
    call(*arguments)
    return (time.thread_time_ns() - began) / 1e6


def counted(call: Callable[..., object], *arguments: object) -> float:
    """Bytecodes of one call."""
    return bytecodes(call, *arguments)[1]


def ignored(call: Callable[..., object], *arguments: object) -> float:
    """Nothing: the call is made."""
    call(*arguments)
    return 0.0


Measure = Callable[..., float]


@dataclass
class Cost:
    """The cost of one session, in the unit of its measure. `turns` are those of the loop; `beside` is what
    threads do."""

    turns: list[float] = field(default_factory=list)
    beside: float = 0.0
    received: int = 0
    frames: int = 0
    partitions: int = 0

    @property
    def at_once(self) -> float:
        return max(self.turns, default=0.0)

    @property
    def together(self) -> float:
        return sum(self.turns)


class Loop(asyncio.AbstractEventLoop):
    """As much of a loop as a connection uses. Time passes only if nothing is ready."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.jobs: deque[tuple[asyncio.Future, Callable[[], object]]] = deque()
        """The work for threads."""
        self.ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._number = count()

    def turn(self) -> None:
        """Runs what is ready now, as one turn of a loop does."""
        for _ in range(len(self.ready)):
            handle = self.ready.popleft()
            if not handle.cancelled():
                handle._run()

    def wait(self) -> bool:
        """Lets time pass until the next timer is due. False if there is none within an hour."""
        while self._timers:
            when_s, _, timer = heappop(self._timers)
            if not timer.cancelled():
                if when_s > 1_000.0 + 3_600.0:
                    return False
                self.now_s = max(self.now_s, when_s)
                self.ready.append(timer)
                return True
        return False

    def time(self) -> float:
        return self.now_s

    def get_debug(self) -> bool:
        return False

    def call_soon(self, callback, *args, context=None):
        handle = asyncio.Handle(callback, args, self, context)
        self.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay, callback, *args, context=None):
        return self.call_at(self.now_s + delay, callback, *args, context=context)

    def call_at(self, when, callback, *args, context=None):
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._timers, (when, next(self._number), timer))
        return timer

    def _timer_handle_cancelled(self, handle):
        pass

    def create_future(self):
        return asyncio.Future(loop=self)

    def run_in_executor(self, executor, func, *args):
        future = self.create_future()
        self.jobs.append((future, lambda: func(*args)))
        return future

    def call_exception_handler(self, context):
        raise context.get("exception") or RuntimeError(str(context))


class Time(Clock):
    __slots__ = ("_loop",)

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def now_ms(self) -> int:
        return NOW_MS + int((self._loop.now_s - 1_000.0) * 1_000)

    def monotonic_us(self) -> int:
        return int(self._loop.now_s * 1e6)

    def monotonic_ms(self) -> int:
        return int(self._loop.now_s * 1_000)


class End:
    """A transport that keeps what is sent. It looks like TLS, so that the pipe does not write to a socket."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.is_reading = True
        self.has_closed = False

    def get_extra_info(self, name):
        return _Socket() if name == "socket" else name

    def write(self, data) -> None:
        self.sent.append(bytes(data))

    def is_closing(self) -> bool:
        return self.has_closed

    def close(self) -> None:
        self.has_closed = True

    abort = close

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high=None, low=None) -> None:
        pass

    def can_write_eof(self) -> bool:
        return False


class _Socket:
    def setsockopt(self, *_: object) -> None:
        pass


class Judges(JudgePool):
    """The queue of judges, without threads: `work` does what waits."""

    def __init__(self) -> None:
        super().__init__(threads=0)

    def work(self) -> None:
        """Ends all that waits."""
        while self.waiting and (ticket := self._next()) is not None:
            self._rest(ticket, _turn(ticket))


class _Log:
    """Keeps only the errors of the product itself."""

    def __init__(self) -> None:
        self.crashes: list[object] = []

    def warning(self, event: str, **facts: object) -> None:
        pass

    def error(self, event: str, **facts: object) -> None:
        self.crashes.append((event, facts))

    debug = info = warning


class _NoFiles:
    def put(self, lines: object) -> None:
        pass


_METRICS = Metrics()


class Connection:
    """One connection between the two ends that `said` and `broker` stand for."""

    def __init__(self, config: Config, view: View, measure: Measure, beside: Measure) -> None:
        self.cost = Cost()
        self.loop = Loop()
        self.judges = Judges()
        self.log = _Log()
        self._measure = measure
        self._measure_beside = beside
        clock = Time(self.loop)
        log = DecisionLog("proxy", "boot", clock.now_ms())
        recorder = DecisionRecorder(log, _NoFiles(), _METRICS, clock, list)
        context = ConnectionContext(
            clock,
            _METRICS,
            Notes(self.log, clock),
            recorder.book,
            *(lambda *_: None for _ in ("enqueue", "want_topic", "want_node")),
            ProcessLimits(config.connection_limits, clock),
            judges=self.judges,
            readers=None,
        )
        self.client, self.broker = End(), End()
        self.relay = Relay(PEER, view, context, lambda _: None)

    def open(self) -> None:
        relay = self.relay
        relay.client.connection_made(self.client)
        relay.broker.connection_made(self.broker)
        relay.upstream_connected()
        self.loop.turn()

    def apply_view(self, view: View) -> None:
        self._turn(self.relay.apply_view, view)

    def receive(self, end: str, data: bytes, most: int) -> int:
        """Reads the first bytes of `data` once, at most `most` of them; returns how many."""
        protocol = getattr(self.relay, end)
        buffer = protocol.get_buffer(-1)
        size = min(len(buffer), len(data), most)
        buffer[:size] = data[:size]
        self.cost.received += size
        self._turn(protocol.buffer_updated, size)
        return size

    def settle(self) -> None:
        """Runs what is ready, and the jobs for threads, until the ends come again."""
        while self.loop.ready or self.loop.jobs or self.judges.waiting:
            if self.loop.ready:
                self._turn(self.loop.turn)
            elif self.loop.jobs:
                future, job = self.loop.jobs.popleft()
                done: list[object] = []
                self.cost.beside += self._measure_beside(lambda job=job, done=done: done.append(job()))
                if not future.cancelled():
                    future.set_result(done[0])
            else:
                self.cost.beside += self._measure_beside(self.judges.work)

    @property
    def is_over(self) -> bool:
        return self.client.has_closed or self.broker.has_closed or len(self.cost.turns) > MOST_TURNS

    def _turn(self, call: Callable[..., object], *arguments: object) -> None:
        self.cost.turns.append(self._measure(call, *arguments))


def run(genes: Genes, measure: Measure = cpu, beside: Measure = cpu) -> Cost:
    """The cost of one session: that of the loop by `measure`, that of threads by `beside`. Raises any error
    of the product."""
    config, view = view_of(genes.cluster)
    said = said_by(genes)
    broker = Broker(said.wishes, 4 * cluster_value(genes.cluster, "most_bytes"))
    connection = Connection(config, view, measure, beside)
    asyncio.events._set_running_loop(connection.loop)
    gc.disable()  # when it runs depends on all that this process has made before
    try:
        connection.open()
        for part in said.parts:
            if connection.is_over:
                break
            _say(connection, broker, part, view)
    finally:
        gc.enable()
        asyncio.events._set_running_loop(None)
    if connection.log.crashes:
        raise RuntimeError(f"the product crashed: {connection.log.crashes}")
    connection.cost.frames = said.frames + broker.answered
    connection.cost.partitions = said.partitions
    return connection.cost


def _say(connection: Connection, broker: Broker, part: Said, view: View) -> None:
    """The client says a part as soon as it is read. Answers come at once, or when the client must wait."""
    at = 0
    if part.view_changes:
        connection.apply_view(replace(view))
    connection.loop.now_s += part.after_ms / 1_000
    data = memoryview(part.data)
    while not connection.is_over:
        connection.settle()
        broker.read(connection.broker.sent)
        if at < len(data) and connection.client.is_reading:
            at += connection.receive("client", data[at:], part.a_read)
            if not part.answers_at_once:
                continue
        elif at >= len(data) and not broker.owes:
            break
        if broker.owes and connection.broker.is_reading:
            _answer(connection, broker, part)
        else:
            end = connection.client if at < len(data) else connection.broker
            if not end.is_reading and not connection.loop.wait():
                break


def _answer(connection: Connection, broker: Broker, part: Said) -> None:
    answers = memoryview(broker.answers())
    at = 0
    while at < len(answers) and not connection.is_over:
        connection.settle()
        if not connection.broker.is_reading and not connection.loop.wait():
            return
        at += connection.receive("broker", answers[at:], part.a_read)
