"""A session's requests: cut into frames, looked up in the table of routes, forwarded or answered here.

Frames that the fast path may forward are sent in one run. Each other request that expects an answer gets a
slot in the queue. The slot says what is done with the answer.
"""

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.model.view import SessionLimits
from tsproxy.session.deadlines import Wait
from tsproxy.session.effects import (
    CloseReason,
    DelayRequest,
    EmitDead,
    Judge,
    PauseClient,
    ResumeClient,
    TopicWanted,
)
from tsproxy.session.fast_path import relayed_but
from tsproxy.session.naming import Naming
from tsproxy.session.produce import answer, cost, outcomes
from tsproxy.session.produce.budget import BudgetExceededError, DecompressionBudget
from tsproxy.session.produce.job import Job, Work, all_steps
from tsproxy.session.produce.judge_request import (
    Judgement,
    Malformed,
    RequestVerdict,
    StreamTimesOf,
    always,
    judge_request_steps,
    judge_unread_request_steps,
)
from tsproxy.session.produce.names import newest_offered
from tsproxy.session.sasl import NEVER_ENDS_BY_RAW_TOKENS
from tsproxy.session.slots import (
    BlankNodes,
    BookProduce,
    MaskAddresses,
    NarrowVersions,
    PassThrough,
    RewriteAddresses,
    WatchHandshake,
    WatchRawToken,
    WatchToken,
)
from tsproxy.session.state import State
from tsproxy.session.states import Cause, SessionState
from tsproxy.session.warnings import far_ahead, is_far_ahead, rule_failed
from tsproxy.wire import (
    addresses,
    k00_produce,
    k01_k78_fetch,
    k17_k36_sasl,
    k18_api_versions,
)
from tsproxy.wire.apis import APIS, request_is_understood
from tsproxy.wire.frames import (
    SIZE_BYTES,
    ApiNotAllowedError,
    FrameTooLargeError,
    NotKafkaError,
    RequestFrames,
    Unfinished,
)
from tsproxy.wire.headers import RequestHeader, frame, read_request_header, response_header
from tsproxy.wire.masking import MASKED
from tsproxy.wire.primitives import DecodeError

MOST_WAITING_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Request:
    """A whole request. `frame` is as it came, with its size prefix. `now_ms` is the time of its judgement."""

    frame: bytes
    header: RequestHeader
    now_ms: int
    budget: DecompressionBudget

    @property
    def body(self) -> memoryview:
        return memoryview(self.frame)[SIZE_BYTES + self.header.body_start :]


