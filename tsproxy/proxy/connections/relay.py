"""The life of one connection: a client connection and the broker connection that belongs to it.

Bytes that do not take the fast path go to the session (`driver.py`). A relay is closed when the session
ends, when either end is lost, or when the proxy drains. Both ends are flushed first. `stages.py` has its
stages.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tsproxy.decisions.totals import Totals
from tsproxy.log_events.catalogue.clients import SESSION_CLOSED
from tsproxy.model.outcome import Peer
from tsproxy.model.transitions import after
from tsproxy.model.view import View
from tsproxy.proxy.connections.back_pressure import Hold
from tsproxy.proxy.connections.context import ConnectionContext
from tsproxy.proxy.connections.driver import Crashed, Ending, SessionDriver
from tsproxy.proxy.connections.protocol import RelayProtocol
from tsproxy.proxy.connections.stages import TRANSITIONS, Cause, Stage
from tsproxy.proxy.limits.connection_monitor import ConnectionStats
from tsproxy.proxy.limits.limit import Limit
from tsproxy.proxy.metrics.results import BOOTSTRAP, Result
from tsproxy.session.effects import CloseReason
from tsproxy.session.events import (
    AnswerDecoded,
    BrokerBytes,
    BrokerClosed,
    ClientBytes,
    ClientClosed,
    Event,
    RequestJudged,
    Throttled,
    ViewChanged,
)
from tsproxy.session.produce.judge_request import Malformed
from tsproxy.session.session import Session
from tsproxy.wire.frames import Unfinished

UPSTREAM_UNAVAILABLE: Final = "upstream_unavailable"
"""A reason that `CloseReason` does not have: no broker could be connected. The session is not involved."""

BROKER_CLOSED_EARLY: Final = "broker_closed_early"
"""Another one: the broker closed the connection before its first answer, and not because of the client."""

_NEEDS_NO_LINE: Final = frozenset({CloseReason.PEER_CLOSED, CloseReason.SASL_FAILED})
"""The reasons that need no line in the log: the ordinary end, and a rejected login, which already has one."""

HALF_CLOSED_S: Final = 30.0
"""How long a client that sends no more may wait for its missing answers."""


class Relay:
    """One connection. `client` and `broker` are the protocols to connect. The caller connects the broker, and
    then calls `upstream_connected` or `upstream_unavailable`. `on_end` is called once, when both ends are
    closed."""

    __slots__ = (
        "_context",
        "_driver",
        "_early",
        "_has_answer",
        "_is_booked",
        "_is_connecting",
        "_on_end",
        "_stage",
        "_timer",
        "broker",
        "broker_address",
        "broker_name",
        "client",
        "stats",
    )

    def __init__(
        self, peer: Peer, view: View, context: ConnectionContext, on_end: Callable[["Relay"], None]
    ) -> None:
        self.client = _ClientProtocol(self, context)
        self.broker = _BrokerProtocol(self, context)
        self._context = context
        self._driver = SessionDriver(peer, view, self.client, self.broker, context, self._happened)
        self._early: list[bytes] = []
        self._has_answer = False
        self._is_booked = False
        self._is_connecting = True
        self._on_end: Callable[[Relay], None] | None = on_end
        self._stage = Stage.CONNECTING
        self._timer: asyncio.TimerHandle | None = None
        self.broker_address = ""
        """The address at which the broker was reached."""
        self.broker_name = BOOTSTRAP
        """The broker in counts of results: a node id, or BOOTSTRAP."""
        self.stats = ConnectionStats()
        context.metrics.connection_moved(peer.listener, None, Stage.CONNECTING.name)

    @property
    def peer(self) -> Peer:
        return self._driver.peer

    @property
    def _session(self) -> Session:
        return self._driver.session

    def identify(self, peer: Peer) -> None:
        """Set the peer that the handshake has found. Call this before the client's first byte is read."""
        if peer != self.peer:
            self._driver.identify(peer)

    def apply_view(self, view: View) -> None:
        """Judge by this view from the next bytes on."""
        if self._stage is not Stage.CLOSING:
            self._happened(ViewChanged(view))

    @property
    def is_settled(self) -> bool:
        """True if no answer is missing and all bytes are sent. The two ends may still be open."""
        return self._stage is Stage.CLOSING and self.client.is_flushed and self.broker.is_flushed

    @property
    def held_bytes(self) -> int:
        """Memory for bytes that have been received and not sent yet."""
        early = sum(map(len, self._early)) if self._early else 0
        kept = self.client.kept + self._session.held_bytes
        return early + kept + self.client.unsent_bytes + self.broker.unsent_bytes

    @property
    def was_heard(self) -> bool:
        """True if a byte came from either end since this was last set to False."""
        return self.client.was_heard or self.broker.was_heard

    @was_heard.setter
    def was_heard(self, was_heard: bool) -> None:
        self.client.was_heard = self.broker.was_heard = was_heard

    @property
    def unfinished(self) -> Unfinished | None:
        """The request that is being received; None while the proxy does not read on from the client, since
        the client is not to blame then."""
        if not self._stage.takes_requests or self.client.gate.is_held:
            return None
        # The protocol and the session may pass the request to each other, but its number stays the same.
        number = self.client.runs + self._session.requests_taken
        if self.client.kept:
            return Unfinished(number, self.client.kept, self.client.announced)
        unfinished = self._session.unfinished
        return replace(unfinished, number=number) if unfinished is not None else None

    @property
    def is_owed_answers(self) -> bool:
        return self._stage.takes_answers and self._session.in_flight_requests > 0

    @property
    def _is_reading_answer(self) -> bool:
        """True while a thread reads an answer."""
        return self._stage is not Stage.CLOSING and self._session.is_reading_answer

    @property
    def is_owed_first_answer(self) -> bool:
        """True if the broker has a request and has not sent a byte yet."""
        return not self._has_answer and not self._is_booked and self.is_owed_answers

    def broker_is_silent(self) -> None:
        """The broker should have sent its first answer by now. The connection stays: the answer may come."""
        self.book(Result.BROKER_SILENT, self.broker_address)

    def answers_are_late(self) -> None:
        """The broker may hang, or the client may have asked for something that takes long."""
        self._context.doubt_broker(self.broker_address)

    def drain_totals(self) -> list[Totals]:
        """The batches that the fast path has counted since the last call."""
        if self._stage is Stage.CLOSING:
            return []
        totals = self._driver.drain_totals()
        if isinstance(totals, Ending):
            self.close(totals.reason, totals.text, is_logged=totals.is_logged)
            return []
        return totals

    def time_next(self) -> None:
        """Measure how long the next request takes, for the metrics."""
        if self._stage is Stage.RELAYING:
            self._driver.time_next(self.broker_name)

    # The connection to the broker is made.

    def upstream_connected(self) -> None:
        """The broker is connected. The client's early bytes go first, even if the client has disconnected
        since then: the operating system would have delivered these bytes as well."""
        self._is_connecting = False
        if self._stage is Stage.CLOSING:
            self.broker.abort()
            self._end_if_over()
            return
        self._change(Cause.BROKER_CONNECTED)
        early, self._early = self._early, []
        for data in early:
            self.client_bytes(data)
        self._open_fast_path()
        if self.client.was_lost:
            self.client_lost()
        elif self.client.end_was_seen:
            if not self.client_ended():
                self.client.finish()
        else:
            self.client.gate.release(Hold.CONNECTING)

    def client_unavailable(self) -> None:
        """The client cannot be served: for example, it has disconnected, or its TLS handshake has failed."""
        self._is_connecting = False
        self._change(Cause.OVER)
        self._end_if_over()

    def upstream_unavailable(self, text: str) -> None:
        """No broker could be connected. To the client this looks like a broker that is down: its connection
        is accepted and then closed."""
        self.book(Result.BROKER_UNREACHABLE, text)
        self._no_broker(text)

    def gave_up(self) -> None:
        """The proxy ends before a broker is connected."""
        self._no_broker("the proxy gave up")

    def _no_broker(self, text: str) -> None:
        self._is_connecting = False
        self.close(UPSTREAM_UNAVAILABLE, text)
        self._end_if_over()

    # Events of the two ends.

    def client_bytes(self, data: bytes) -> None:
        if self._stage.takes_requests:
            self._feed(ClientBytes(data))
            if self.client.filter is not None:
                self.client.keep(self._session.take_unparsed())
            self.count_memory()
        elif self._stage is Stage.CONNECTING:
            self._early.append(data)

    def broker_bytes(self, data: bytes) -> None:
        if self._stage.takes_answers:
            self._feed(BrokerBytes(data))
            if not self._has_answer:
                self._has_answer = True
                self._open_fast_path()
            if not self._is_booked and self._session.is_accepted:
                self.book(Result.SERVED)
            self.count_memory()
            self._part_if_owed_nothing()

    def throttled(self, throttle_ms: int) -> None:
        """The fast path has repeated a rejection, for which the client is muted."""
        self._feed(Throttled(throttle_ms))

    def crashed(self, error: Exception) -> None:
        """An error in our code, in the fast path."""
        self._feed(Crashed(error))

    def client_ended(self) -> bool:
        """The client sends no more. True keeps its end open for writing: the client still gets its missing
        answers. It would get them from a broker, too, which reads all pipelined requests before it reads the
        end."""
        if self._stage is Stage.CONNECTING:
            return True
        if self.is_owed_answers:
            self._finish(HALF_CLOSED_S)
            return True
        self._part(self.client)
        return False

    def broker_ended(self) -> bool:
        """The broker sends no more. True keeps its end open, since a thread still reads an answer: see
        `_release_ends`."""
        if self._is_reading_answer:
            return True
        self._part(self.broker)
        return False

    def client_lost(self) -> None:
        if self._stage is Stage.CONNECTING and self._early:
            return  # see `upstream_connected`
        if self._session.is_judging:
            # asyncio does not resume a lost transport, but a client that is gone is not full.
            self.client_is_full(False)
            return  # a broker would have read this request before the end: see `_release_ends`
        self._part(self.client)
        self._end_if_over()

    def broker_lost(self) -> None:
        if self._is_reading_answer:
            return  # the answer has come, and the client must get it: see `_release_ends`
        self._part(self.broker)
        self._end_if_over()

    def client_is_full(self, is_full: bool) -> None:
        """Neither end is read while the client is full, since reading from either may make answers for it."""
        for end in (self.client, self.broker):
            end.gate.set(Hold.CLIENT_FULL, is_full)
        if not is_full:
            self._driver.begin_postponed()

    def broker_is_full(self, is_full: bool) -> None:
        self.client.gate.set(Hold.BROKER_FULL, is_full)

    def count_memory(self) -> None:
        self._context.limits.memory.count(self)

    def _happened(self, event: Event | Crashed) -> None:
        """Handle an event that does not come from received bytes: a thread is done, a deadline has passed, or
        the view has changed."""
        was_held, forwarded = self._session.is_judging, self._session.requests_forwarded
        self._feed(event)
        if isinstance(event, RequestJudged):
            is_answered = isinstance(event.judgement, Malformed) or event.judgement.acks != 0
        else:
            has_gone = self._session.requests_forwarded > forwarded or not self._session.is_judging
            is_answered = was_held and has_gone
        if isinstance(event, AnswerDecoded | RequestJudged):
            self.count_memory()
        # A broker that cannot deliver an answer reads nothing behind that request either.
        if self.client.was_lost and is_answered:
            self._part(self.client)
            self._end_if_over()
        self._release_ends()

    def _release_ends(self) -> None:
        """End the connection if one end is over, and was kept only for a request or an answer that is now
        done."""
        if not self._session.is_judging and self.client.was_lost:
            self.client_lost()
        if not self._is_reading_answer:
            if self.broker.was_lost:
                self.broker_lost()
            elif self.broker.end_was_seen:
                self._part(self.broker)
        self._part_if_owed_nothing()

    # Results.

    def book(self, result: Result, text: str = "") -> None:
        """Count the result of this connection, once."""
        if not self._is_booked:
            self._is_booked = True
            self._context.results.book(self.peer.listener, self.broker_name, result, text)

    def _book_end(self, reason: str) -> str:
        """Count the connection if it ends before it was counted. Returns the reason of its end."""
        if self._is_booked:
            return reason
        if reason == CloseReason.SASL_FAILED:
            self.book(Result.LOGIN_FAILED)
        elif self._was_closed_early:
            self.book(Result.BROKER_CLOSED_EARLY, self.broker_address)
            reason = BROKER_CLOSED_EARLY
        return reason

    @property
    def _was_closed_early(self) -> bool:
        """True if the broker ended the connection without a byte, and the client had not ended it before."""
        is_over = self.broker.end_was_seen or self.broker.was_lost
        has_left = self.client.end_was_seen or self.client.was_lost
        return is_over and not has_left and not self._has_answer

    # Endings.

    def drain(self) -> None:
        """Accept nothing more from the client, and close when it has all its answers."""
        if self.is_owed_answers:
            self._finish(None)
        else:
            self._part(self.client)

    def cut(self) -> None:
        """Close both ends at once: the time for an orderly end is over."""
        self._part(self.client)
        self.client.abort()
        self.broker.abort()

    def exceeded(self, limit: Limit, text: str) -> None:
        """The connection has exceeded a limit. An end that holds memory is cut off, not flushed."""
        if self._stage is Stage.CLOSING:
            return
        self._context.metrics.limit_reached(limit)
        self._driver.settle()
        self.close(limit, text)
        if limit is not Limit.IDLE:
            self.client.abort()
        if limit is Limit.BUFFERED:
            self.broker.abort()

    def _feed(self, event: Event | Crashed) -> None:
        """Give the session an event, and close if it has ended."""
        ending = self._driver.feed(event)
        if ending is not None:
            self.close(ending.reason, ending.text, is_logged=ending.is_logged)

    def _part_if_owed_nothing(self) -> None:
        if self._stage is Stage.FINISHING and not self.is_owed_answers:
            self._part(self.client)

    def _open_fast_path(self) -> None:
        """Let each end forward to the other end the bytes that the fast path allows. The session gets the
        broker's first answer, since that decides how the connection fared."""
        fast_path = self._session.fast_path
        if self._stage is Stage.RELAYING and fast_path is not None:
            self.client.other, self.broker.other = self.broker, self.client
            self.client.filter = fast_path.requests
            self.broker.filter = fast_path.answers if self._has_answer else None
            self.client.rejecter = fast_path.rejecter

    def _close_fast_path(self) -> None:
        self.client.filter = self.broker.filter = self.client.rejecter = None

    def _finish(self, limit_s: float | None) -> None:
        self._change(Cause.NO_MORE_REQUESTS)
        self._close_fast_path()  # the session must get the last answer
        self.client.gate.hold(Hold.FINISHING)
        if limit_s is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(limit_s, self._part, self.client)

    def _part(self, end: RelayProtocol) -> None:
        """This end is over: the session settles its open requests, and the other end is closed, too."""
        if self._stage is not Stage.CLOSING:
            if kept := self.client.take_kept():
                self._feed(ClientBytes(kept))
            self._feed(BrokerClosed() if end is self.broker else ClientClosed())
            self.close(CloseReason.PEER_CLOSED, "")  # if the session has not closed by itself

    def close(self, reason: str, text: str, *, is_logged: bool = False) -> None:
        """Flush and close both ends. Further calls do nothing. `is_logged` is True if the log already has the
        reason."""
        if self._stage is Stage.CLOSING:
            return
        reason = self._book_end(reason)
        self._change(Cause.OVER)
        self._close_fast_path()
        self.client.let_go()
        self._early.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._driver.end()
        self._context.metrics.session_closed(self.peer.listener, reason)
        if reason not in _NEEDS_NO_LINE and not is_logged:
            self._driver.note(SESSION_CLOSED, {"reason": reason, "text": text})
        self.client.finish()
        self.broker.finish()

    def _end_if_over(self) -> None:
        if self._is_connecting or self.client.is_open or self.broker.is_open:
            return
        if (on_end := self._on_end) is not None:
            self._on_end = None
            self._context.metrics.connection_moved(self.peer.listener, self._stage.name, None)
            on_end(self)

    def _change(self, cause: Cause) -> None:
        """Change to the stage that follows from `cause`."""
        stage = after(TRANSITIONS, self._stage, cause)
        self._context.metrics.connection_moved(self.peer.listener, self._stage.name, stage.name)
        self._stage = stage


