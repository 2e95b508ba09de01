"""The broker's answers in a session: `Answers`. The slot at the head of the queue says what is done with the
next answer.

Most answers are forwarded as they come, whatever their size. This includes answers of Fetch and ShareFetch:
only their end is held and blanked, because this end may name brokers. An answer that must be read is held
until it is whole. If the answer names a node that the proxy does not serve yet, it waits for that node, and
all answers behind it wait, too. If the node is not served in time, the answer leaves it out.
"""

from functools import partial
from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.model.view import View
from tsproxy.session.deadlines import NODE_WAIT_MS, Wait
from tsproxy.session.effects import (
    CloseReason,
    Count,
    HoldBroker,
    NodeWanted,
    ReadAnswer,
    ReleaseBroker,
    SaslFailed,
    SessionCounter,
)
from tsproxy.session.reading import (
    MAX_READ_HERE,
    AnswerRead,
    Readable,
    Unreadable,
    read_answer,
    read_beside,
    reader_here,
)
from tsproxy.session.slots import (
    BlankNodes,
    BookProduce,
    Held,
    Local,
    PassThrough,
    Slot,
    WatchHandshake,
    WatchRawToken,
    WatchToken,
)
from tsproxy.session.state import State
from tsproxy.wire import k17_k36_sasl
from tsproxy.wire.answers import AnswerStream
from tsproxy.wire.headers import frame, response_body_start
from tsproxy.wire.primitives import DecodeError, TooManyElementsError

A_REJECTION: Final = 160
"""The cost of writing one of our own rejections into an answer. The unit is the cost of reading one byte of
an answer."""
_UNREADABLE: Final = "an answer of the broker could not be read: "


