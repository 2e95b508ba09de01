"""One client connection and its broker connection, without I/O: events and times in, effects out.

The client's bytes go to `Requests`, the broker's to `Answers`. `State` has all that the two share, and the
effects. `states.py` has the table of states.

Invariants, each with a property test: an accepted frame is forwarded as it came; answers are sent in the
order of their requests, one for each request that expects one; any chunking gives the same bytes; any garbage
ends in a clean close; the same bytes at the same time give the same effects.
"""

from dataclasses import replace
from typing import assert_never

from tsproxy.decisions.totals import Totals
from tsproxy.model.outcome import Peer
from tsproxy.model.view import Unchanged, View
from tsproxy.session.answers import Answers
from tsproxy.session.deadlines import Wait
from tsproxy.session.effects import CloseReason, Effect, EnterStage, Note, UnmuteClient
from tsproxy.session.events import (
    Aborted,
    AnswerDecoded,
    BrokerBytes,
    BrokerConnected,
    BrokerEnded,
    BrokerLost,
    ClientBytes,
    ClientEnded,
    ClientIdentified,
    ClientLost,
    DeadlinePassed,
    Drained,
    Event,
    LimitsRead,
    RequestJudged,
    Throttled,
    ViewChanged,
)
from tsproxy.session.fast_path import FastPath
from tsproxy.session.fresh_limits import FreshLimits
from tsproxy.session.lifetime import (
    HALF_CLOSED_MS,
    BrokerCause,
    BrokerEnd,
    ClientCause,
    ClientEnd,
    End,
    Lifetime,
)
from tsproxy.session.produce.flow import ProduceFlow
from tsproxy.session.reading import AnswerRead, NodeWanted, Unreadable
from tsproxy.session.requests import RELAYED, LastRequest, Requests
from tsproxy.session.state import State
from tsproxy.session.states import Cause, SessionState
from tsproxy.session.throttle import Throttle
from tsproxy.session.topic_names import NamesOnly
from tsproxy.session.trust import Trust
from tsproxy.session.verdict import Judged
from tsproxy.wire.frames import Unfinished


