"""`SessionDriver`: runs the session of one connection between its two ends.

It gives each event to the session, and at once performs the effects that the session returns. All bytes that
one event sends to an end leave in one write.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from tsproxy.decisions.totals import Totals
from tsproxy.log_events.catalogue import BY_NAME, LOOP_HELD, SASL_FAILED, SESSION_CRASHED, LogEvent
from tsproxy.model.addresses import Address, counted_as
from tsproxy.model.custom_rule import ENDS_PROCESS
from tsproxy.model.outcome import Peer
from tsproxy.model.view import View
from tsproxy.proxy.connections.back_pressure import Hold
from tsproxy.proxy.connections.context import ConnectionContext
from tsproxy.proxy.connections.offload import DecodedFuture, JudgedFuture, OffloadDecoding, OffloadJudging
from tsproxy.proxy.connections.protocol import RelayProtocol
from tsproxy.proxy.metrics.stopwatch import Stopwatch
from tsproxy.proxy.notes import frames_of
from tsproxy.session.effects import (
    CloseReason,
    CloseSession,
    Count,
    DelayRequest,
    Effect,
    Emit,
    EmitDead,
    EnterStage,
    HoldBroker,
    Judge,
    MuteClient,
    NodeWanted,
    Note,
    NoteOld,
    PauseClient,
    ReadAnswer,
    ReleaseBroker,
    ResumeClient,
    SaslFailed,
    SendToBroker,
    SendToClient,
    TopicWanted,
    UnmuteClient,
    Warn,
    WarningName,
)
from tsproxy.session.events import (
    Aborted,
    AnswerDecoded,
    DeadlinePassed,
    Event,
    LimitsRead,
    RequestJudged,
)
from tsproxy.session.lifetime import Stage
from tsproxy.session.session import Session

HELD_US: Final = 100_000
"""From this CPU time on, a step of one connection is named in the log: nobody else was served meanwhile."""


@dataclass(frozen=True, slots=True)
class Crashed:
    """An error in our code, in the session or in a thread that works for it."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Ending:
    """The session is over: close both ends. `is_logged` is True if the log already has a line with the
    reason."""

    reason: CloseReason
    text: str
    is_logged: bool = False


