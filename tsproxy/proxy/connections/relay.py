"""One connection: a client connection and the broker connection that belongs to it.

A relay has the transports, the timers and the results that are counted. Bytes that do not take the fast path
go to the session, and so does every end of a connection: the session decides what follows
(`tsproxy/session/lifetime.py`), and `driver.py` performs it. Both ends are flushed before they are closed.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tsproxy.decisions.totals import Totals
from tsproxy.log_events.catalogue import SESSION_CLOSED
from tsproxy.model.outcome import Peer
from tsproxy.proxy.connections.back_pressure import Hold
from tsproxy.proxy.connections.context import ConnectionContext
from tsproxy.proxy.connections.driver import Crashed, Ending, SessionDriver
from tsproxy.proxy.connections.protocol import RelayProtocol
from tsproxy.proxy.connections.views import Views
from tsproxy.proxy.limits.admission import Limit, ProxyReason
from tsproxy.proxy.limits.connection_monitor import ConnectionStats
from tsproxy.proxy.metrics.results import BOOTSTRAP, Result
from tsproxy.session.effects import CloseReason, ReasonToClose
from tsproxy.session.events import (
    Aborted,
    BrokerBytes,
    BrokerConnected,
    BrokerEnded,
    BrokerLost,
    ClientBytes,
    ClientEnded,
    ClientIdentified,
    ClientLost,
    Drained,
    Event,
    Throttled,
)
from tsproxy.session.lifetime import Stage
from tsproxy.session.session import Session
from tsproxy.wire.frames import Unfinished

A_REQUEST_BYTES: Final = 4 << 10
"""The price of a request in flight, whatever is counted for it. Few clients have 256 of them."""
_NEEDS_NO_LINE: Final = frozenset({CloseReason.PEER_CLOSED, CloseReason.SASL_FAILED, Limit.CONNECTION_AGE})
"""The reasons that need no line in the log: ordinary ends, and a rejected login, which already has one."""


class Relay:
    """One connection. `client` and `broker` are the protocols to connect. The caller connects the broker, and
    then calls `upstream_connected` or `upstream_unavailable`. `on_end` is called once, when both ends are
    closed."""

    __slots__ = (
        "_context",
        "_driver",
        "_has_answer",
        "_is_booked",
        "_is_connecting",
        "_is_retired",
        "_on_end",
        "_views",
        "broker",
        "broker_address",
        "broker_name",
        "client",
        "stats",
        "view_number",
    )

    def __init__(
        self, peer: Peer, views: Views, context: ConnectionContext, on_end: Callable[["Relay"], None]
    ) -> None:
        self.client = _ClientProtocol(self, context)
        self.broker = _BrokerProtocol(self, context)
        self._context = context
        self._driver = SessionDriver(
            peer, views.view, self.client, self.broker, context, self._on_shell_event
        )
        self._has_answer = False
        self._is_booked = False
        self._is_connecting = True
        self._is_retired = False
        self._on_end: Callable[[Relay], None] | None = on_end
        self.broker_address = ""
        """The address at which the broker was reached."""
        self.broker_name = BOOTSTRAP
        """The broker in counts of results: a node id, or BOOTSTRAP."""
        self.stats = ConnectionStats()
        self._views = views
        self.view_number = views.join(self)
        self._number_view()

    @property
    def peer(self) -> Peer:
        return self._driver.peer

    @property
    def _session(self) -> Session:
        return self._driver.session

    def identify(self, peer: Peer) -> None:
        """Set the peer that the handshake has found, before the broker is connected. The client's first bytes
        may have come already."""
        if peer != self.peer:
            self._driver.peer = peer
            self._feed(ClientIdentified(peer))

    def take_view(self) -> None:
        """Judge by the newest view from now on."""
        if (change := self._views.take(self)) is not None:
            self._number_view()
            self._give(change)

    def _number_view(self) -> None:
        if (fast_path := self._session.fast_path) is not None:
            fast_path.requests.newest, fast_path.requests.view_number = self._views.newest, self.view_number

    @property
    def _is_closing(self) -> bool:
        """True once both ends are being flushed and closed. Bytes that still come are dropped."""
        return self._driver.stage is Stage.CLOSING

    @property
    def is_settled(self) -> bool:
        """True if no answer is missing and all bytes are sent. The two ends may still be open."""
        return self._is_closing and self.client.is_flushed and self.broker.is_flushed

    @property
    def held_bytes(self) -> int:
        """Memory for bytes that have been received and not sent yet."""
        kept = self.client.count_kept() + self._session.held_bytes
        return kept + self.client.buffered_bytes + self.broker.buffered_bytes

    @property
    def is_paused(self) -> bool:
        return self.client.gate.is_held or self.broker.gate.is_held

    @property
    def weight_bytes(self) -> int:
        return self.held_bytes + A_REQUEST_BYTES * self._session.in_flight_requests

    def pause(self, is_paused: bool) -> None:
        if not self._is_closing:
            self.client.gate.set(Hold.MEMORY, is_paused)

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
        if self._driver.stage is not Stage.RELAYING or self.client.gate.is_held:
            return None
        # The protocol and the session may pass the request to each other, but its number stays the same.
        number = self.client.runs + self._session.requests_taken
        if self.client.kept:
            return Unfinished(number, self.client.kept, self.client.announced)
        unfinished = self._session.unfinished
        return replace(unfinished, number=number) if unfinished is not None else None

    @property
    def is_owed_answers(self) -> bool:
        return not self._is_closing and self._session.in_flight_requests > 0

    @property
    def is_owed_first_answer(self) -> bool:
        """True if the broker has a request and has not sent a byte yet."""
        return not self._has_answer and not self._is_booked and self.is_owed_answers

    def broker_is_silent(self) -> None:
        """The broker should have sent its first answer by now. The connection stays: the answer may come."""
        self.book(Result.BROKER_SILENT, self.broker_address)

    def answers_are_late(self) -> None:
        """The broker may hang, or the client may have asked for something that takes long."""
        self._context.suspect_hang(self.broker_address)

    def drain_totals(self) -> list[Totals]:
        """The batches that the fast path has counted since the last call."""
        if self._is_closing:
            return []
        totals = self._driver.drain_totals()
        if isinstance(totals, Ending):
            self._close(totals)
            return []
        return totals

    def time_next(self) -> None:
        """Measure how long the next request takes, for the metrics."""
        if self._driver.stage is Stage.RELAYING:
            self._driver.time_next(self.broker_name)

    # The connection to the broker is made.

    def upstream_connected(self) -> None:
        """The broker is connected. The client's early bytes go first, even if the client has disconnected
        since then: the operating system would have delivered these bytes as well."""
        self._is_connecting = False
        if self._is_closing:
            self.broker.abort()
            self._end_if_over()
            return
        self._feed(BrokerConnected())
        self.count_memory()
        if self._driver.stage is Stage.RELAYING:
            self._driver.open_fast_path(to_client=False)
            self.client.gate.release(Hold.CONNECTING)

    def client_has_left(self) -> bool:
        """True if the client has left while its broker is being connected, and has sent nothing."""
        if self._is_connecting and not self._is_closing and not self.held_bytes and self.client.is_at_end:
            self.client_lost()
        return self._is_connecting and self._is_closing

    def client_unavailable(self) -> None:
        """The client cannot be served: for example, it has disconnected, or its TLS handshake has failed."""
        self._is_connecting = False
        self.client.disown()  # uvloop may not tell that it is lost
        self._driver.enter(Stage.CLOSING)
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
        self.close(ProxyReason.UPSTREAM_UNAVAILABLE, text)
        self._end_if_over()

    # Events of the two ends. The session gets an event; `on_end` says whether it keeps the connection.

    def client_bytes(self, data: bytes) -> None:
        if not self._is_closing:
            self._feed(ClientBytes(data))
            if self.client.filter is not None:
                self.client.keep(self._session.take_unparsed())
            self.count_memory()

    def broker_bytes(self, data: bytes) -> None:
        if self._is_connecting or self._is_closing:
            return
        self._feed(BrokerBytes(data))
        if not self._has_answer:
            # The session gets the first answer, since that decides how the connection fared.
            self._has_answer = True
            self._driver.open_fast_path(to_client=True)
        if not self._is_booked and self._session.is_accepted:
            self.book(Result.SERVED)
        self.count_memory()

    def throttled(self, throttle_ms: int) -> None:
        """The fast path has repeated a rejection, for which the client is muted."""
        self._feed(Throttled(throttle_ms))

    def crashed(self, error: Exception) -> None:
        """An error in our code, in the fast path."""
        self._feed(Crashed(error))

    def client_over(self, event: ClientEnded | ClientLost | Drained | Aborted) -> None:
        """Nothing more is taken from the client. The session gets the beginning of a request that has come,
        to note how much of it."""
        if not self._is_closing:
            if kept := self.client.take_kept():
                self._feed(ClientBytes(kept))
            self._feed(event)

    def client_ended(self) -> bool:
        self.client_over(ClientEnded())
        return not self._is_closing

    def client_lost(self) -> None:
        # asyncio does not resume a lost transport, but a client that is gone is not full. A request that was
        # postponed because of it is judged now.
        self.client_is_full(False)
        self.client_over(ClientLost())
        self._end_if_over()

    def broker_ended(self) -> bool:
        self._feed(BrokerEnded())
        return not self._is_closing

    def broker_lost(self) -> None:
        self._feed(BrokerLost())
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
        if self._on_end is not None:
            self._context.limits.memory.count(self)
            self._context.memory_counted()

    def _on_shell_event(self, event: Event | Crashed) -> None:
        """A thread is done, or a deadline has passed."""
        self._feed(event)
        self.count_memory()
        self._context.thread_done()

    # Results.

    def book(self, result: Result, text: str = "") -> None:
        """Count the result of this connection, once."""
        if not self._is_booked:
            self._is_booked = True
            self._context.results.book(self.peer.listener, self.broker_name, result, text)

    def _book_end(self, reason: ReasonToClose) -> ReasonToClose:
        """Count the connection if it ends before it was counted. Returns the reason of its end."""
        if self._is_booked:
            return reason
        if reason == CloseReason.SASL_FAILED:
            self.book(Result.LOGIN_FAILED)
        elif self.broker.end_was_seen and not self.client.end_was_seen and not self._has_answer:
            self.book(Result.BROKER_CLOSED_EARLY, self.broker_address)
            reason = ProxyReason.BROKER_CLOSED_EARLY
        return reason

    # Endings.

    def drain(self) -> None:
        """Accept nothing more from the client, and close when it has all its answers."""
        self.client_over(Drained())

    def is_too_old(self) -> None:
        if not (self._is_retired or self._is_closing):
            self._is_retired = True
            self._context.metrics.limit_reached(Limit.CONNECTION_AGE)
            self.drain()

    def abort(self) -> None:
        """Close both ends at once: the time for an orderly end is over."""
        self.client_over(Aborted())
        self.client.abort()
        self.broker.abort()

    def exceeded(self, limit: Limit, text: str) -> None:
        """The connection has exceeded a limit. An end that holds memory is cut off, not flushed."""
        if self._is_closing:
            return
        self._context.metrics.limit_reached(limit)
        self._driver.settle()
        self.close(limit, text)
        if limit is not Limit.IDLE:
            self.client.abort()
        if limit in (Limit.BUFFERED, Limit.MEMORY):
            self.broker.abort()
        if limit is Limit.MEMORY:
            self._context.buffers.free_spare()

    def _feed(self, event: Event | Crashed) -> None:
        """Give the session the newest view and an event, unless it is over."""
        if not self._is_closing:
            self.take_view()
            self._give(event)

    def _give(self, event: Event | Crashed) -> None:
        """Give the session an event, and close if it has ended."""
        if self._is_closing:
            return
        ending = self._driver.feed(event)
        self._views.waits(self, ending is None and self._session.awaits_view)
        if ending is not None:
            self._close(ending)

    def _close(self, ending: Ending) -> None:
        is_end = self._is_retired and ending.reason is CloseReason.PEER_CLOSED
        reason = Limit.CONNECTION_AGE if is_end else ending.reason
        self.close(reason, ending.text, is_logged=ending.is_logged)

    def close(self, reason: ReasonToClose, text: str, *, is_logged: bool = False) -> None:
        """Flush and close both ends. Further calls do nothing. `is_logged` is True if the log already has the
        reason."""
        if self._is_closing:
            return
        reason = self._book_end(reason)
        self._driver.enter(Stage.CLOSING)
        self.client.release()
        self._driver.end()
        self._context.metrics.session_closed(self.peer.listener, reason)
        if reason not in _NEEDS_NO_LINE and not is_logged:
            self._driver.note(SESSION_CLOSED, {"reason": reason, "text": text})
        self.client.finish()
        self.broker.finish()
        self._end_if_over()

    def _end_if_over(self) -> None:
        if self._is_connecting or self.client.is_open or self.broker.is_open or not self._is_closing:
            return
        if (on_end := self._on_end) is not None:
            self._on_end = None
            self._views.leave(self)
            self._context.metrics.connection_moved(self.peer.listener, self._driver.stage.name, None)
            on_end(self)


class _ClientProtocol(RelayProtocol):
    """The client's end of `relay`."""

    __slots__ = ("_relay",)

    def __init__(self, relay: Relay, context: ConnectionContext) -> None:
        super().__init__(context.buffers, context.metrics.from_clients, context.clock, Hold.CONNECTING)
        self._relay = relay

    def session_bytes_received(self, data: bytes) -> None:
        self._relay.client_bytes(data)

    def buffer_grew(self) -> None:
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

    def session_bytes_received(self, data: bytes) -> None:
        self._relay.broker_bytes(data)

    def failed(self, error: Exception) -> None:
        self._relay.crashed(error)

    def on_end(self) -> bool:
        return self._relay.broker_ended()

    def on_lost(self) -> None:
        self._relay.broker_lost()

    def on_full(self, is_full: bool) -> None:
        self._relay.broker_is_full(is_full)