class Requests:
    """The requests of one session. `limits` bound the frames until the session ends."""

    def __init__(self, state: State, limits: SessionLimits) -> None:
        self._state = state
        self._frames = RequestFrames(limits.produce_frame, limits.other_frame)
        self._records_taken = 0
        self._delayed: RequestVerdict | None = None
        self._naming = Naming[_Request](state)
        self.is_paused = False

    @property
    def buffered(self) -> int:
        """The number of bytes that were received and not taken yet."""
        return self._frames.buffered

    @property
    def taken(self) -> int:
        return self._frames.taken

    @property
    def unfinished(self) -> Unfinished | None:
        """The next request, if only a part of it has come."""
        return self._frames.unfinished

    def feed(self, data: bytes) -> None:
        self._frames.feed(data)

    def take_unparsed(self) -> bytes:
        """Remove and return all buffered bytes."""
        return self._frames.take_unparsed()

    def take(self, now_ms: int) -> None:
        """Take all requests that are whole and may be taken now."""
        state, budget = self._state, DecompressionBudget()
        self._records_taken = 0
        try:
            while not state.is_closed and not self.must_wait():
                is_raw = state.current is SessionState.RAW_TOKEN
                if not is_raw and self._forward_some(now_ms, budget):
                    continue
                only = None if state.sasl.is_accepted else _BEFORE_SASL
                received = self._frames.next_frame(is_raw, only)
                if received is None:
                    break
                if is_raw:
                    self._raw_token(received)
                else:
                    header = read_request_header(memoryview(received)[SIZE_BYTES:])
                    self._take(_Request(received, header, now_ms, budget))
        except NotKafkaError as error:
            state.reject(CloseReason.NOT_KAFKA, str(error))
        except ApiNotAllowedError as error:
            name = APIS[error.api_key].name if error.api_key in APIS else "an unknown API"
            state.reject(CloseReason.UNSUPPORTED_REQUEST, f"{name} before authentication")
        except FrameTooLargeError as error:
            state.reject(CloseReason.FRAME_TOO_LARGE, str(error))
        except DecodeError as error:
            # Before the peer is accepted, an unreadable frame may be a token: none of its numbers is logged.
            may_be_logged = state.sasl.is_accepted or state.sasl.takes_raw_tokens
            text = str(error) if may_be_logged else "not a request, before authentication"
            state.reject(CloseReason.BAD_FRAME, text)
        self._pause_or_resume()

    def names_changed(self, now_ms: int) -> None:
        """The view has changed: judge the waiting request, unless some name may still come."""
        if (request := self._naming.view_changed()) is not None:
            self._produce(replace(request, now_ms=now_ms), may_wait=False)

    def names_missing(self, now_ms: int) -> None:
        """The wait for names is over: the request is judged with the names that are known."""
        if (request := self._naming.released()) is not None:
            self._produce(replace(request, now_ms=now_ms), may_wait=False)

    def judged(self, judgement: Judgement, now_ms: int) -> None:
        """A Produce request was judged in a thread."""
        if isinstance(judgement, Malformed):
            self._state.reject(CloseReason.BAD_FRAME, judgement.text)
        else:
            self.apply_verdicts(judgement, now_ms)

    def delay_over(self, now_ms: int) -> None:
        """The client is not muted any more: the delayed request is answered or forwarded."""
        if (verdicts := self._delayed) is not None:
            self._delayed = None
            self._state.release_request(Cause.UNMUTED)
            self.apply_verdicts(verdicts, now_ms)

    def forget_held(self) -> None:
        """The session is over: release a held request with its bytes at once."""
        self._delayed = None
        self._naming.forget()

    def apply_verdicts(self, verdicts: RequestVerdict, now_ms: int) -> None:
        """A Produce request is judged: forward it, answer it, or both."""
        state, header = self._state, verdicts.header
        if not verdicts.was_delayed:
            if state.view.policy.asks_broker:
                state.effects += [TopicWanted(topic) for topic in sorted(verdicts.unknown_topics)]
            self._naming.judged(verdicts)
            if verdicts.rejected:
                state.book_rejections(verdicts)
            if state.fast_path is not None and verdicts.bad_topics:
                state.fast_path.learn_bad(verdicts, verdicts.bad_topics)
        if verdicts.dead:
            state.effects += map(EmitDead, verdicts.dead)
            verdicts = replace(verdicts, dead=())  # a slot would keep them until the broker answers
        if verdicts.rejected:
            if self._is_delayed_now(verdicts, now_ms):
                return
            verdicts = self._throttled(verdicts, now_ms)
        state.effects += [
            far_ahead(verdicts, judged)
            for judged in verdicts.forwarded
            if is_far_ahead(judged, verdicts.now_ms)
        ]
        state.effects += [
            rule_failed(verdicts, j, failed)
            for j in (*verdicts.forwarded, *verdicts.rejected)
            for failed in j.failed
        ]
        state.stream_times.forwarded(verdicts)
        if verdicts.acks == 0:
            self._produce_without_answer(verdicts)
        elif verdicts.to_broker is None:
            state.answer_locally(
                answer.with_throttle(verdicts) if verdicts.answer else answer.local(verdicts)
            )
            if state.fast_path is not None:
                state.fast_path.learn_rejection(verdicts, state.policies)
        else:
            # The transport has the frame now. A slot that kept it would double its memory until the answer.
            slot = BookProduce.holding(header.correlation_id, replace(verdicts, to_broker=None, booked=None))
            state.forward(verdicts.to_broker, slot)
            if state.fast_path is not None:
                state.fast_path.learn(verdicts, state.policies)
        self._naming.end_if_denied(verdicts)

    def _is_delayed_now(self, verdicts: RequestVerdict, now_ms: int) -> bool:
        """Delay the request, if the client should still be muted for earlier rejections. True if delayed."""
        state, most_ms = self._state, self._state.view.limits.throttle_ms
        if most_ms is None or verdicts.was_delayed:
            return False
        mute_ms = state.throttle.mute_ms(verdicts.peer, now_ms, most_ms)
        if not mute_ms:
            return False
        held = BookProduce.holding(verdicts.header.correlation_id, verdicts).held_bytes
        state.hold_request(Cause.MUTED, held + len(verdicts.to_broker or b"") + len(verdicts.answer))
        self._delayed = replace(verdicts, was_delayed=True, booked=())
        state.deadlines.start(Wait.DELAY, mute_ms)
        state.effects.append(DelayRequest(mute_ms))
        return True

    def _throttled(self, verdicts: RequestVerdict, now_ms: int) -> RequestVerdict:
        """The verdicts with the throttle time that the rejected batches cost the client."""
        state, most_ms = self._state, self._state.view.limits.throttle_ms
        if most_ms is None:
            return verdicts
        size_bytes = sum(judged.batch.batch_bytes for judged in verdicts.rejected)
        mute_ms = state.throttle.rejected(verdicts.peer, len(verdicts.rejected), size_bytes, now_ms, most_ms)
        if not mute_ms:
            return verdicts
        state.mute_client(mute_ms)
        return replace(verdicts, throttle_ms=mute_ms)

    def _forward_some(self, now_ms: int, budget: DecompressionBudget) -> bool:
        """Let the fast path forward the next requests. True if it forwarded any."""
        state = self._state
        if state.fast_path is None or not state.sasl.is_accepted:
            return False
        most = state.view.limits.in_flight_requests - len(state.slots)
        run = state.fast_path.next_requests(self._frames, most, now_ms, budget)
        if run:
            state.send_to_broker(run)
        return bool(run)

    def must_wait(self) -> bool:
        """True if the state forbids the next request, too many requests are in flight, or many bytes of our
        own answers wait for the broker's. The bytes are bounded because a small request may have a large
        answer."""
        state = self._state
        return (
            not state.current.takes_requests
            or state.waiting_bytes >= MOST_WAITING_BYTES
            or len(state.slots) >= state.view.limits.in_flight_requests
        )

    def _pause_or_resume(self) -> None:
        must_wait = self.must_wait()
        if must_wait != self.is_paused and not self._state.is_closed:
            self.is_paused = must_wait
            self._state.effects.append(PauseClient() if must_wait else ResumeClient())

    def _take(self, request: _Request) -> None:
        state, header = self._state, request.header
        is_understood = request_is_understood(header.api_key, header.api_version)
        if header.api_key == ApiKey.API_VERSIONS and not is_understood:
            state.answer_locally(
                frame(
                    response_header(ApiKey.API_VERSIONS, 0, header.correlation_id)
                    + k18_api_versions.unsupported_version_response()
                )
            )
        elif not is_understood:
            state.reject(
                CloseReason.UNSUPPORTED_REQUEST,
                f"API key {header.api_key} version {header.api_version} was never offered",
            )
        elif header.api_key == ApiKey.PRODUCE and not self._is_offered(header.api_version):
            oldest, newest = state.produce_versions
            state.reject(
                CloseReason.UNSUPPORTED_REQUEST,
                f"Produce version {header.api_version}, where the broker takes {oldest} to {newest}",
            )
        elif (read := _READ.get(header.api_key)) is not None:
            read(self, request)
        elif header.api_key in addresses.LAYOUTS:
            slot = RewriteAddresses(header.correlation_id, header.api_key, header.api_version)
            state.forward(request.frame, slot)
        elif (layout := k01_k78_fetch.layout_of(header.api_key, header.api_version)) is not None:
            state.forward(request.frame, BlankNodes(header.correlation_id, layout))
        else:
            state.forward(request.frame, PassThrough(header.correlation_id))

    def _is_offered(self, version: int) -> bool:
        """True if the broker takes this version of Produce and the proxy offers it. If not, the session must
        close as brokers do, before it judges the request: no broker gets a request that is answered here."""
        oldest, newest = self._state.produce_versions
        return oldest <= version <= newest

    def _produce(self, request: _Request, *, may_wait: bool = True) -> None:
        state, header = self._state, request.header
        principal = state.sasl.principal
        if header.client_id != state.peer.client_id or principal != state.peer.principal:
            state.peer = replace(state.peer, client_id=header.client_id, principal=principal)
        policies, limits, now_ms = state.policies, state.view.limits, request.now_ms
        names = self._naming.names
        known: StreamTimesOf = partial(state.stream_times.known, policies=policies, now_ms=now_ms)
        try:
            most = cost.most_partitions_here(len(request.body))
            asked = k00_produce.read_request(header.api_version, request.body, most, names)
        except k00_produce.ManyPartitionsError:
            begin_unread = partial(
                judge_unread_request_steps, header, request.frame, names, policies, now_ms, known
            )
            self._offload(begin_unread, request, None)
            return
        if may_wait and self._naming.must_wait(request, asked, len(request.frame)):
            return
        search = policies.steps_for((topic.name for topic in asked.topics), now_ms) // cost.STEPS_A_RECORD
        self._records_taken += cost.records_at_most(header, asked) + search
        if search <= cost.OFFLOAD_RECORDS:  # the stream times of now, also if a thread judges the request
            known = always(known(asked))
        begin = partial(judge_request_steps, header, asked, request.frame, policies, now_ms, known)
        verdicts = None
        if self._records_taken <= cost.OFFLOAD_RECORDS and not cost.must_offload(header, asked):
            with suppress(BudgetExceededError):
                verdicts = all_steps(begin(Work(limits, request.budget)))
        if verdicts is not None:
            self.apply_verdicts(verdicts, now_ms)
        else:
            partitions = sum(len(topic.partitions) for topic in asked.topics)
            self._offload(begin, request, partitions)

    def _offload(
        self,
        begin: Callable[[Work], Generator[None, None, Judgement]],
        request: _Request,
        partitions: int | None,
    ) -> None:
        """Have a thread judge a request; `partitions` is None if the request has not been read."""
        state, size = self._state, len(request.frame)
        # The memory of the job counts while its client waits. Once the client has gone, at most two such jobs
        # run. They must not count so much that other connections are closed because of them.
        state.hold_request(Cause.OFFLOADED, cost.kept_while_judged(size, partitions))
        is_light = cost.has_few_partitions(partitions)
        job = Job(partial(answer.with_answer, begin), Work(state.view.limits), size, is_light=is_light)
        state.effects.append(Judge(job))

    def _produce_without_answer(self, verdicts: RequestVerdict) -> None:
        """acks=0: forward the accepted batches. If one was rejected, close the connection, as brokers do."""
        state = self._state
        if verdicts.to_broker is not None:
            state.send_to_broker(verdicts.to_broker)
        state.emit(outcomes.unconfirmed(verdicts))
        if verdicts.rejected:
            state.end(CloseReason.ACKS_ZERO_REJECTED, "a batch sent with acks=0 was rejected")

    def _api_versions(self, request: _Request) -> None:
        state, header = self._state, request.header
        software = k18_api_versions.read_client_software(header.api_version, request.body)
        if software is not None:
            state.peer = replace(state.peer, client_software=software)
            state.forget_fast_path()
        newest = newest_offered(state.view, names_only=state.peer.client_address in state.names_only)
        state.forward(request.frame, NarrowVersions(header.correlation_id, header.api_version, newest))

    def _mask_addresses(self, request: _Request) -> None:
        state, header = self._state, request.header
        api_key, version = header.api_key, header.api_version
        masking = MASKED[api_key]
        if state.view.masks_addresses and masking.answer_may_contain_addresses(version, request.body):
            state.forward(request.frame, MaskAddresses(header.correlation_id, api_key, version))
        else:
            state.forward(request.frame, PassThrough(header.correlation_id))

    def _sasl_handshake(self, request: _Request) -> None:
        state, header = self._state, request.header
        mechanism = k17_k36_sasl.read_handshake_request(request.body)
        if header.api_version == 0 and mechanism in NEVER_ENDS_BY_RAW_TOKENS:
            advice = "use a client that sends SaslAuthenticate (Kafka 1.0)"
            text = f"{mechanism} by SaslHandshake version 0: {advice}"
            state.reject(CloseReason.UNSUPPORTED_REQUEST, text)
            return
        state.sasl.handshake_sent(header.api_version, mechanism)
        self._forward_sasl(request.frame, WatchHandshake(header.correlation_id))

    def _sasl_authenticate(self, request: _Request) -> None:
        state, header = self._state, request.header
        state.sasl.token_sent(k17_k36_sasl.read_authenticate_request(header.api_version, request.body))
        self._forward_sasl(request.frame, WatchToken(header.correlation_id, header.api_version))

    def _raw_token(self, token: bytes) -> None:
        self._state.sasl.token_sent(token[SIZE_BYTES:])
        self._forward_sasl(token, WatchRawToken())

    def _forward_sasl(self, request: bytes, slot: WatchHandshake | WatchToken | WatchRawToken) -> None:
        self._state.forward(request, slot)
        self._state.change(Cause.SASL_SENT)


_BEFORE_SASL: Final[frozenset[int]] = frozenset(
    {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
)
"""The requests that a broker takes from a peer that it has not accepted yet. Any other request is rejected by
its key, before its frame is collected."""

_READ: Final[dict[int, Callable[[Requests, _Request], None]]] = {
    ApiKey.PRODUCE: Requests._produce,
    ApiKey.API_VERSIONS: Requests._api_versions,
    ApiKey.SASL_HANDSHAKE: Requests._sasl_handshake,
    ApiKey.SASL_AUTHENTICATE: Requests._sasl_authenticate,
    **dict.fromkeys(MASKED, Requests._mask_addresses),
}
"""The requests that are read. Answers to others are rewritten (`addresses.LAYOUTS`) or forwarded."""

RELAYED: Final = relayed_but(_READ.keys() | addresses.LAYOUTS.keys())
"""The table of all other requests, for the fast path (`relayed_but`). It is computed from the tables that the
session itself uses, so that the session gets every answer that it must read."""
