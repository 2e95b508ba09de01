"""One world: a listener of the proxy as it is, between clients and brokers that a seed makes up."""

import contextlib
from collections.abc import Collection, Coroutine, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from unittest.mock import patch

from rigs.simulated.adversary import FIRST, Adversary
from rigs.simulated.broker import BrokerEnd
from rigs.simulated.changes import Changes, config
from rigs.simulated.client import Client
from rigs.simulated.coincidences import Coincidence, possible
from rigs.simulated.draws import Draws, Stream
from rigs.simulated.invariants import check_connection, check_leftovers
from rigs.simulated.judges import SimulatedJudges
from rigs.simulated.loop import SimulatedClock, SimulatedLoop
from rigs.simulated.network import Network
from rigs.simulated.violations import ViolationError
from tests.session.conversation import NOW_MS
from tsproxy.cluster.upstream import Upstream
from tsproxy.log_events import catalogue as log_event
from tsproxy.proxy.connections import listener as listener_module
from tsproxy.proxy.connections.context import ConnectionContext
from tsproxy.proxy.connections.listener import ProxyListener
from tsproxy.proxy.limits import connection_monitor
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.metrics.stopwatch import Sampler
from tsproxy.proxy.notes import Notes
from tsproxy.session import answers, throttle
from tsproxy.session.produce import cost

MAX_CLIENTS = 6
LATEST_S = 2 * 3_600.0
"""Virtual time after which a connection that still lives never ends."""

CALLER: ContextVar[Client] = ContextVar("CALLER")
"""The client for whom the proxy connects to a broker."""


@dataclass
class Result:
    """The end of a world. `trace` is None unless it was asked for."""

    seed: int
    connections: int
    hostile: int
    """The number of hostile ones among them."""
    requests: int
    events: list[str]
    violation: ViolationError | None
    left_out: tuple[str, ...] = ()
    trace: list[str] | None = None

    @property
    def trace_hash(self) -> str:
        return sha256("\n".join(self.trace or ()).encode()).hexdigest()


@dataclass
class _Log:
    """The lines of the operators' log."""

    lines: list[dict[str, Any]] = field(default_factory=list)

    def warning(self, event: str, **facts: object) -> None:
        self.lines.append({"event": event, **facts})

    debug = info = error = warning


class _Ordered(dict):
    """A set that is gone through in order: that of a plain set depends on addresses in memory."""

    def add(self, member: object) -> None:
        self[member] = None

    def discard(self, member: object) -> None:
        self.pop(member, None)