class Answers:
    def __init__(self, state: State) -> None:
        self._state = state
        self.stream = AnswerStream(state.slots)
        self._reading: tuple[Readable, bytes] | None = None
        """The answer that a thread reads."""
        self._room = 0
        """How many bytes of answers may still be read during this event."""
        self._seen: View | None = None
        """The view of the latest attempt to read `_waiting` or `_reading`."""
        self._waiting: tuple[Readable, bytes] | None = None
        self._has_waited = False
        """True if the answer in `_waiting` has waited for as long as an answer may."""
        self._wanted: NodeWanted | None = None

    @property
    def waits(self) -> bool:
        """True while an answer waits for a node to be served."""
        return self._waiting is not None

    @property
    def buffered(self) -> int:
        held = self._reading or self._waiting
        return len(self.stream) + (len(held[1]) if held else 0)

    @property
    def is_reading(self) -> bool:
        """True from a `ReadAnswer` effect until `read` is called."""
        return self._reading is not None

    def take(self) -> None:
        state, self._room = self._state, MAX_READ_HERE
        try:
            while not state.is_closed and self._take_step():
                pass
        except DecodeError as error:
            state.close(CloseReason.BAD_ANSWER, f"{_UNREADABLE}{error}")
        if state.fast_path is not None and state.fast_path.has_settled:
            state.owes_totals = True

    def give_up(self) -> None:
        """No listener serves the node that the answer waits for: the answer leaves out all such nodes."""
        self._seen, self._has_waited = None, True
        self.take()

    def wait_no_more(self) -> None:
        """The broker is gone. Whole answers have come behind the one that waits, and none of them is lost."""
        while self.waits and not self.is_reading and not self._state.is_closed:
            self.give_up()

    def _take_step(self) -> bool:
        """Take one step with the broker's bytes. Returns False if something must come first: more bytes,
        another view, or the result of a thread."""
        state, stream = self._state, self.stream
        if self._reading is not None:
            return False
        if self._waiting is not None:
            return self._seen is not state.view and self._read(*self._waiting)
        if stream.is_streaming:
            data, has_ended = stream.streamed()
            state.send_to_client(data)
            if has_ended:
                state.answered()
            return has_ended
        if state.fast_path is not None and (run := state.fast_path.next_answers(stream)):
            state.send_to_client(run)
            state.send_local_answers()
            return True
        if stream.size() is None:
            return False
        slot: Slot | None = state.slots.head()
        if slot is None:
            raise DecodeError("nothing was asked")
        assert not isinstance(slot, Local), "local answers leave the queue as soon as they head it"
        if not isinstance(slot, WatchRawToken):
            correlation_id = stream.correlation_id()
            if correlation_id is None:
                return False
            if correlation_id != slot.correlation_id:
                raise DecodeError(f"correlation id {correlation_id} where {slot.correlation_id} is due")
        if isinstance(slot, PassThrough | BlankNodes):
            stream.stream(slot.layout if isinstance(slot, BlankNodes) else None)
            return True
        payload = stream.whole(state.view.limits.share_answer)
        if payload is None:
            return False
        return self._take_whole(slot, payload)

    def _take_whole(self, slot: Held, payload: bytes) -> bool:
        """Forward an answer that was held until it was whole, rewritten if needed. False if it must wait."""
        state = self._state
        match slot:
            case WatchHandshake():
                start = response_body_start(ApiKey.SASL_HANDSHAKE, 0, payload)
                error_code = k17_k36_sasl.read_handshake_response(payload[start:])
                self._sasl_answered(state.sasl.handshake_answered(error_code))
            case WatchToken():
                start = response_body_start(ApiKey.SASL_AUTHENTICATE, slot.api_version, payload)
                read = k17_k36_sasl.read_authenticate_response(slot.api_version, payload[start:])
                self._sasl_answered(state.sasl.token_answered(*read))
                state.forget_fast_path()  # the principal may have changed
            case WatchRawToken():
                self._sasl_answered(state.sasl.token_answered(0, payload))
                state.forget_fast_path()
            case _:
                return self._read(slot, payload)
        state.send_to_client(frame(payload))
        state.answered()
        return True

    def _sasl_answered(self, failure: SaslFailed | None) -> None:
        state = self._state
        state.change(state.sasl.next_step)
        if failure is not None:
            state.effects.append(failure)
            if state.sasl.is_accepted:  # a renewal (KIP-368): brokers close, too, some time after this answer
                state.end(CloseReason.SASL_FAILED, "the broker rejected the renewal of the session")

    def _read(self, slot: Readable, payload: bytes) -> bool:
        """`_take_whole` for an answer that must be read. If this is expensive, a thread reads the answer."""
        state = self._state
        self._seen = state.view
        cost = len(payload) + (
            len(slot.verdict.rejected) * A_REJECTION if isinstance(slot, BookProduce) else 0
        )
        waits = not self._has_waited
        if cost <= self._room:
            self._room -= cost
            try:
                read = read_answer(slot, payload, state.view, waits=waits, reader_of=reader_here)
            except TooManyElementsError:
                pass
            else:
                return self._pass_on(slot, payload, read)
        self._reading = slot, payload
        state.effects.append(ReadAnswer(partial(read_beside, slot, payload, state.view, waits=waits)))
        return False

    def read(self, read: AnswerRead | NodeWanted | Unreadable) -> None:
        """Take the result of the job of a `ReadAnswer` effect."""
        if self._reading is None or self._state.is_closed:
            return
        (slot, payload), self._reading = self._reading, None
        if isinstance(read, Unreadable):
            self._state.close(CloseReason.BAD_ANSWER, f"{_UNREADABLE}{read.text}")
        else:
            self._pass_on(slot, payload, read)

    def _pass_on(self, slot: Readable, payload: bytes, read: AnswerRead | NodeWanted) -> bool:
        """Forward an answer that was read. False if it names a node without a listener: then the answer
        waits."""
        state = self._state
        if isinstance(read, NodeWanted):
            if self._waiting is None:
                state.deadlines.start(Wait.NODE, NODE_WAIT_MS)
                state.effects.append(HoldBroker())
            if self._wanted != read:
                state.effects.append(read)
            self._waiting, self._wanted = (slot, payload), read
            return False
        state.effects += read.moved
        if isinstance(slot, BookProduce):
            state.emit(read.booked)
            state.learn_answer(slot.verdict, read.booked)
        if read.offers is not None:
            state.offered(read.offers)
        state.fresh_limits.expire(read.changed_topics)
        if read.left_out:
            state.effects.append(Count(SessionCounter.ADDRESS_UNMAPPED))
        if self._waiting is not None:
            self._waiting = self._wanted = None
            self._has_waited = False
            state.deadlines.cancel(Wait.NODE)
            state.effects.append(ReleaseBroker())
        self._seen = None
        state.send_to_client(read.frame)
        state.answered()
        return True
