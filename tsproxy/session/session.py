"""One client connection and its broker connection, as a machine: bytes and a clock in, effects out.

Here are the five things that can happen. What comes from the client goes to `Requests`, what comes
from the broker to `Answers`; what the two share, and all they want done, stands in `State`.

Invariants, each a property test: an accepted frame leaves as it came; answers leave in the order of
their requests, as many as requests that expect one; any chunking gives the same bytes; any garbage
ends in a clean close; the same bytes at the same time give the same effects.
"""

from dataclasses import replace

from tsproxy import fastpath
from tsproxy.model.outcome import Peer, Totals
from tsproxy.model.view import View
from tsproxy.session.answers import Answers
from tsproxy.session.effects import CloseReason, Effect, Note
from tsproxy.session.fast_path import FastPath
from tsproxy.session.produce.judge_request import Judgement
from tsproxy.session.reading import AnswerRead, NodeUnknown, Unreadable
from tsproxy.session.requests import RELAYED, Requests
from tsproxy.session.state import State
from tsproxy.session.stream_times import SentTimes, StreamTimes
from tsproxy.session.throttle import Throttle
from tsproxy.session.warnings import sasl_failed
from tsproxy.wire.frames import Unfinished


class Session:
    """See the package for the face."""

    def __init__(
        self,
        peer: Peer,
        view: View,
        *,
        uses_fast_path: bool = False,
        throttle: Throttle | None = None,
        stream_times: StreamTimes | None = None,
    ) -> None:
        """`throttle` and `stream_times` are one for all sessions of a process: a client may have several.
        `uses_fast_path` has no effect if there is no native code."""
        throttle = throttle if throttle is not None else Throttle()
        sent_times = SentTimes(stream_times if stream_times is not None else StreamTimes())
        self.fast_path: FastPath | None = None
        """Its filters and its rejecter say which bytes the caller may forward or answer itself.

        A caller that asks them first gives the session only the rest. It keeps a request that `awaits_more`,
        to show it again with its end: a large request is assembled there, and not here.
        """
        if uses_fast_path and fastpath.IS_AVAILABLE:
            self.fast_path = FastPath(RELAYED, view.limits, throttle)
        self._state = State(peer, view, self.fast_path, throttle, sent_times)
        self._requests = Requests(self._state, view.limits)
        self._answers = Answers(self._state)

    @property
    def view(self) -> View:
        return self._state.view

    def see(self, view: View, now_ms: int) -> list[Effect]:
        """The world around has changed: an answer that waits for a node may go on."""
        self._state.view = view
        self._state.forget_fast_path()
        self._state.tell_offers()
        if self._answers.waits and not self._state.is_closed:
            self._answers.take()
            self._requests.take(now_ms)
        return self._done()

    def node_given_up(self) -> list[Effect]:
        """The node that an answer waits for has not come: the client must not be told its address."""
        self._answers.give_up()
        return self._done()

    @property
    def in_flight_requests(self) -> int:
        """How many answers the client is still owed; a request that is being judged counts, too."""
        return len(self._state.slots) + self._state.is_judging

    @property
    def requests_answered(self) -> int:
        """How many have left the queue of those that expect an answer."""
        return self._state.slots.answered

    @property
    def requests_forwarded(self) -> int:
        """How many have ever stood in that queue: sent on, or answered here."""
        return self._state.slots.answered + len(self._state.slots)

    @property
    def is_between_requests(self) -> bool:
        """True where the next byte from the client begins a request, as far as is known here."""
        return not self._requests.buffered

    @property
    def is_judging(self) -> bool:
        """True from a `Judge` or `PutOff` effect to `judged`, or to the session's end."""
        return self._state.is_judging

    @property
    def held_bytes(self) -> int:
        """What is kept here: requests and answers that are not taken yet, a request that is being judged,
        answers of ours that wait, and what is known of many topics and of many partitions in flight."""
        state = self._state
        taken = state.judged_bytes + state.waiting_bytes + state.kept_bytes
        return self._requests.buffered + self._answers.buffered + taken

    @property
    def requests_taken(self) -> int:
        """How often requests were taken out of what came; more with each that is not unfinished any more."""
        return self._requests.taken

    @property
    def unfinished(self) -> Unfinished | None:
        """The request of which a part has come and the rest has not. Before the peer is accepted its first
        bytes may be a secret's: then what it announces is not told."""
        unfinished, sasl = self._requests.unfinished, self._state.sasl
        if unfinished is None or (sasl.is_accepted and not sasl.takes_raw_tokens):
            return unfinished
        return replace(unfinished, announced=None)

    def client_bytes(self, data: bytes, now_ms: int) -> list[Effect]:
        """The client sent `data`."""
        if not self._state.is_closed:
            self._requests.feed(data)
            self._requests.take(now_ms)
        return self._done()

    def broker_bytes(self, data: bytes, now_ms: int) -> list[Effect]:
        """The broker sent `data`."""
        if not self._state.is_closed:
            self._answers.feed(data)
            self._answers.take()
            self._requests.take(now_ms)  # an answer may have freed what a request was waiting for
        return self._done()

    def take_unparsed(self) -> bytes:
        """The beginning of a request that came with other bytes: the caller may keep it for the fast path, to
        which the session would otherwise never return. Mostly empty."""
        if self.fast_path is None or not self._requests.buffered or not self._fast_path_allowed():
            return b""
        self._open_fast_path()
        return self._requests.take_unparsed()

    def judged(self, judgement: Judgement, now_ms: int) -> list[Effect]:
        """The job of a `Judge` effect is done, or the silence of a `PutOff` over: the request goes its way,
        then those behind it."""
        if self._state.is_judging:
            self._state.is_judging, self._state.judged_bytes = False, 0
            self._requests.judged(judgement, now_ms)
            self._requests.take(now_ms)
        return self._done()

    @property
    def is_reading_answer(self) -> bool:
        """True from a `ReadAnswer` effect to `answer_read`, or to the session's end."""
        return self._answers.is_reading and not self._state.is_closed

    def answer_read(self, read: AnswerRead | NodeUnknown | Unreadable, now_ms: int) -> list[Effect]:
        """The job of a `ReadAnswer` effect is done: the answer goes its way, then those behind it."""
        self._answers.read(read)
        if not self._state.is_closed:
            self._answers.take()
            self._requests.take(now_ms)
        return self._done()

    def client_closed(self) -> list[Effect]:
        """The client's side ended."""
        state, unfinished = self._state, self._requests.unfinished
        # Of a raw SASL token not even the size is told: it may be part of a secret.
        if unfinished and not state.is_closed and not state.ending and not state.sasl.takes_raw_tokens:
            facts = {"received_bytes": unfinished.received, "announced_bytes": unfinished.announced}
            state.effects.append(Note("frame_cut_short", facts))
        self._parted("the client closed", is_broker=False)
        return self._done()

    def broker_closed(self) -> list[Effect]:
        """The broker's side ended, or could not be reached."""
        self._parted("the broker closed", is_broker=True)
        return self._done()

    def _parted(self, text: str, *, is_broker: bool) -> None:
        """One of the two ends is over; where a login came to nothing, that is why."""
        state = self._state
        failure = None if state.is_closed else state.sasl.parted(is_broker)
        if failure is not None:
            state.effects.append(sasl_failed(failure))
        state.close(CloseReason.SASL_FAILED if state.sasl.has_failed else CloseReason.PEER_CLOSED, text)

    @property
    def owes_totals(self) -> bool:
        """True if the caller should drain totals before it performs the effects of its last call. An example
        in the decision log then counts all that were rejected before it."""
        return self._state.owes_totals

    def drain_totals(self) -> list[Totals]:
        """The batches that were accepted or rejected since the last call without an `Emit` effect each."""
        return self._state.drain_totals()

    def _done(self) -> list[Effect]:
        if self.fast_path is not None:
            if self._fast_path_allowed() and not self._requests.buffered:
                self._open_fast_path()
            else:
                self.fast_path.close()
        return self._state.take_effects()

    def _open_fast_path(self) -> None:
        if self.fast_path is not None:
            self.fast_path.open(self._state.view.limits.in_flight_requests)

    def _fast_path_allowed(self) -> bool:
        """True if nothing but their own bytes decides about whole frames, unless the session itself has the
        beginning of one."""
        state = self._state
        return (
            not (state.is_closed or state.ending is not None or state.is_judging)
            and not (self._requests.is_paused or self._requests.must_wait() or self._answers.buffered)
            and state.sasl.is_accepted
            and not state.sasl.takes_raw_tokens
        )