class _ClientProtocol(RelayProtocol):
    """The client's end of `relay`."""

    __slots__ = ("_relay",)

    def __init__(self, relay: Relay, context: ConnectionContext) -> None:
        super().__init__(context.buffers, context.metrics.from_clients, context.clock, Hold.CONNECTING)
        self._relay = relay

    def came(self, data: bytes) -> None:
        self._relay.client_bytes(data)

    def kept_more(self) -> None:
        self._relay.count_memory()

    def throttled(self, mute_ms: int) -> None:
        self._relay.throttled(mute_ms)

    def failed(self, error: Exception) -> None:
        self._relay.crashed(error)

    def on_end(self) -> bool:
        return self._relay.client_ended()

    def on_lost(self) -> None:
        self._relay.client_lost()

    def on_full(self, is_full: bool) -> None:
        self._relay.client_is_full(is_full)


class _BrokerProtocol(RelayProtocol):
    """The broker's end of `relay`."""

    __slots__ = ("_relay",)

    def __init__(self, relay: Relay, context: ConnectionContext) -> None:
        super().__init__(context.buffers, context.metrics.from_brokers, context.clock)
        self._relay = relay

    def came(self, data: bytes) -> None:
        self._relay.broker_bytes(data)

    def failed(self, error: Exception) -> None:
        self._relay.crashed(error)

    def on_end(self) -> bool:
        return self._relay.broker_ended()

    def on_lost(self) -> None:
        self._relay.broker_lost()

    def on_full(self, is_full: bool) -> None:
        self._relay.broker_is_full(is_full)
