"""A whole proxy without sockets, one turn of the event loop after the other: `run`.

Everything is the product's own but the loop and the ends: the bytes of clients and of a broker come from
genes. Only what the product does is measured, and only on the loop; jobs for threads are run here, and
measured apart. The records of TLS and the writing of the operators' log are left out.
"""

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import structlog

from rigs.cost.broker import Broker
from rigs.cost.cluster import view_of
from rigs.cost.genes import A_FRAME_EACH, Genes, cluster_value, frozen
from rigs.cost.greetings import Greeting
from rigs.cost.loop import Accepted, End, Loop, Time
from rigs.cost.traffic import Said, said_by
from tests.attacks.steps import bytecodes
from tsproxy.config.settings import Config
from tsproxy.model.view import View
from tsproxy.proxy.connections.judge_pool import JudgePool, _turn
from tsproxy.proxy.connections.relay import Relay
from tsproxy.proxy.server import Proxy

MOST_TURNS = 2_000
"""A session that takes longer is cut off: it has been seen enough of."""


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
    connections: int = 0
    handshakes: int = 0

    @classmethod
    def least(cls, costs: "Sequence[Cost]") -> "Cost":
        """The least of several runs of one session. Its turns are the same in each run, so each is the least
        of its kind: other work on the machine delays some turns of every run."""
        if len({len(each.turns) for each in costs}) > 1:
            return min(costs, key=lambda each: each.together)
        turns = [min(same) for same in zip(*(each.turns for each in costs), strict=True)]
        return replace(costs[0], turns=turns, beside=min(each.beside for each in costs))

    @property
    def at_once(self) -> float:
        return max(self.turns, default=0.0)

    @property
    def together(self) -> float:
        return sum(self.turns)


class Judges(JudgePool):
    """The queue of judges, without threads: `work` does what waits."""

    def __init__(self) -> None:
        super().__init__(threads=0)

    def work(self) -> None:
        """Ends all that waits."""
        while self.waiting and (ticket := self._next()) is not None:
            self._rest(ticket, _turn(ticket))


class _NoFiles:
    dropped = files_deleted = high_water = written = 0

    def problem(self) -> None:
        return None

    def put(self, lines: object) -> None:
        pass


class Installation:
    """One proxy that runs and is connected to its cluster."""

    def __init__(self, config: Config, view: View, measure: Measure, beside: Measure) -> None:
        self.cost = Cost()
        self.loop = Loop()
        self.judges = Judges()
        self.view = view
        self._measure = measure
        self._measure_beside = beside
        asyncio.events._set_running_loop(self.loop)
        self.proxy = proxy = Proxy(config, Time(self.loop), lambda *_: None)
        [self.listener] = proxy._listeners
        self.listener._view = view
        self.listener._context = replace(self.listener._context, judges=self.judges, decoders=None)
        self._accept = self.listener._into(self.listener._bootstrap_targets)
        proxy._recorder._files = _NoFiles()
        proxy._cluster._facts = replace(proxy._cluster._facts, topics=view.topics)
        proxy._is_open = proxy._is_reachable = True

    def close(self) -> None:
        self.listener.stop_accepting()
        asyncio.events._set_running_loop(None)

    def connect(self, greeting: Greeting) -> "Line | None":
        """A client connects. None if the proxy lets it wait, or sends it away."""
        self.cost.connections += 1
        self.cost.handshakes += greeting.has_tls
        connection, client = Accepted(self.loop), greeting.client()
        brokers, relays = len(self.loop.brokers), set(self.listener.relays)
        self._turn(self._accept, connection, greeting.address, 50_000)
        while not connection.is_over:
            self.settle()
            if len(self.loop.brokers) > brokers and (made := self.listener.relays - relays):
                return Line(made.pop(), connection.end, self.loop.brokers[-1])
            heard, connection.heard = connection.heard, b""
            if data := client.says(heard):
                self.cost.received += len(data)
                connection.say(data)
            elif greeting.leaves and not connection.has_ended:
                connection.leave()
            elif not self.loop.ready and not self.loop.wait():
                break
        self.settle()
        return None

    def ask(self, data: bytes, a_read: int) -> None:
        """A reader connects to the admin port, sends one request, and reads the answer. A page costs as much
        as it shows, so the bytes of the answer count, as those of a broker's answer do."""
        self.cost.connections += 1
        connection, at = Accepted(self.loop), 0
        self._turn(self.proxy._admin._accepted, connection, "192.0.2.8", 50_000)
        self.settle()
        while connection.end is not None and not connection.end.has_closed:
            end = connection.end
            if at < len(data) and end.is_reading and not end.sent:
                part = data[at : at + a_read]
                at += len(part)
                self.cost.received += len(part)
                self._turn(end.protocol.data_received, part)
            elif end.sent:
                self.cost.received += sum(map(len, end.sent))
                self._turn(end.leave)
            elif not self.loop.wait():
                break
            self.settle()

    def leave(self, line: "Line") -> None:
        self._turn(line.client.leave)
        self.settle()

    def apply_view(self, line: "Line") -> None:
        self._turn(line.relay.apply_view, replace(self.view))

    def receive(self, end: End, data: memoryview, most: int) -> int:
        """Reads the first bytes of `data` once, at most `most` of them; returns how many."""
        if most == A_FRAME_EACH:
            most = 4 + int.from_bytes(data[:4], "big")
        buffer = end.protocol.get_buffer(-1)
        size = min(len(buffer), len(data), most)
        buffer[:size] = data[:size]
        self.cost.received += size
        self._turn(end.protocol.buffer_updated, size)
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
        return len(self.cost.turns) > MOST_TURNS

    def _turn(self, call: Callable[..., object], *arguments: object) -> None:
        self.cost.turns.append(self._measure(call, *arguments))