class _Port:
    """A listening port of the proxy, as `tsproxy.proxy.ports.Port`."""

    def __init__(self, address, accepted) -> None:
        self.address, self.ip = address, address.host
        self.accepted = accepted
        self.is_open = False

    def open(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False


def run_world(
    seed: int, left_out: Collection[str] = (), *, is_traced: bool = False, adversaries: int = 0
) -> Result:
    """Runs a world to its end, and checks it. So many hostile clients come besides."""
    world = World(Draws(seed, left_out), is_traced=is_traced, adversaries=adversaries)
    violation = None
    try:
        with world.patched():
            world.run()
    except ViolationError as broken:
        violation = broken
    except Exception as error:  # raised by the product where asyncio would have caught it
        violation = ViolationError("raised", f"{type(error).__name__}: {error}")
        violation.__cause__ = error
    finally:
        world.close()
    clients, hostile = world.clients, len(world.adversaries)
    requests = sum(len(client.history.asked) for client in clients)
    return Result(
        seed,
        len(clients) + hostile,
        hostile,
        requests,
        world.draws.events,
        violation,
        tuple(left_out),
        world.trace,
    )


class World:
    def __init__(self, draws: Draws, *, is_traced: bool = False, adversaries: int = 0) -> None:
        self.draws = draws
        self.trace: list[str] | None = [] if is_traced else None
        self.excuses: list[str] = []
        self.is_draining = False
        self.enforced_since_s: float | None = 0.0
        self.cut: int | None = None
        self._lenient: set[str] = set()
        self._log = _Log()
        self._certificate = 0
        self._ports: list[_Port] = []
        self._over = 0
        draw = self._draw = draws.stream("world")
        self.client_tls, self.broker_tls = draw.random() < 0.4, draw.random() < 0.4
        self._judges_apart, self._reads_apart = draw.random() < 0.25, draw.random() < 0.25
        self.coincidences = possible(judges_apart=self._judges_apart, reads_apart=self._reads_apart)
        self._checks_every_s = draw.choice((connection_monitor.CHECK_S, 10.0, 10.0, 10.0))
        self.needs_sasl = draw.random() < 0.2
        self._throttles_soon = draw.random() < 0.2
        self.loop = SimulatedLoop(draws.stream("timers"))
        self.clock = SimulatedClock(self.loop, NOW_MS)
        self.network = Network(self.loop, self._dial, self.note)
        self.judges = SimulatedJudges(self.loop, draws.stream("judges"))
        self.judges.judging_begins = self._judging_begins
        self.loop.thread_begins = self._reading_begins
        self.limits = ProcessLimits(config("usual").connection_limits, self.clock)
        self.limits.memory.beside = lambda: self.judges.abandoned_bytes
        self.clients: list[Client] = []
        self.adversaries = [Adversary(self, FIRST + n, draws) for n in range(adversaries)]
        self._attempts: dict[int, int] = {}

    @property
    def may_cut(self) -> bool:
        """Whether the proxy may cut connections off: in a drain, and at limits."""
        return self.is_draining or bool(self.excuses)

    @property
    def logged(self) -> list[dict[str, Any]]:
        return self._log.lines

    def run(self) -> None:
        """Raises ViolationError."""
        loop, draw = self.loop, self._draw
        changes = self._changes = Changes(self, self.draws)
        self.listener = self._made_listener()
        self.sampler = Sampler(lambda: self.listener.relays)
        changes.begin()
        self.listener.open()
        monitor = loop.create_task(self.limits.run())
        for number in range(1, 1 + draw.randint(1, MAX_CLIENTS)):
            when_s = draw.random() * draw.choice((0.0, 0.5))
            if draw.has(1.0, f"client {number} comes"):
                client = Client(self, number, self.draws)
                self.clients.append(client)
                loop.after(when_s, lambda client=client: self._comes(client))
        for adversary in self.adversaries:
            loop.after(adversary.draws.random() * 0.5, lambda client=adversary: self._comes(client))
        changes.plan()
        if not loop.run_until(self._is_over, loop.now_s + LATEST_S):
            raise ViolationError(
                "never_ends",
                f"{[c.history.number for c in (*self.clients, *self.adversaries) if not c.is_over]}",
            )
        monitor.cancel()
        loop.run_until(lambda: not loop._ready, loop.now_s)
        check_leftovers(self)
        for client in self.clients:
            self._check(client)

    def close(self) -> None:
        """Lets go of all that a world which failed has left."""
        for task in self.loop.unfinished_tasks():
            task.cancel()
        with contextlib.suppress(Exception):
            self.loop.run_until(lambda: not self.loop._ready, self.loop.now_s)
        self.network.close()

    def _is_over(self) -> bool:
        return (
            self._over == len(self.clients) + len(self.adversaries)
            and not self.listener.relays
            and len(self.loop.unfinished_tasks()) == 1
            and not self.loop._ready
            and not self.judges.is_at_work
            and all(link.is_settled for link in self.network.links)
        )

    def _check(self, client: Client) -> None:
        if client.link is None:
            return
        if client.history.gave_up and not client.history.faults and not self.excuses:
            raise ViolationError("unanswered", f"client {client.history.number}")
        check_connection(
            client.history,
            client.link.consumed,
            in_peace=not self.excuses and not self.cut,
            has_drained=self.is_draining,
        )

    # The proxy

    def _made_listener(self) -> ProxyListener:
        settings = config("usual")
        context = ConnectionContext(
            self.clock,
            _METRICS,
            Notes(self._log, self.clock),
            lambda booked: self._history_of(booked.peer).book(booked),
            lambda _: None,
            self._changes.want_topic,
            self._changes.want_node,
            self.limits,
            judges=self.judges,
            decoders=None,
        )
        listener = ProxyListener(
            settings.listeners[0],
            settings,
            (lambda: self._certificate or True) if self.client_tls else None,
            Upstream((lambda: True) if self.broker_tls else None),
            context,
        )
        listener.relays, listener._tasks = _Ordered(), _Ordered()
        return listener

    @contextlib.contextmanager
    def patched(self) -> Iterator[None]:
        """Ports of this world, and thresholds so low that small messages take the long way."""
        wanted = [
            (listener_module, "Port", self._bind),
            (log_event, "_log", self._log),
            (cost, "OFFLOAD_BYTES", 0 if self._judges_apart else cost.OFFLOAD_BYTES),
            (answers, "MAX_READ_HERE", 0 if self._reads_apart else answers.MAX_READ_HERE),
            (connection_monitor, "CHECK_S", self._checks_every_s),
            (throttle, "FREE_MS", 2.0 if self._throttles_soon else throttle.FREE_MS),
        ]
        with contextlib.ExitStack() as stack:
            for module, name, value in wanted:
                stack.enter_context(patch.object(module, name, value))
            yield

    def _bind(self, address, accepted, *, is_shared=False) -> _Port:
        port = _Port(address, accepted)
        self._ports.append(port)
        return port

    def _history_of(self, peer):
        for client in (*self.clients, *self.adversaries):
            if client.port == peer.client_port:
                return client.history
        raise ViolationError("booked_unknown", str(peer))

    def _judging_begins(self) -> None:
        judged = {relay.peer.client_port for relay in self.listener.relays if relay._session.is_judging}
        for client in self.clients:
            if client.port in judged:
                client.judging_begins()

    def _reading_begins(self, job) -> None:
        """The work of `job` is `read_beside` with its arguments: the answer is the second one."""
        correlation_id = int.from_bytes(job.work.args[1][:4], "big")
        for client in self.clients:
            if client.history.number == correlation_id // 1_000:
                client.reading_begins(correlation_id)

    # Events

    def note(self, text: str) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.loop.now_s:.6f} {text}")

    def end_interval(self) -> None:
        """The decision log asks all connections for what the fast path has counted."""
        for relay in tuple(self.listener.relays):
            for totals in relay.drain_totals():
                self._history_of(totals.peer).book(totals)

    def renew_certificate(self) -> None:
        self._certificate += 1

    def set_lenient(self, why: str, is_lenient: bool) -> None:
        if is_lenient:
            self._lenient.add(why)
            self.enforced_since_s = None
        else:
            self._lenient.discard(why)
            self.set_strict_from_now()

    def set_strict_from_now(self) -> None:
        if not self._lenient and self.enforced_since_s is None:
            self.enforced_since_s = self.loop.now_s

    def drain(self, draining: Coroutine[Any, Any, int]) -> None:
        self.is_draining = True

        async def drains() -> None:
            self.cut = await draining

        self.loop.create_task(drains())

    def find_port(self, draws: Stream):
        """The function that accepts a connection to one of the proxy's ports, if any does."""
        is_open = [port for port in self._ports if port.is_open]
        return draws.choice(is_open).accepted if is_open else None

    def _comes(self, client: Client) -> None:
        self.note(f"client {client.history.number} comes")
        token = CALLER.set(client)
        client.dials()
        CALLER.reset(token)

    def _dial(self, host: str, port: int):
        client = CALLER.get()
        history = client.history
        attempt = self._attempts[history.number] = self._attempts.get(history.number, -1) + 1
        is_silent = client.coincidence is Coincidence.CLIENT_ENDS_UNANSWERED
        broker = BrokerEnd(self, history, self.draws, attempt, is_silent=is_silent)
        client.broker = broker
        delay_s, error = broker.dialled()
        if error is not None or delay_s > 1.0:
            history.lose("no broker")
        return broker, delay_s, error

    def one_over(self) -> None:
        self._over += 1


_METRICS = Metrics()


def rendered_metrics() -> bytes:
    """A scrape over all worlds of this process."""
    return _METRICS.render()