class Session:
    """One client connection and its broker connection. The package's docstring lists the public face."""

    def __init__(
        self,
        peer: Peer,
        view: View,
        *,
        is_connected: bool = True,
        uses_fast_path: bool = False,
        throttle: Throttle | None = None,
        trust: Trust | None = None,
        names_only: NamesOnly | None = None,
        fresh_limits: FreshLimits | None = None,
    ) -> None:
        """`is_connected` is False if the broker is still being connected: then `BrokerConnected` follows.

        All sessions of a process share `throttle`, `trust`, `names_only` and `fresh_limits`, because a
        client may have several sessions. Tests turn the fast path off, to compare.
        """
        throttle = throttle if throttle is not None else Throttle()
        self.fast_path: FastPath | None = None
        """Its filters and its rejecter find the bytes that the caller may forward or answer itself. The
        caller tries them first, and feeds the session the remaining bytes.

        If the beginning of a request remains that may yet take the fast path (`awaits_more`), the caller
        keeps it until the rest has come. So the caller assembles a large request, not the session.
        """
        if uses_fast_path:
            trust = trust if trust is not None else Trust()
            self.fast_path = FastPath(RELAYED, view.limits, throttle, trust)
        names_only = names_only if names_only is not None else NamesOnly()
        fresh_limits = fresh_limits if fresh_limits is not None else FreshLimits()
        self._state = State(peer, view, self.fast_path, throttle, names_only, fresh_limits)
        self._produce = ProduceFlow(self._state)
        self._requests = Requests(self._state, self._produce, view.limits)
        self._answers = Answers(self._state)
        self._lifetime = Lifetime(is_connected=is_connected)
        self._stage = self._lifetime.stage

    @property
    def view(self) -> View:
        return self._state.view

    @property
    def client_id(self) -> str | None:
        """The client id of the last request that did not take the fast path, for the operators' log."""
        return self._state.client_id

    # -- Events -------------------------------------------------------------------------------------

    def feed(self, event: Event, now_ms: int, monotonic_ms: int | None = None) -> list[Effect]:
        """Handle an event, and return its effects.

        `now_ms` is the wall clock, by which records are judged. `monotonic_ms` is the clock of the deadlines,
        since a wall clock may step. Without it, deadlines use `now_ms`.
        """
        self._state.deadlines.now_ms = now_ms if monotonic_ms is None else monotonic_ms
        match event:
            case ClientBytes():
                self._client_bytes(event.data, now_ms)
            case BrokerBytes():
                self._broker_bytes(event.data, now_ms)
            case ClientIdentified():
                self._state.identify(event.peer)
            case BrokerConnected():
                self._requests.take(now_ms)
                self._lifetime.broker_is(BrokerCause.CONNECTED, self.requests_forwarded)
                self._limit_half_closed()
            case ClientEnded():
                self._lifetime.client_is(ClientCause.ENDED, self.requests_forwarded)
                self._limit_half_closed()
            case ClientLost():
                self._lifetime.client_is(ClientCause.LOST, self.requests_forwarded)
            case BrokerEnded() | BrokerLost():
                self._lifetime.broker_is(BrokerCause.ENDED, self.requests_forwarded)
            case Drained():
                self._lifetime.client_is(ClientCause.DRAINED, self.requests_forwarded)
            case Aborted():
                self._parted_from_client()
            case ViewChanged():
                self._view_changed(event.view, event.unchanged, now_ms)
            case LimitsRead():
                self._look_at_names(now_ms)
            case RequestJudged():
                self._request_judged(event.judged, now_ms)
            case AnswerDecoded():
                self._answer_decoded(event.read, now_ms)
            case Throttled():
                self._throttled(event.throttle_ms)
            case DeadlinePassed():
                self._deadline_passed(now_ms)
            case _:
                assert_never(event)
        return self._done()

    @property
    def next_deadline_ms(self) -> int | None:
        """When `DeadlinePassed` is due, on the clock of the deadlines; None if the session waits for nothing.
        Each event may change the deadline."""
        return self._state.deadlines.next_ms

    # -- Facts --------------------------------------------------------------------------------------

    @property
    def in_flight_requests(self) -> int:
        """The number of requests in the queue, plus one while a request is held (`is_judging`)."""
        return len(self._state.slots) + self.is_judging

    @property
    def requests_answered(self) -> int:
        """How many requests that expect an answer have left the queue."""
        return self._state.slots.answered

    @property
    def requests_forwarded(self) -> int:
        """How many requests have ever entered the queue: forwarded, or answered here."""
        return self._state.slots.answered + len(self._state.slots)

    @property
    def is_accepted(self) -> bool:
        """True if the broker has accepted the client, or needs no login."""
        return self._state.sasl.is_accepted

    @property
    def is_between_requests(self) -> bool:
        """True if the next byte from the client begins a request, as far as the session knows."""
        return not self._requests.frames

    @property
    def awaits_view(self) -> bool:
        """True while a request waits for its topics' names or limits, or an answer for a node. The caller
        then gives the session each new view at once, else with the next event."""
        return self._state.current is SessionState.NAMING or self._answers.waits

    @property
    def last_request(self) -> LastRequest:
        return self._requests.last

    @property
    def is_judging(self) -> bool:
        """True while a request is held: from a `Judge` effect to `RequestJudged`, while it is delayed, and
        while it waits for a topic's name. False once the session has ended."""
        return self._state.current.holds_request

    @property
    def held_bytes(self) -> int:
        """Memory of this session: requests and answers that are not taken yet, a request that is judged, our
        own answers that wait, and facts about many topics and many partitions in flight."""
        state = self._state
        taken = state.judged_bytes + state.waiting_bytes + state.kept_bytes
        return len(self._requests.frames) + self._answers.buffered + taken

    @property
    def requests_taken(self) -> int:
        """How often requests were taken out of the received bytes."""
        return self._requests.frames.taken

    @property
    def unfinished(self) -> Unfinished | None:
        """The next request, if only a part of it has come. `announced` is None while the first bytes may be
        part of a secret: before the peer is accepted, and where a token without a header is expected."""
        unfinished, sasl = self._requests.frames.unfinished, self._state.sasl
        if unfinished is None or (sasl.is_accepted and not sasl.takes_raw_tokens):
            return unfinished
        return replace(unfinished, announced=None)

    def take_unparsed(self) -> bytes:
        """Remove and return the buffered beginning of a request; mostly empty. The caller may keep these
        bytes and try the fast path again later. Otherwise the fast path would stay closed while the session
        has buffered bytes."""
        frames = self._requests.frames
        if self.fast_path is None or not frames or not self._fast_path_allowed():
            return b""
        self._open_fast_path()
        return frames.take(len(frames))

    # -- What each event does -----------------------------------------------------------------------

    def _client_bytes(self, data: bytes, now_ms: int) -> None:
        if not self._state.is_closed and self._lifetime.client is ClientEnd.OPEN:
            self._requests.feed(data)
            if self._lifetime.broker is not BrokerEnd.CONNECTING:
                self._requests.take(now_ms)

    def _broker_bytes(self, data: bytes, now_ms: int) -> None:
        if not self._state.is_closed and self._lifetime.broker is BrokerEnd.OPEN:
            self._answers.stream.feed(data)
            self._answers.take()
            self._requests.take(now_ms)  # after an answer, a request that had to wait may be allowed

    def _view_changed(self, view: View, unchanged: Unchanged | None, now_ms: int) -> None:
        before, self._state.view = self._state.view, view
        if unchanged is None or unchanged.before is not before:
            unchanged = Unchanged(before, view)
        if self.fast_path is not None and not self.fast_path.holds_in(unchanged):
            self.fast_path.forget()
        self._state.drop_policies()
        self._state.offer_versions()
        self._look_at_names(now_ms)
        if self._answers.waits and not self._state.is_closed:
            self._answers.take()
            self._requests.take(now_ms)

    def _look_at_names(self, now_ms: int) -> None:
        if self._state.current is SessionState.NAMING:
            self._produce.names_changed(now_ms)
            self._requests.take(now_ms)

    def _request_judged(self, judged: Judged, now_ms: int) -> None:
        if self._state.current is SessionState.JUDGING:
            self._state.release_request(Cause.JUDGED)
            self._produce.judged(judged, now_ms)
            self._requests.take(now_ms)

    def _answer_decoded(self, read: AnswerRead | NodeWanted | Unreadable, now_ms: int) -> None:
        self._answers.read(read)
        if not self._state.is_closed:
            self._answers.take()
            self._requests.take(now_ms)

    def _throttled(self, throttle_ms: int) -> None:
        if not self._state.is_closed:
            self._state.mute_client(throttle_ms)

    def _deadline_passed(self, now_ms: int) -> None:
        state = self._state
        while (wait := state.deadlines.take_passed()) is not None:
            match wait:
                case Wait.NAME:
                    self._produce.names_missing(now_ms)
                    self._requests.take(now_ms)
                case Wait.NODE:
                    self._answers.give_up()
                    self._requests.take(now_ms)
                case Wait.MUTE:
                    state.effects.append(UnmuteClient())
                case Wait.DELAY:
                    self._produce.delay_over(now_ms)
                    self._requests.take(now_ms)
                case Wait.ANSWERS:
                    self._parted_from_client()
                case _:
                    assert_never(wait)

    # -- How it ends --------------------------------------------------------------------------------

    def _limit_half_closed(self) -> None:
        """Limit the time for which a client that sends no more waits for its answers. The time for connecting
        the broker has a limit of its own."""
        ends = self._lifetime
        if ends.client is ClientEnd.ENDED and ends.broker is not BrokerEnd.CONNECTING:
            self._state.deadlines.start(Wait.ANSWERS, HALF_CLOSED_MS)

    def _end_if_over(self) -> None:
        """Close the session if one of the two ends is over, and nothing is left to do for it."""
        if self._lifetime.broker is BrokerEnd.ENDED:
            self._answers.wait_no_more()
        if self._state.is_closed:
            return
        end = self._lifetime.ended_by(
            has_bytes=bool(self._requests.frames),
            holds_request=self.is_judging,
            is_owed=self.in_flight_requests > 0,
            reads_answer=self._answers.is_reading,
            forwarded=self.requests_forwarded,
        )
        if end is End.CLIENT:
            self._parted_from_client()
        elif end is End.BROKER:
            self._parted("the broker closed", is_broker=True)

    def _parted_from_client(self) -> None:
        state, unfinished = self._state, self._requests.frames.unfinished
        # Not even the size of a raw SASL token is logged: it may be part of a secret.
        has_ended = state.current in (SessionState.ENDING, SessionState.CLOSED)
        if unfinished and not has_ended and not state.sasl.takes_raw_tokens:
            facts = {"received_bytes": unfinished.received, "announced_bytes": unfinished.announced}
            state.effects.append(Note("frame_cut_short", facts))
        self._parted("the client closed", is_broker=False)

    def _parted(self, text: str, *, is_broker: bool) -> None:
        """One of the two ends has closed: close the session. If a login failed, the reason is
        SASL_FAILED."""
        state = self._state
        failure = None if state.is_closed else state.sasl.parted(is_broker)
        if failure is not None:
            state.effects.append(failure)
        state.close(CloseReason.SASL_FAILED if state.sasl.has_failed else CloseReason.PEER_CLOSED, text)

    @property
    def owes_totals(self) -> bool:
        """True if the caller should drain totals before it performs the effects of its last call. Then an
        example in the decision log counts all batches that were rejected before it."""
        return self._state.owes_totals

    def drain_totals(self) -> list[Totals]:
        """The batches accepted or rejected since the last call that have no `Emit` effect of their own."""
        return self._state.drain_totals()

    def _done(self) -> list[Effect]:
        if not self._lifetime.is_whole:
            self._end_if_over()
        if self._state.is_closed:
            self._produce.forget_held()
        elif self._stage is not (stage := self._lifetime.stage):
            self._stage = stage
            self._state.effects.append(EnterStage(stage))
        if self.fast_path is not None:
            if self._fast_path_allowed() and not self._requests.frames:
                self._open_fast_path()
            else:
                self.fast_path.close()
        return self._state.take_effects()

    def _open_fast_path(self) -> None:
        if self.fast_path is not None:
            self.fast_path.open(self._state.view.limits.in_flight_requests)

    def _fast_path_allowed(self) -> bool:
        """True if only the bytes of a whole frame decide whether the frame may be forwarded. The callers
        check whether the session itself has the beginning of a frame."""
        state = self._state
        return state.current.fast_path_allowed and not (
            self._requests.is_paused or self._requests.must_wait() or self._answers.buffered
        )
