"""The session between two ends, and what it wishes of them.

A call of the session's is a step: bytes, a view, a ruling or an end go in, and what it answers with is
performed at once. What one step wants sent leaves in one write an end.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, Protocol, assert_never

from tsproxy.model.addresses import Address, counted_as
from tsproxy.model.outcome import Peer, Totals
from tsproxy.model.view import View
from tsproxy.proxy.connections.answer_reader import Read, Reading
from tsproxy.proxy.connections.back_pressure import Hold
from tsproxy.proxy.connections.context import Surroundings
from tsproxy.proxy.connections.judging import Judged, Judging
from tsproxy.proxy.connections.leg import Leg
from tsproxy.proxy.metrics.latency.stopwatch import Stopwatch
from tsproxy.proxy.notes import frames_of
from tsproxy.session import warnings
from tsproxy.session.effects import (
    CloseReason,
    CloseSession,
    Effect,
    Emit,
    EmitDead,
    HoldBroker,
    Judge,
    MuteClient,
    NodeWanted,
    Note,
    PauseClient,
    PutOff,
    ReadAnswer,
    ReleaseBroker,
    ResumeClient,
    SendToBroker,
    SendToClient,
    TopicWanted,
)
from tsproxy.session.session import Session

NODE_WAIT_S: Final = 5.0
"""How long an answer waits for a broker that it names to be served, before it fails closed."""


class Owner(Protocol):
    """Whose ends these are."""

    def close(self, reason: str, text: str, *, is_told: bool = False) -> None:
        """The session has ended, or crashed; `is_told` where a line of the log says why already."""

    def decided(self, judged: Judged) -> None:
        """A request that was judged beside the loop, or put off, has gone on."""

    def answer_was_read(self) -> None:
        """An answer that was read beside the loop has gone on."""


class Conversation:
    """`session` is the definition of what is said; everything that takes time is here."""

    __slots__ = (
        "_around",
        "_judging",
        "_mute_timer",
        "_node_timer",
        "_owner",
        "_reading",
        "_stopwatch",
        "broker",
        "client",
        "peer",
        "session",
    )

    def __init__(
        self, peer: Peer, view: View, client: Leg, broker: Leg, around: Surroundings, owner: Owner
    ) -> None:
        self.client = client
        self.broker = broker
        self.peer = peer
        self.session = _session_of(peer, view, around)
        self._around = around
        self._judging = Judging(around.judges, self._judged)
        self._reading = Reading(around.readers, self._answer_was_read)
        self._mute_timer: asyncio.TimerHandle | None = None
        self._node_timer: asyncio.TimerHandle | None = None
        self._owner = owner
        self._stopwatch: Stopwatch | None = None

    def introduce(self, peer: Peer) -> None:
        """Who the client is, before its first byte: a session of its own."""
        self.peer = peer
        self.session = _session_of(peer, self.session.view, self._around)

    def time_next(self) -> None:
        """Tell the metrics how long the next request takes."""
        if self._stopwatch is None:
            around = self._around
            self._stopwatch = Stopwatch(
                self.client, self.broker, self.session, around.metrics.timings, around.clock
            )
        self._stopwatch.arm()

    def step(self, call: Callable[..., list[Effect]], *arguments: bytes | int | View) -> None:
        """Do what `session` answers with when it is called so."""
        try:
            effects = call(*arguments)
            if self.session.owes_totals:
                self._book_totals()
            self._perform(effects)
        except Exception as error:  # see `crashed`
            self.crashed(error)

    def drain_totals(self) -> list[Totals]:
        """The batches that the fast path has counted since the last call."""
        try:
            return self.session.drain_totals()
        except Exception as error:  # see `crashed`
            self.crashed(error)
            return []

    def _book_totals(self) -> None:
        for totals in self.session.drain_totals():
            self._around.book_totals(totals)

    def crashed(self, error: Exception) -> None:
        """Whatever it is, it is a mistake of ours: it ends this session, not the process. The error's
        own text stays out of the log, since it may quote what a client sent."""
        self.note("session_crashed", {"error": type(error).__name__, "frames": frames_of(error)}, ours=True)
        self.settle()
        self._owner.close(CloseReason.INTERNAL_ERROR, "a mistake in tsproxy; please report the frames")

    def settle(self) -> None:
        """Book what a session that is over has counted and still has in flight; nothing of it is sent."""
        try:
            for effect in self.session.broker_closed():
                if isinstance(effect, Emit):
                    self._around.book(effect.outcome)
            self._book_totals()
        except Exception:
            return  # the same mistake once more, most likely: it is told already

    def end(self) -> None:
        """Nothing more is waited for."""
        for timer in (self._node_timer, self._mute_timer):
            if timer is not None:
                timer.cancel()
        self._judging.cancel()
        self._reading.cancel()

    def mute(self, throttle_ms: int) -> None:
        """Not read the client for so long, as brokers do with one that is over its quota."""
        self._around.metrics.throttled_ms += throttle_ms
        self.client.gate.hold(Hold.MUTED)
        if self._mute_timer is not None:
            self._mute_timer.cancel()
        loop = asyncio.get_running_loop()
        self._mute_timer = loop.call_later(throttle_ms / 1000, self.client.gate.release, Hold.MUTED)

    def begin_postponed(self) -> None:
        """Judge what waited for the client to take its answers."""
        self._judging.begin_postponed(counted_as(self.peer.client_address))

    def note(self, event: str, facts: Mapping[str, object], *, ours: bool = False) -> None:
        """A line of the log about this connection."""
        peer = self.peer
        who = {"listener": peer.listener, "client": peer.client_address, "client_port": peer.client_port}
        tell = self._around.notes.error if ours else self._around.notes.warn
        tell(peer.client_address, event, {**who, **facts})

    def _perform(self, effects: list[Effect]) -> None:
        to_broker: list[bytes] = []
        to_client: list[bytes] = []
        close: CloseSession | None = None
        was_noted = False
        for effect in effects:
            match effect:
                case SendToBroker():
                    to_broker.append(effect.data)
                case SendToClient():
                    to_client.append(effect.data)
                case Emit():
                    self._around.book(effect.outcome)
                case EmitDead():
                    self._around.enqueue(effect.batch)
                case PauseClient():
                    self.client.gate.hold(Hold.SESSION_ASKED)
                case ResumeClient():
                    self.client.gate.release(Hold.SESSION_ASKED)
                case MuteClient():
                    self.mute(effect.throttle_ms)
                case Judge():
                    self._judge(effect)
                case PutOff():
                    self._put_off(effect)
                case ReadAnswer():
                    self.broker.gate.hold(Hold.READING)
                    self._reading.begin(effect)
                case TopicWanted():
                    self._around.want_topic(effect.topic)
                case NodeWanted():
                    self._around.want_node(effect.node_id, Address(effect.host, effect.port))
                case HoldBroker():
                    self._wait_for_node()
                case ReleaseBroker():
                    self._wait_no_more()
                case Note():
                    was_noted = was_noted or effect.event not in warnings.WARNINGS
                    self._count(effect)
                    self.note(effect.event, effect.facts)
                case CloseSession():
                    close = effect
                case _:
                    assert_never(effect)
        self.broker.write(to_broker)
        self.client.write(to_client)
        if close is not None:  # one line is enough
            self._owner.close(close.reason, close.text, is_told=was_noted)

    def _count(self, told: Note) -> None:
        """What metrics say of it as well, whatever the log has room for."""
        match told.event:
            case warnings.RULE_FAILED:
                self._around.metrics.rule_failures.inc()
            case warnings.SASL_FAILED:
                self._around.metrics.sasl_failed(self.peer.listener, str(told.facts["mechanism"]))

    def _wait_for_node(self) -> None:
        self.broker.gate.hold(Hold.SESSION_ASKED)
        loop = asyncio.get_running_loop()
        self._node_timer = loop.call_later(NODE_WAIT_S, self.step, self.session.node_given_up)

    def _wait_no_more(self) -> None:
        self.broker.gate.release(Hold.SESSION_ASKED)
        if self._node_timer is not None:
            self._node_timer.cancel()

    def _judge(self, wanted: Judge) -> None:
        """Not while the client takes no more: a small request may have a large answer, and behind it
        the session may hold a thousand like it."""
        if self.client.gate.is_held_for(Hold.CLIENT_FULL):
            self._judging.postpone(wanted)
        else:
            self._judging.begin(wanted, counted_as(self.peer.client_address))

    def _put_off(self, wanted: PutOff) -> None:
        self._around.metrics.throttled_ms += wanted.silence_ms
        if self._stopwatch is not None:
            self._stopwatch.put_off()
        self._judging.put_off(wanted)

    def _judged(self, judged: Judged) -> None:
        """The session goes on, unless it has ended meanwhile."""
        if judged.cancelled():
            return
        self.step(lambda: self.session.judged(judged.result(), self._around.clock.now_ms()))
        if self._stopwatch is not None:
            self._stopwatch.judged()
        self._owner.decided(judged)

    def _answer_was_read(self, read: Read) -> None:
        self.broker.gate.release(Hold.READING)
        self.step(lambda: self.session.answer_read(read.result(), self._around.clock.now_ms()))
        if self._stopwatch is not None:
            self._stopwatch.answer_was_read()
        self._owner.answer_was_read()


def _session_of(peer: Peer, view: View, around: Surroundings) -> Session:
    return Session(
        peer, view, uses_fast_path=True, throttle=around.throttle, stream_times=around.stream_times
    )