@dataclass(frozen=True, slots=True)
class Line:
    """One client's connection, with the proxy's two ends."""

    relay: Relay
    client: End
    broker: End

    @property
    def is_over(self) -> bool:
        return self.client.has_closed or self.broker.has_closed


def run(genes: Genes, measure: Measure = cpu, beside: Measure = cpu) -> Cost:
    """The cost of one session: that of the loop by `measure`, that of threads by `beside`. Raises any error
    of the product."""
    config, view = view_of(genes.cluster)
    said = said_by(genes)
    broker = Broker(said.wishes, 4 * cluster_value(genes.cluster, "most_bytes"))
    gc.disable()  # when it runs depends on all that this process has made before
    with _crashes() as crashes:
        proxy = Installation(config, view, measure, beside)
        try:
            usual, other = (Greeting.of({"do": "connect"}, genes.cluster, n) for n in (0, 1 << 24))
            _warm_up(proxy, other)
            _play(proxy, usual, broker, said.parts)
        finally:
            proxy.close()
            gc.enable()
    if crashes:
        raise RuntimeError(f"the product crashed: {crashes}")
    proxy.cost.frames = said.frames + broker.answered
    proxy.cost.partitions = said.partitions
    return proxy.cost


def _warm_up(proxy: Installation, other: Greeting) -> None:
    """Another client comes, produces and goes, and somebody asks for a page: some things are made once for a
    process, such as the series of the metrics."""
    line = proxy.connect(other)
    assert line is not None
    broker = Broker({}, 1 << 18)
    for part in said_by(_USUAL_REQUESTS).parts:
        assert isinstance(part, Said)
        _say(proxy, line, broker, part)
    proxy.leave(line)
    proxy.ask(b"GET /livez HTTP/1.1\r\n\r\n", 1 << 18)
    proxy.cost = Cost()


_USUAL_REQUESTS = frozen(
    {},
    [
        {"do": "produce", "version": version, "records": records, "topic": "dashes", "topic_size": 8}
        for version in (2, 9)
        for records in ("good", "bad")
    ],
)
"""Their topic does not exist, and no part of genes names it."""


def _play(proxy: Installation, usual: Greeting, broker: Broker, parts: list[Said | Greeting | bytes]) -> None:
    """All parts in turn. A client that says something at first has connected in the usual way."""
    line = proxy.connect(usual) if isinstance(parts[0], Said) else None
    for part in parts:
        if proxy.is_over:
            break
        match part:
            case Greeting():
                if line is not None and not part.others_stay:
                    proxy.leave(line)
                line = proxy.connect(part)
                broker.begin()
            case bytes():
                proxy.ask(part, 1 << 18)
            case Said() if line is not None:
                _say(proxy, line, broker, part)


def _say(proxy: Installation, line: Line, broker: Broker, part: Said) -> None:
    """The client says a part as soon as it is read. Answers come at once, or when the client must wait."""
    at = 0
    if part.view_changes:
        proxy.apply_view(line)
    proxy.loop.now_s += part.after_ms / 1_000
    data = memoryview(part.data)
    while not (line.is_over or proxy.is_over):
        proxy.settle()
        broker.read(line.broker.sent)
        if at < len(data) and line.client.is_reading:
            at += proxy.receive(line.client, data[at:], part.a_read)
            if not part.answers_at_once:
                continue
        elif at >= len(data) and not broker.owes:
            break
        if broker.owes and line.broker.is_reading:
            _answer(proxy, line, broker, part)
        else:
            end = line.client if at < len(data) else line.broker
            proxy.settle()  # a thread may have judged, so that it reads on
            if not end.is_reading and not proxy.loop.wait():
                break


def _answer(proxy: Installation, line: Line, broker: Broker, part: Said) -> None:
    answers = memoryview(broker.answers())
    at = 0
    while at < len(answers) and not (line.is_over or proxy.is_over):
        proxy.settle()
        if not line.broker.is_reading and not proxy.loop.wait():
            return
        at += proxy.receive(line.broker, answers[at:], part.a_read)


@contextmanager
def _crashes() -> Iterator[list[object]]:
    """Keeps only the errors of the product itself, from its log."""
    crashes: list[object] = []

    def keep(_: object, name: str, event: dict[str, object]) -> None:
        if name == "error":
            crashes.append(event)
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[keep], wrapper_class=structlog.make_filtering_bound_logger(20))
    try:
        yield crashes
    finally:
        structlog.configure(**before)
