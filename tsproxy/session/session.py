"""One client connection and its broker connection, as a machine: bytes and a clock in, effects out.

The path of a request: `client_bytes` cuts frames; each is looked up in the table of routes, which
says what becomes of it and leaves a slot in the queue. The path of an answer: `broker_bytes` meets
the slot at the head of the queue, which says whether the answer streams through or is read.

Invariants, each a property test: an accepted frame leaves as it came; answers leave in the order of
their requests, as many as requests that expect one; any chunking gives the same bytes; any garbage
ends in a clean close; the same bytes at the same time give the same effects.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.model.outcome import Outcome, Peer
from tsproxy.model.view import Endpoint, Mode, View
from tsproxy.session import outcomes, produce, produce_answer
from tsproxy.session.effects import (
    CloseReason,
    CloseSession,
    Effect,
    Emit,
    EmitTotals,
    Judge,
    NodeWanted,
    Note,
    PauseClient,
    ResumeClient,
    SendToBroker,
    SendToClient,
    TopicWanted,
)
from tsproxy.session.passing import Passing, relayed_but
from tsproxy.session.sasl import SaslWatch
from tsproxy.session.slots import (
    BookProduce,
    Held,
    Local,
    MaskConfigs,
    NarrowVersions,
    Relay,
    RewriteAddresses,
    Slot,
    WatchHandshake,
    WatchRawToken,
    WatchToken,
    of_passed,
)
from tsproxy.wire import addresses, k00_produce, k17_k36_sasl, k18_api_versions, k32_describe_configs
from tsproxy.wire.answers import AnswerStream
from tsproxy.wire.apis import APIS, request_is_understood
from tsproxy.wire.frames import SIZE_BYTES, FrameTooLargeError, NotKafkaError, RequestFrames
from tsproxy.wire.headers import (
    RequestHeader,
    frame,
    read_request_header,
    response_body_start,
    response_header,
)
from tsproxy.wire.kernel import InFlight
from tsproxy.wire.primitives import DecodeError

MOST_WAITING_BYTES: Final = 1 << 20


class _EndpointUnknownError(Exception):
    """An answer names a node that we do not listen for."""

    def __init__(self, node_id: int, host: str, port: int) -> None:
        self.wanted = NodeWanted(node_id, host, port)


@dataclass(frozen=True, slots=True)
class _Request:
    """One whole request: its frame as it came (size prefix included), its header, when it was whole."""

    frame: bytes
    header: RequestHeader
    now_ms: int

    @property
    def body(self) -> memoryview:
        return memoryview(self.frame)[SIZE_BYTES + self.header.body_start :]


class Session:
    """See the package for the face. `view` may be replaced between two calls."""

    def __init__(self, peer: Peer, view: View, *, uses_kernel: bool = False) -> None:
        self._view = view
        self._peer = peer
        self._requests = RequestFrames(view.limits.produce_frame, view.limits.other_frame)
        self._answers = AnswerStream()
        self._slots = InFlight(of_passed)
        self._passing = Passing(self._slots, RELAYED, view.limits) if uses_kernel else None
        self._may_pass_whole = False
        self._sasl = SaslWatch(view.broker_needs_sasl)
        self._is_paused = False
        self._is_closed = False
        self._is_judging = False
        self._records_taken = 0
        self._waiting_bytes = 0
        self._ending: CloseSession | None = None
        self._to_broker: list[bytes] = []
        self._to_client: list[bytes] = []
        self._effects: list[Effect] = []

    @property
    def view(self) -> View:
        return self._view

    @view.setter
    def view(self, view: View) -> None:
        self._view = view
        self._may_pass_whole = False
        self._forget_what_passes()

    @property
    def in_flight_requests(self) -> int:
        """How many answers the client is still owed; a request that is being judged counts, too."""
        return len(self._slots) + self._is_judging

    @property
    def is_judging(self) -> bool:
        """True from a `Judge` effect to `judged`, or to the session's end."""
        return self._is_judging

    # -- The five things that can happen ------------------------------------------------------------

    def client_bytes(self, data: bytes, now_ms: int) -> list[Effect]:
        """The client sent `data`."""
        if not self._is_closed:
            self._requests.feed(data)
            self._take_requests(now_ms)
        return self._done()

    def broker_bytes(self, data: bytes, now_ms: int) -> list[Effect]:
        """The broker sent `data`."""
        if not self._is_closed:
            self._answers.feed(data)
            self._take_answers()
            self._take_requests(now_ms)  # an answer may have freed what a request was waiting for
        return self._done()

    def client_passes(self, data: bytes, now_ms: int) -> bool:
        """The client sent `data`, and all of it may go on to the broker as it is: then this is the short
        way. Where it is False nothing has happened, and `client_bytes` is to be asked."""
        return (
            self._may_pass_whole
            and self._passing is not None
            and self._passing.requests_whole(data, self._view.limits.in_flight_requests, now_ms)
        )

    def broker_passes(self, data: bytes) -> bool:
        """The same for what the broker sent; else `broker_bytes`."""
        return self._may_pass_whole and self._passing is not None and self._passing.answers_whole(data)

    def judged(self, ruling: produce.Ruling, now_ms: int) -> list[Effect]:
        """The job of a `Judge` effect is done: its request goes its way, then those behind it."""
        if self._is_judging:
            self._is_judging = False
            self._ruled(ruling)
            self._take_requests(now_ms)
        return self._done()

    def client_closed(self) -> list[Effect]:
        """The client's side ended."""
        cut_short = self._requests.cut_short
        # Of a raw SASL token not even the size is told: it may be part of a secret.
        if cut_short and not self._is_closed and not self._ending and not self._sasl.takes_raw_tokens:
            facts = dict(zip(("received_bytes", "announced_bytes"), cut_short, strict=True))
            self._effects.append(Note("frame_cut_short", facts))
        self._close(CloseReason.PEER_CLOSED, "the client closed")
        return self._done()

    def broker_closed(self) -> list[Effect]:
        """The broker's side ended, or could not be reached."""
        self._close(CloseReason.PEER_CLOSED, "the broker closed")
        return self._done()

    def totals(self) -> list[Effect]:
        """What was accepted since the last call and is not told as an outcome each."""
        if self._passing is not None:
            self._effects += map(EmitTotals, self._passing.drain())
        return self._done()

    # -- Requests -----------------------------------------------------------------------------------

    def _take_requests(self, now_ms: int) -> None:
        try:
            while not self._is_closed and not self._must_wait():
                is_raw = self._sasl.takes_raw_tokens
                if not is_raw and self._requests_pass(now_ms):
                    continue
                received = self._requests.next_frame(is_raw)
                if received is None:
                    break
                if is_raw:
                    self._raw_token(received)
                else:
                    header = read_request_header(memoryview(received)[SIZE_BYTES:])
                    self._request(_Request(received, header, now_ms))
        except NotKafkaError as error:
            self._refuse(CloseReason.NOT_KAFKA, str(error))
        except FrameTooLargeError as error:
            self._refuse(CloseReason.FRAME_TOO_LARGE, str(error))
        except DecodeError as error:
            # What cannot be read before the peer is accepted may be a token: no number out of it is told.
            is_told = self._sasl.is_accepted or self._sasl.takes_raw_tokens
            text = str(error) if is_told else "not a request, before authentication"
            self._refuse(CloseReason.BAD_FRAME, text)
        self._pause_or_resume()

    def _requests_pass(self, now_ms: int) -> bool:
        """True where the kernel took requests that come next and sent them on."""
        if self._passing is None or not self._sasl.is_accepted:
            return False
        room = self.view.limits.in_flight_requests - len(self._slots)
        run = self._passing.requests(self._requests, room, now_ms)
        if run:
            self._to_broker.append(run)
        return bool(run)

    def _must_wait(self) -> bool:
        """A SASL step goes in lockstep; no connection has more in flight than it may; no request
        is taken after one that ends the session, nor beside one that is being judged, nor while many
        bytes of our own answers wait for the broker's: a small request may have a large one."""
        if (
            self._ending is not None
            or self._is_judging
            or self._waiting_bytes >= MOST_WAITING_BYTES
            or len(self._slots) >= self.view.limits.in_flight_requests
        ):
            return True
        return isinstance(self._slots.last(), WatchHandshake | WatchToken | WatchRawToken)

    def _pause_or_resume(self) -> None:
        must_wait = self._must_wait()
        if must_wait != self._is_paused and not self._is_closed:
            self._is_paused = must_wait
            self._effects.append(PauseClient() if must_wait else ResumeClient())

    def _request(self, request: _Request) -> None:
        header = request.header
        is_understood = request_is_understood(header.api_key, header.api_version)
        if not self._sasl.is_accepted and header.api_key not in _BEFORE_SASL:
            name = APIS[header.api_key].name if header.api_key in APIS else "an unknown API"
            self._refuse(CloseReason.UNSUPPORTED_REQUEST, f"{name} before authentication")
        elif header.api_key == ApiKey.API_VERSIONS and not is_understood:
            self._answer_locally(
                frame(
                    response_header(ApiKey.API_VERSIONS, 0, header.correlation_id)
                    + k18_api_versions.unsupported_version_response()
                )
            )
        elif not is_understood:
            self._refuse(
                CloseReason.UNSUPPORTED_REQUEST,
                f"API key {header.api_key} version {header.api_version} was never offered",
            )
        elif (read := _READ.get(header.api_key)) is not None:
            read(self, request)
        elif header.api_key in addresses.LAYOUTS:
            slot = RewriteAddresses(header.correlation_id, header.api_key, header.api_version)
            self._forward(request.frame, slot)
        else:
            self._forward(request.frame, Relay(header.correlation_id))

    def _produce(self, request: _Request) -> None:
        header = request.header
        if header.client_id != self._peer.client_id or self._sasl.principal != self._peer.principal:
            self._peer = replace(self._peer, client_id=header.client_id, principal=self._sasl.principal)
        asked = k00_produce.read_request(header.api_version, request.body)
        job = partial(produce.rule, header, asked, request.frame, self._peer, self.view, request.now_ms)
        self._records_taken += produce.records_at_most(header, asked)
        if self._records_taken > produce.DEAR_RECORDS or produce.is_dear(header, asked):
            self._is_judging = True
            self._effects.append(Judge(job))
        else:
            self._ruled(job())

    def _ruled(self, ruling: produce.Ruling) -> None:
        header = ruling.header
        if self.view.mode is not Mode.OFF:
            self._effects += [TopicWanted(topic) for topic in sorted(ruling.unknown_topics)]
        self._emit(outcomes.of_rejections(ruling))
        if ruling.acks == 0:
            self._produce_without_answer(ruling)
        elif ruling.to_broker is None:
            self._answer_locally(produce_answer.local(ruling))
        else:
            # The frame is the transport's now: a slot that kept it would double it until it is answered.
            slot = BookProduce(header.correlation_id, replace(ruling, to_broker=None))
            self._forward(ruling.to_broker, slot)
            if self._passing is not None:
                self._passing.learn(ruling, self.view)

    def _produce_without_answer(self, ruling: produce.Ruling) -> None:
        """acks=0: what is good goes on; if anything was not, the connection closes, as a broker's does."""
        if ruling.to_broker is not None:
            self._to_broker.append(ruling.to_broker)
        self._emit(outcomes.unconfirmed(ruling))
        if ruling.rejected:
            self._end(CloseReason.ACKS_ZERO_REJECTED, "a batch sent with acks=0 was rejected")

    def _api_versions(self, request: _Request) -> None:
        header = request.header
        software = k18_api_versions.read_client_software(header.api_version, request.body)
        if software is not None:
            self._peer = replace(self._peer, client_software=software)
            self._forget_what_passes()
        self._forward(request.frame, NarrowVersions(header.correlation_id, header.api_version))

    def _describe_configs(self, request: _Request) -> None:
        header = request.header
        self._forward(request.frame, MaskConfigs(header.correlation_id, header.api_version))

    def _sasl_handshake(self, request: _Request) -> None:
        header = request.header
        self._sasl.handshake_sent(header.api_version, k17_k36_sasl.read_handshake_request(request.body))
        self._forward(request.frame, WatchHandshake(header.correlation_id))

    def _sasl_authenticate(self, request: _Request) -> None:
        header = request.header
        self._sasl.token_sent(k17_k36_sasl.read_authenticate_request(header.api_version, request.body))
        self._forward(request.frame, WatchToken(header.correlation_id, header.api_version))

    def _raw_token(self, token: bytes) -> None:
        self._sasl.token_sent(token[SIZE_BYTES:])
        self._forward(token, WatchRawToken())

    def _forward(self, request: bytes, slot: Slot) -> None:
        self._to_broker.append(request)
        self._slots.push(slot)

    def _answer_locally(self, answer: bytes) -> None:
        self._slots.push(Local(answer))
        self._waiting_bytes += len(answer)
        self._send_local_answers()

    # -- Answers ------------------------------------------------------------------------------------

    def _take_answers(self) -> None:
        try:
            while not self._is_closed and self._take_answer():
                pass
        except DecodeError as error:
            self._close(CloseReason.BAD_ANSWER, f"an answer of the broker could not be read: {error}")
        except _EndpointUnknownError as error:
            self._effects.append(error.wanted)
            self._close(
                CloseReason.ADDRESS_UNMAPPED,
                f"an answer named node {error.wanted.node_id}, which has no listener",
            )
        if self._passing is not None:
            self._effects += map(EmitTotals, self._passing.settled())

    def _take_answer(self) -> bool:
        """Take one step with the broker's bytes; False where more must come first."""
        if self._answers.is_streaming:
            data, has_ended = self._answers.passing()
            self._to_client.append(data)
            if has_ended:
                self._answered()
            return has_ended
        if self._passing is not None and (run := self._passing.answers(self._answers)):
            self._to_client.append(run)
            self._send_local_answers()
            return True
        if self._answers.size() is None:
            return False
        slot: Slot | None = self._slots.head()
        if slot is None:
            raise DecodeError("nothing was asked")
        assert not isinstance(slot, Local), "local answers leave the queue as soon as they head it"
        if not isinstance(slot, WatchRawToken):
            correlation_id = self._answers.correlation_id()
            if correlation_id is None:
                return False
            if correlation_id != slot.correlation_id:
                raise DecodeError(f"correlation id {correlation_id} where {slot.correlation_id} is due")
        if isinstance(slot, Relay):
            self._answers.stream()
            return True
        payload = self._answers.whole(self.view.limits.share_answer)
        if payload is None:
            return False
        self._to_client.append(self._held(slot, payload))
        self._answered()
        return True

    def _answered(self) -> None:
        self._slots.pop()
        self._send_local_answers()

    def _send_local_answers(self) -> None:
        while isinstance(slot := self._slots.own_head(), Local):
            self._to_client.append(slot.answer)
            self._waiting_bytes -= len(slot.answer)
            self._slots.pop()
        self._close_if_ended()

    def _held(self, slot: Held, payload: bytes) -> bytes:
        """The frame for the client, made of the broker's whole answer."""
        match slot:
            case BookProduce():
                answer, booked = produce_answer.settle(slot.ruling, payload, self._endpoint_of)
                self._emit(booked)
                return answer
            case RewriteAddresses():
                start = response_body_start(slot.api_key, slot.api_version, payload)
                body = memoryview(payload)[start:]
                rewritten = addresses.rewrite(slot.api_key, slot.api_version, body, self._endpoint_of)
                return frame(payload[:start] + rewritten)
            case MaskConfigs():
                start = response_body_start(ApiKey.DESCRIBE_CONFIGS, slot.api_version, payload)
                body = memoryview(payload)[start:]
                return frame(payload[:start] + k32_describe_configs.mask_addresses(slot.api_version, body))
            case NarrowVersions():
                start = response_body_start(ApiKey.API_VERSIONS, slot.api_version, payload)
                return frame(
                    payload[:start] + k18_api_versions.narrow_response(slot.api_version, payload[start:])
                )
            case WatchHandshake():
                start = response_body_start(ApiKey.SASL_HANDSHAKE, 0, payload)
                self._sasl.handshake_answered(k17_k36_sasl.read_handshake_response(payload[start:]))
            case WatchToken():
                start = response_body_start(ApiKey.SASL_AUTHENTICATE, slot.api_version, payload)
                self._sasl.token_answered(
                    *k17_k36_sasl.read_authenticate_response(slot.api_version, payload[start:])
                )
                self._forget_what_passes()  # the principal may be another one
            case WatchRawToken():
                self._sasl.token_answered(0, payload)
                self._forget_what_passes()
        return frame(payload)

    def _forget_what_passes(self) -> None:
        if self._passing is not None:
            self._passing.forget()

    def _endpoint_of(self, node_id: int, host: str, port: int) -> Endpoint:
        endpoint = self.view.endpoints.get(node_id)
        if endpoint is None:
            raise _EndpointUnknownError(node_id, host, port)
        return endpoint

    # -- Effects ------------------------------------------------------------------------------------

    def _emit(self, booked: Iterable[Outcome]) -> None:
        self._effects += [Emit(outcome) for outcome in booked]

    def _refuse(self, reason: CloseReason, text: str) -> None:
        """The client's fault: one line for the operator, and no answer, as brokers do."""
        self._effects.append(Note("client_refused", {"reason": reason.value, "detail": text}))
        self._end(reason, text)

    def _end(self, reason: CloseReason, text: str) -> None:
        """Take no further request; close when the earlier ones are answered. A broker, which reads
        one request at a time, has answered them by then: who closed at once would lose answers to
        batches that are in the log."""
        self._ending = CloseSession(reason, text)
        self._close_if_ended()

    def _close_if_ended(self) -> None:
        if self._ending is not None and not self._slots:
            self._close(self._ending.reason, self._ending.text)

    def _close(self, reason: CloseReason, text: str) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._is_judging = False
        for slot in self._slots.clear():
            if isinstance(slot, BookProduce):
                self._emit(outcomes.unconfirmed(slot.ruling))
        if self._passing is not None:
            self._effects += map(EmitTotals, self._passing.drain())
        self._effects.append(CloseSession(reason, text))

    def _done(self) -> list[Effect]:
        """What this call wants done: sends first, each side's bytes in one piece, a close last."""
        done: list[Effect] = []
        if to_broker := b"".join(self._to_broker):
            done.append(SendToBroker(to_broker))
        if to_client := b"".join(self._to_client):
            done.append(SendToClient(to_client))
        done += self._effects
        self._to_broker, self._to_client, self._effects = [], [], []
        self._records_taken = 0
        self._may_pass_whole = self._passing is not None and self._is_between_frames()
        return done

    def _is_between_frames(self) -> bool:
        """True where whole frames may go by without a look at anything but themselves."""
        return not (
            self._is_closed
            or self._is_paused
            or self._ending is not None
            or self._is_judging
            or self._requests.buffered
            or self._answers.buffered
            or self._answers.is_streaming
            or not self._sasl.is_accepted
            or self._sasl.takes_raw_tokens
        )


_BEFORE_SASL: Final = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
"""What a broker takes from a peer that it has not accepted yet."""

_READ: Final[dict[int, Callable[[Session, _Request], None]]] = {
    ApiKey.PRODUCE: Session._produce,
    ApiKey.API_VERSIONS: Session._api_versions,
    ApiKey.DESCRIBE_CONFIGS: Session._describe_configs,
    ApiKey.SASL_HANDSHAKE: Session._sasl_handshake,
    ApiKey.SASL_AUTHENTICATE: Session._sasl_authenticate,
}
"""Requests that are read. Answers with addresses (`addresses.LAYOUTS`) are rewritten, all others relayed."""

RELAYED: Final = relayed_but(_READ.keys() | addresses.LAYOUTS.keys())
"""The others, as the kernel is told: one table of routes, so that no answer slips by that must be read."""
