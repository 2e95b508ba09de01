"""One client connection and its broker connection: how they begin, live and end.

Bytes that do not go by natively go to the session (`conversation.py`). A relay is closed when the session
says so, when either end is lost, or when the proxy drains; what was sent before is flushed first, on both
ends.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import Final

from tsproxy.model.outcome import Peer, Totals
from tsproxy.model.view import View
from tsproxy.proxy.connections.back_pressure import Hold
from tsproxy.proxy.connections.context import Surroundings
from tsproxy.proxy.connections.conversation import Conversation
from tsproxy.proxy.connections.judging import Judged, finds_nobody
from tsproxy.proxy.connections.leg import Leg
from tsproxy.proxy.limits.connection_monitor import ConnectionStats
from tsproxy.proxy.limits.limit import Limit
from tsproxy.session.effects import CloseReason
from tsproxy.session.session import Session
from tsproxy.wire.frames import Unfinished

UPSTREAM_UNAVAILABLE: Final = "upstream_unavailable"
"""Beside `CloseReason`: no broker could be connected. The session is not asked."""

_NEEDS_NO_LINE: Final = frozenset({CloseReason.PEER_CLOSED, CloseReason.SASL_FAILED})
"""The ordinary end, and one that has had its line when the broker rejected."""

HALF_CLOSED_S: Final = 30.0
"""How long a client that sends no more may wait for the answers it is still owed."""


class Stage(Enum):
    CONNECTING = "the client is here, the broker is not yet: early bytes are kept, reading is held"
    RELAYING = "bytes pass through the session"
    FINISHING = "no more from the client (it said so, or the proxy drains): answers still pass"
    CLOSING = "flushing and parting: the session is not asked any more, what comes is dropped"


class Relay:
    """`client` and `broker` are the protocols to connect. Whoever connects the broker then calls
    `upstream_connected` or `upstream_unavailable`. `on_end` is called once, after everything."""

    __slots__ = (
        "_around",
        "_conversation",
        "_early",
        "_is_connecting",
        "_on_end",
        "_stage",
        "_timer",
        "broker",
        "client",
        "sight",
    )

    def __init__(
        self, peer: Peer, view: View, around: Surroundings, on_end: Callable[["Relay"], None]
    ) -> None:
        self.client = Leg(self, around.buffers, around.metrics.from_clients, around.clock, Hold.CONNECTING)
        self.broker = Leg(self, around.buffers, around.metrics.from_brokers, around.clock)
        self._around = around
        self._conversation = Conversation(peer, view, self.client, self.broker, around, self)
        self._early: list[bytes] = []
        self._is_connecting = True
        self._on_end: Callable[[Relay], None] | None = on_end
        self._stage = Stage.CONNECTING
        self._timer: asyncio.TimerHandle | None = None
        self.sight = ConnectionStats()
        around.metrics.connection_moved(peer.listener, None, Stage.CONNECTING.name)

    @property
    def peer(self) -> Peer:
        return self._conversation.peer

    @property
    def _session(self) -> Session:
        return self._conversation.session

    def introduce(self, peer: Peer) -> None:
        """Who the client is, as found out before its first byte was read."""
        if peer != self.peer:
            self._conversation.introduce(peer)

    def see(self, view: View) -> None:
        """From the next bytes on, the session judges by this."""
        if self._stage is not Stage.CLOSING:
            self._conversation.step(self._session.see, view, self._around.clock.now_ms())
            self._part_if_owed_nothing()

    @property
    def is_settled(self) -> bool:
        """Nothing is owed and everything is sent; only goodbyes may be missing."""
        return self._stage is Stage.CLOSING and self.client.is_flushed and self.broker.is_flushed

    @property
    def held_bytes(self) -> int:
        """Memory that this connection takes for what has come and is not gone."""
        early = sum(map(len, self._early)) if self._early else 0
        kept = self.client.kept + self._session.held_bytes
        return early + kept + self.client.unsent_bytes + self.broker.unsent_bytes

    @property
    def was_heard(self) -> bool:
        """True where a byte came from either end since this was last set to False."""
        return self.client.was_heard or self.broker.was_heard

    @was_heard.setter
    def was_heard(self, was_heard: bool) -> None:
        self.client.was_heard = self.broker.was_heard = was_heard

    @property
    def unfinished(self) -> Unfinished | None:
        """The request that is being received; None while it is not read on, which no client can help."""
        if self._stage is not Stage.RELAYING or self.client.gate.is_held:
            return None
        # The leg and the session may hand it to each other: its number stays.
        number = self.client.runs + self._session.requests_taken
        if self.client.kept:
            return Unfinished(number, self.client.kept, self.client.announced)
        unfinished = self._session.unfinished
        return replace(unfinished, number=number) if unfinished is not None else None

    @property
    def is_owed_answers(self) -> bool:
        is_open = self._stage is Stage.RELAYING or self._stage is Stage.FINISHING
        return is_open and self._session.in_flight_requests > 0

    @property
    def _is_reading_answer(self) -> bool:
        """True while `answer_was_read` is still to come."""
        return self._stage is not Stage.CLOSING and self._session.is_reading_answer

    def drain_totals(self) -> list[Totals]:
        """The batches that the fast path has counted since the last call."""
        return [] if self._stage is Stage.CLOSING else self._conversation.drain_totals()

    def time_next(self) -> None:
        """Tell the metrics how long the next request takes."""
        if self._stage is Stage.RELAYING:
            self._conversation.time_next()

    # The broker's end is made.

    def upstream_connected(self) -> None:
        """What the client sent meanwhile goes first, even if the client has gone since: a kernel
        would have delivered it as well."""
        self._is_connecting = False
        if self._stage is Stage.CLOSING:
            self.broker.abort()
            self._end_if_over()
            return
        self._enter(Stage.RELAYING)
        early, self._early = self._early, []
        for data in early:
            self.bytes_came(self.client, data)
        self._open_fast_path()
        if self.client.was_lost:
            self.lost(self.client)
        elif self.client.end_was_seen:
            if not self.end_came(self.client):
                self.client.finish()
        else:
            self.client.gate.release(Hold.CONNECTING)

    def client_unavailable(self) -> None:
        """The client's end was never made: it went away, or the TLS handshake failed."""
        self._is_connecting = False
        self._enter(Stage.CLOSING)
        self._end_if_over()

    def upstream_unavailable(self, text: str) -> None:
        """The client sees what a down broker looks like: accepted, then closed."""
        self._is_connecting = False
        self.close(UPSTREAM_UNAVAILABLE, text)
        self._end_if_over()

    # What the legs tell.

    def bytes_came(self, leg: Leg, data: bytes) -> None:
        if leg is self.broker:
            self._bytes_came_from_broker(data)
        elif self._stage is Stage.RELAYING:
            self._bytes_came_from_client(data)
        elif self._stage is Stage.CONNECTING:
            self._early.append(data)

    def kept_more(self) -> None:
        """A leg keeps more of a request that is not whole."""
        self._around.limits.memory.count(self)

    def throttled(self, throttle_ms: int) -> None:
        self._conversation.mute(throttle_ms)

    def crashed(self, error: Exception) -> None:
        self._conversation.crashed(error)

    def end_came(self, leg: Leg) -> bool:
        """True keeps the leg open. A client that sends no more still gets the answers it is owed, as
        it does from a broker, which reads all that was pipelined before it sees the end."""
        if leg is self.client and self._stage is Stage.CONNECTING:
            return True
        if leg is self.client and self.is_owed_answers:
            self._finish(HALF_CLOSED_S)
            return True
        if leg is self.broker and self._is_reading_answer:
            return True  # see `answer_was_read`
        self._part(leg)
        return False

    def lost(self, leg: Leg) -> None:
        if leg is self.client and self._stage is Stage.CONNECTING and self._early:
            return  # see `upstream_connected`
        if leg is self.client and self._session.is_judging:
            self._conversation.begin_postponed()
            return  # a broker would have read this request before it saw the end: see `decided`
        if leg is self.broker and self._is_reading_answer:
            return  # the client is owed what has come: see `answer_was_read`
        self._part(leg)
        self._end_if_over()

    def is_full(self, leg: Leg, full: bool) -> None:
        reason = Hold.BROKER_FULL if leg is self.broker else Hold.CLIENT_FULL
        gates = (self.client.gate,) if leg is self.broker else (self.client.gate, self.broker.gate)
        for gate in gates:
            if full:
                gate.hold(reason)
            else:
                gate.release(reason)
        if leg is self.client and not full:
            self._conversation.begin_postponed()

    def decided(self, judged: Judged) -> None:
        """A client that left while its request was judged is let go now."""
        if self.client.was_lost and finds_nobody(judged):
            self._part(self.client)
            self._end_if_over()
        if self._session.is_judging:
            return
        if self.client.was_lost:
            self.lost(self.client)
        else:
            self._part_if_owed_nothing()

    def answer_was_read(self) -> None:
        """A broker that ended while its answer was read is let go now."""
        self._around.limits.memory.count(self)
        if self._is_reading_answer:
            return
        if self.broker.was_lost:
            self.lost(self.broker)
        elif self.broker.end_was_seen:
            self._part(self.broker)
        else:
            self._part_if_owed_nothing()

    # Endings.

    def drain(self) -> None:
        """Take nothing more from the client, and part when it is owed nothing more."""
        if self.is_owed_answers:
            self._finish(None)
        else:
            self._part(self.client)

    def cut(self) -> None:
        """The time for an orderly end is over."""
        self._part(self.client)
        self.client.abort()
        self.broker.abort()

    def exceeded(self, limit: Limit, text: str) -> None:
        """It has taken more than the proxy gives. What takes memory is cut off, not flushed."""
        if self._stage is Stage.CLOSING:
            return
        self._around.metrics.limit_reached(limit)
        self._conversation.settle()
        self.close(limit, text)
        if limit is not Limit.IDLE:
            self.client.abort()
        if limit is Limit.BUFFERED:
            self.broker.abort()

    def _bytes_came_from_client(self, data: bytes) -> None:
        self._conversation.step(self._session.client_bytes, data, self._around.clock.now_ms())
        if self.client.filter is not None:
            self.client.keep(self._session.take_unparsed())
        self._around.limits.memory.count(self)

    def _bytes_came_from_broker(self, data: bytes) -> None:
        if self._stage is Stage.RELAYING or self._stage is Stage.FINISHING:
            self._conversation.step(self._session.broker_bytes, data, self._around.clock.now_ms())
            self._around.limits.memory.count(self)
            self._part_if_owed_nothing()

    def _part_if_owed_nothing(self) -> None:
        if self._stage is Stage.FINISHING and not self.is_owed_answers:
            self._part(self.client)

    def _open_fast_path(self) -> None:
        """Let the legs forward what the fast path allows, each to the other."""
        fast_path = self._session.fast_path
        if self._stage is Stage.RELAYING and fast_path is not None:
            self.client.other, self.broker.other = self.broker, self.client
            self.client.filter, self.broker.filter = fast_path.requests, fast_path.answers
            self.client.rejecter = fast_path.rejecter

    def _close_fast_path(self) -> None:
        self.client.filter = self.broker.filter = self.client.rejecter = None

    def _finish(self, limit_s: float | None) -> None:
        self._enter(Stage.FINISHING)
        self._close_fast_path()  # the last answer must not go by unseen
        self.client.gate.hold(Hold.FINISHING)
        if limit_s is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(limit_s, self._part, self.client)

    def _part(self, leg: Leg) -> None:
        """That end is over: the session settles what it has open, and the other end follows."""
        if self._stage is not Stage.CLOSING:
            session = self._session
            if kept := self.client.take_kept():
                self._conversation.step(session.client_bytes, kept, self._around.clock.now_ms())
            self._conversation.step(session.broker_closed if leg is self.broker else session.client_closed)
            self.close(CloseReason.PEER_CLOSED, "")  # should the session not have closed by itself

    def close(self, reason: str, text: str, *, is_told: bool = False) -> None:
        """Flush and part; once. `is_told` where the log says why already."""
        if self._stage is Stage.CLOSING:
            return
        self._enter(Stage.CLOSING)
        self._close_fast_path()
        self.client.let_go()
        self._early.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._conversation.end()
        self._around.metrics.session_closed(self.peer.listener, reason)
        if reason not in _NEEDS_NO_LINE and not is_told:
            self._conversation.note("session_closed", {"reason": reason, "text": text})
        self.client.finish()
        self.broker.finish()

    def _end_if_over(self) -> None:
        if self._is_connecting or self.client.is_open or self.broker.is_open:
            return
        if (on_end := self._on_end) is not None:
            self._on_end = None
            self._around.metrics.connection_moved(self.peer.listener, self._stage.name, None)
            on_end(self)

    def _enter(self, stage: Stage) -> None:
        self._around.metrics.connection_moved(self.peer.listener, self._stage.name, stage.name)
        self._stage = stage