class SessionDriver:
    """Feeds `session` and performs its effects on both ends.

    `on_shell_event` is called with events that do not come from received bytes: a thread is done, or the
    deadline has passed. It should pass them to `feed`.
    """

    __slots__ = (
        "_context",
        "_deadline",
        "_deadline_ms",
        "_decoding",
        "_judging",
        "_on_shell_event",
        "_stopwatch",
        "broker",
        "client",
        "peer",
        "session",
        "stage",
    )

    def __init__(
        self,
        peer: Peer,
        view: View,
        client: RelayProtocol,
        broker: RelayProtocol,
        context: ConnectionContext,
        on_shell_event: Callable[[Event | Crashed], None],
    ) -> None:
        self.client = client
        self.broker = broker
        self.peer = peer
        self.session = Session(
            peer,
            view,
            is_connected=False,
            uses_fast_path=True,
            throttle=context.throttle,
            trust=context.trust,
            names_only=context.names_only,
            fresh_limits=context.fresh_limits,
        )
        self._context = context
        self._deadline: asyncio.TimerHandle | None = None
        self._deadline_ms: int | None = None
        self._on_shell_event = on_shell_event
        self._judging = OffloadJudging(context.judges, self._judged)
        self._decoding = OffloadDecoding(context.decoders, self._answer_decoded)
        self._stopwatch: Stopwatch | None = None
        self.stage = Stage.CONNECTING
        context.metrics.connection_moved(peer.listener, None, self.stage.name)

    def enter(self, stage: Stage) -> None:
        self._context.metrics.connection_moved(self.peer.listener, self.stage.name, stage.name)
        self.stage = stage
        if stage in (Stage.FINISHING, Stage.CLOSING):
            self.client.filter = self.broker.filter = self.client.rejecter = None
        if stage is Stage.FINISHING:
            self.client.gate.hold(Hold.FINISHING)

    def open_fast_path(self, *, to_client: bool) -> None:
        """Let each end forward to the other end the bytes that the fast path allows: the broker's only if
        `to_client`."""
        fast_path = self.session.fast_path
        if self.stage is Stage.RELAYING and fast_path is not None:
            self.client.other, self.broker.other = self.broker, self.client
            self.client.filter = fast_path.requests
            self.broker.filter = fast_path.answers if to_client else None
            self.client.rejecter = fast_path.rejecter

    def time_next(self, broker: str) -> None:
        """Measure how long the next request takes, for the metrics. `broker` has this name there."""
        if self._stopwatch is None:
            context = self._context
            self._stopwatch = Stopwatch(
                self.client, self.broker, self.session, context.metrics.timings, context.clock, broker
            )
        self._stopwatch.arm()

    def feed(self, event: Event | Crashed) -> Ending | None:
        """Give the session an event, and perform its effects. Returns the ending if the session is over."""
        if isinstance(event, Crashed):
            return self._crashed(event.error)
        clock = self._context.clock
        began_us, used_us = clock.monotonic_us(), clock.thread_us()
        try:
            effects = self.session.feed(event, clock.now_ms(), clock.monotonic_ms())
            if self.session.owes_totals:
                self._book_totals()
            ending = self._perform(effects)
            self._set_deadline()
        except ENDS_PROCESS:
            raise
        except BaseException as error:  # see `_crashed`
            return self._crashed(error)
        if self._stopwatch is not None:
            self._stopwatch.look()
        if clock.monotonic_us() - began_us > HELD_US:
            self._tell_if_held(event, clock.thread_us() - used_us)
        return ending

    def _tell_if_held(self, event: Event, used_us: int) -> None:
        """Name the request that has kept the event loop from all others. `used_us` is CPU time, since a slow
        machine is no client's fault."""
        if used_us <= HELD_US:
            return
        last = self.session.last_request
        self._context.metrics.loop_was_held(last.api, used_us / 1e6)
        facts = {"api": last.api, "size": last.size, "rule": last.rule, "held_ms": used_us // 1_000}
        self.note(LOOP_HELD, {"step": type(event).__name__, **facts})

    def drain_totals(self) -> list[Totals] | Ending:
        """The batches that the fast path has counted since the last call, or the ending after an error."""
        try:
            return self.session.drain_totals()
        except ENDS_PROCESS:
            raise
        except BaseException as error:  # see `_crashed`
            return self._crashed(error)

    def _book_totals(self) -> None:
        for totals in self.session.drain_totals():
            self._context.book(totals)

    def _set_deadline(self) -> None:
        """Set the timer for the session's next deadline. There is one timer for all of them."""
        deadline_ms = self.session.next_deadline_ms
        if deadline_ms == self._deadline_ms:
            return
        self._cancel_deadline()
        if deadline_ms is not None:
            wait_ms = max(0, deadline_ms - self._context.clock.monotonic_ms())
            self._deadline_ms = deadline_ms
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(wait_ms / 1000, self._deadline_passed)

    def _cancel_deadline(self) -> None:
        self._deadline_ms = None
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _deadline_passed(self) -> None:
        """Report the deadline. The session ignores a deadline before its time, so a timer that is early is
        set again."""
        self._cancel_deadline()
        self._on_shell_event(DeadlinePassed())

    def _crashed(self, error: BaseException) -> Ending:
        """Log an error in our code. It ends this session, not the process. The error's own text stays out of
        the log, since it may quote a client's bytes."""
        self.note(SESSION_CRASHED, {"error": type(error).__name__, "frames": frames_of(error)})
        self.settle()
        return Ending(CloseReason.INTERNAL_ERROR, "a mistake in tsproxy; please report the frames")

    def settle(self) -> None:
        """Book the batches that the session has counted, and those that are still in flight, after the
        session has ended. Nothing is sent."""
        try:
            clock = self._context.clock
            for effect in self.session.feed(Aborted(), clock.now_ms(), clock.monotonic_ms()):
                if isinstance(effect, Emit):
                    self._context.book(effect.outcome)
            self._book_totals()
        except ENDS_PROCESS:
            raise
        except BaseException:
            return  # most likely the same error again, which is logged already

    def end(self) -> None:
        self._cancel_deadline()
        self._context.fresh_limits.waiting.discard(self._limits_read)
        self._judging.cancel()
        self._decoding.cancel()

    def begin_postponed(self) -> None:
        """Judge the request that was postponed while the client's buffer was full, if there is one."""
        self._judging.begin_postponed(counted_as(self.peer.client_address))

    def note(self, event: LogEvent, facts: Mapping[str, object]) -> None:
        peer, client_id = self.peer, self.session.client_id
        who = {"listener": peer.listener, "client": peer.client_address, "client_port": peer.client_port}
        if client_id is not None:
            who["client_id"] = client_id
        self._context.notes.write(peer.client_address, event, {**who, **facts})

    def _perform(self, effects: list[Effect]) -> Ending | None:
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
                    self._context.book(effect.outcome)
                case NoteOld():
                    self._context.book(effect.request)
                case EmitDead():
                    self._context.enqueue(effect.batch)
                case PauseClient():
                    self.client.gate.hold(Hold.SESSION_ASKED)
                case ResumeClient():
                    self.client.gate.release(Hold.SESSION_ASKED)
                case MuteClient():
                    self._context.metrics.throttled_ms += effect.throttle_ms
                    self.client.gate.hold(Hold.MUTED)
                case UnmuteClient():
                    self.client.gate.release(Hold.MUTED)
                case Judge():
                    self._judge(effect)
                case DelayRequest():
                    self._context.metrics.throttled_ms += effect.delay_ms
                    if self._stopwatch is not None:
                        self._stopwatch.delayed()
                case ReadAnswer():
                    self.broker.gate.hold(Hold.READING)
                    self._decoding.begin(effect, counted_as(self.peer.client_address))
                case Count():
                    self._context.metrics.session_events[effect.counter] += 1
                case TopicWanted():
                    self._context.fresh_limits.waiting.add(self._limits_read)
                    self._context.want_topic(effect.topic, counted_as(self.peer.client_address))
                case NodeWanted():
                    self._context.want_node(effect.node_id, Address(effect.host, effect.port))
                case HoldBroker():
                    self.broker.gate.hold(Hold.SESSION_ASKED)
                case ReleaseBroker():
                    self.broker.gate.release(Hold.SESSION_ASKED)
                case Note():
                    was_noted = True
                    self.note(BY_NAME[effect.event], effect.facts)
                case SaslFailed():
                    was_noted = True
                    self._context.metrics.sasl_failed(self.peer.listener, effect.mechanism)
                    self.note(SASL_FAILED, {"mechanism": effect.mechanism, "error": effect.error})
                case Warn():
                    if effect.name is WarningName.RULE_FAILED:
                        self._context.metrics.rule_failures.inc()
                    self.note(BY_NAME[effect.name], effect.facts)
                case EnterStage():
                    self.enter(effect.stage)
                case CloseSession():
                    close = effect
                case _:
                    assert_never(effect)
        self.broker.write(to_broker)
        self.client.write(to_client)
        return Ending(close.reason, close.text, is_logged=was_noted) if close is not None else None

    def _judge(self, effect: Judge) -> None:
        """Judge a request in a thread. While the client's buffer is full the request is postponed: a small
        request may have a large answer, and the session may hold a thousand such requests behind it."""
        if self.client.gate.is_held_for(Hold.CLIENT_FULL):
            self._judging.postpone(effect)
        else:
            self._judging.begin(effect, counted_as(self.peer.client_address))

    def _judged(self, judged: JudgedFuture) -> None:
        if judged.cancelled():
            return
        error = judged.exception()
        self._on_shell_event(RequestJudged(judged.result()) if error is None else Crashed(error))

    def _limits_read(self) -> None:
        self._on_shell_event(LimitsRead())

    def _answer_decoded(self, read: DecodedFuture) -> None:
        self.broker.gate.release(Hold.READING)
        error = read.exception()
        self._on_shell_event(AnswerDecoded(read.result()) if error is None else Crashed(error))
