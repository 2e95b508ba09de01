"""A Produce request on its way from the client to the broker: waits, is judged, is forwarded or answered.

    take        reads the request, and holds it if a name or limits may still come (`session.naming`)
    _judge      judges it here, or has a thread do it (`Judge`)
    _apply      tells what follows from the verdict at once: outcomes, copies, topics that are wanted
    _send       warns, then forwards the request, answers it, or both

Between `_apply` and `_send` the request may be delayed, because its client is throttled. The session holds at
most one request at a time: it takes no other one meanwhile.
"""

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from tsproxy.model.produce import ProduceRequest
from tsproxy.session.deadlines import Wait
from tsproxy.session.effects import CloseReason, DelayRequest, EmitDead, Judge, TopicWanted
from tsproxy.session.naming import Naming
from tsproxy.session.produce import answer, cost, outcomes
from tsproxy.session.produce.budget import BudgetExceededError
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
from tsproxy.session.request import Request
from tsproxy.session.slots import BookProduce
from tsproxy.session.state import State
from tsproxy.session.states import Cause
from tsproxy.session.warnings import far_ahead, is_far_ahead, rule_failed
from tsproxy.wire import k00_produce
from tsproxy.wire.k00_produce import TopicNames


class ProduceFlow:
    """The Produce requests of one session, one after the other."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._naming = Naming[Request](state)
        self._delayed: RequestVerdict | None = None
        self._records_taken = 0

    def read_begins(self) -> None:
        """The next requests came in one read. If they have many records together, threads judge them."""
        self._records_taken = 0

    def take(self, request: Request) -> None:
        """Judge the request, or hold it until its names and limits come.

        The broker takes its version. Raises DecodeError if it is malformed.
        """
        self._take(request, may_wait=True)

    def names_changed(self, now_ms: int) -> None:
        """The view has changed: judge the waiting request, unless some name may still come."""
        if (request := self._naming.view_changed()) is not None:
            self._take(replace(request, now_ms=now_ms), may_wait=False)

    def names_missing(self, now_ms: int) -> None:
        """The wait for names is over: judge the request with the names that are known."""
        if (request := self._naming.released()) is not None:
            self._take(replace(request, now_ms=now_ms), may_wait=False)

    def judged(self, judgement: Judgement, now_ms: int) -> None:
        """A thread has judged the request."""
        if isinstance(judgement, Malformed):
            self._state.reject(CloseReason.BAD_FRAME, judgement.text)
        else:
            self._apply(judgement, now_ms)

    def delay_over(self, now_ms: int) -> None:
        """The client is not muted any more: answer or forward the delayed request."""
        if (verdict := self._delayed) is not None:
            self._delayed = None
            self._state.release_request(Cause.UNMUTED)
            self._send(verdict, now_ms)

    def forget_held(self) -> None:
        """The session is over: release a held request with its bytes at once."""
        self._delayed = None
        self._naming.forget()

    def _take(self, request: Request, *, may_wait: bool) -> None:
        state, header = self._state, request.header
        principal = state.sasl.principal
        if header.client_id != state.peer.client_id or principal != state.peer.principal:
            state.peer = replace(state.peer, client_id=header.client_id, principal=principal)
        names, most = self._naming.names, cost.most_partitions_here(len(request.body))
        try:
            asked = k00_produce.read_request(header.api_version, request.body, most, names)
        except k00_produce.ManyPartitionsError:
            self._judge_unread(request, names)
            return
        if not (may_wait and self._naming.must_wait(request, asked, len(request.frame))):
            self._judge(request, asked)

    def _judge(self, request: Request, asked: ProduceRequest) -> None:
        header, policies, now_ms = request.header, self._state.policies, request.now_ms
        search = policies.steps_for((topic.name for topic in asked.topics), now_ms) // cost.STEPS_A_RECORD
        self._records_taken += cost.records_at_most(header, asked) + search
        known = self._stream_times_of(request)
        if search <= cost.OFFLOAD_RECORDS:  # the stream times of now, also if a thread judges the request
            known = always(known(asked))
        begin = partial(judge_request_steps, header, asked, request.frame, policies, now_ms, known)
        verdict = None
        if self._records_taken <= cost.OFFLOAD_RECORDS and not cost.must_offload(header, asked):
            with suppress(BudgetExceededError):
                verdict = all_steps(begin(Work(self._state.view.limits, request.budget)))
        if verdict is not None:
            self._apply(verdict, now_ms)
        else:
            self._offload(begin, request, sum(len(topic.partitions) for topic in asked.topics))

    def _judge_unread(self, request: Request, names: TopicNames) -> None:
        """Have a thread read the request as well: it has many partitions for its size."""
        begin = partial(
            judge_unread_request_steps,
            request.header,
            request.frame,
            names,
            self._state.policies,
            request.now_ms,
            self._stream_times_of(request),
        )
        self._offload(begin, request, None)

    def _stream_times_of(self, request: Request) -> StreamTimesOf:
        state = self._state
        return partial(state.stream_times.known, policies=state.policies, now_ms=request.now_ms)

    def _offload(
        self,
        begin: Callable[[Work], Generator[None, None, Judgement]],
        request: Request,
        partitions: int | None,
    ) -> None:
        """Have a thread judge the request; `partitions` is None if the request has not been read."""
        state, size = self._state, len(request.frame)
        # The memory of the job counts while its client waits. Once the client has gone, at most two such jobs
        # run. They must not count so much that other connections are closed because of them.
        state.hold_request(Cause.OFFLOADED, cost.kept_while_judged(size, partitions))
        is_light = cost.has_few_partitions(partitions)
        job = Job(partial(answer.with_answer, begin), Work(state.view.limits), size, is_light=is_light)
        state.effects.append(Judge(job))

    def _apply(self, verdict: RequestVerdict, now_ms: int) -> None:
        state = self._state
        if state.view.policy.asks_broker:
            state.effects += [TopicWanted(topic) for topic in sorted(verdict.unknown_topics)]
        self._naming.judged(verdict)
        if verdict.rejected:
            state.book_rejections(verdict)
        if state.fast_path is not None and verdict.bad_topics:
            state.fast_path.learn_bad(verdict, verdict.bad_topics)
        state.effects += map(EmitDead, verdict.dead)
        if verdict.dead or verdict.booked:  # a slot would keep them until the broker answers
            verdict = replace(verdict, dead=(), booked=None)
        mute_ms = self._mute_ms(verdict, now_ms)
        if mute_ms:
            self._delay(verdict, mute_ms)
        else:
            self._send(verdict, now_ms)

    def _mute_ms(self, verdict: RequestVerdict, now_ms: int) -> int:
        """How long the client should still be muted for earlier rejections, if this request has another."""
        state, most_ms = self._state, self._state.view.limits.throttle_ms
        if most_ms is None or not verdict.rejected:
            return 0
        return state.throttle.mute_ms(verdict.peer, now_ms, most_ms)

    def _delay(self, verdict: RequestVerdict, mute_ms: int) -> None:
        state = self._state
        held = BookProduce.holding(verdict.header.correlation_id, verdict).held_bytes
        state.hold_request(Cause.MUTED, held + len(verdict.to_broker or b"") + len(verdict.answer))
        self._delayed = verdict
        state.deadlines.start(Wait.DELAY, mute_ms)
        state.effects.append(DelayRequest(mute_ms))

    def _send(self, verdict: RequestVerdict, now_ms: int) -> None:
        state = self._state
        if verdict.rejected:
            verdict = self._throttled(verdict, now_ms)
        self._warn(verdict)
        state.stream_times.forwarded(verdict)
        if verdict.acks == 0:
            self._send_without_answer(verdict)
        elif verdict.to_broker is None:
            state.answer_locally(answer.with_throttle(verdict) if verdict.answer else answer.local(verdict))
            if state.fast_path is not None:
                state.fast_path.learn_rejection(verdict, state.policies)
        else:
            # The transport has the frame now. A slot that kept it would double its memory until the answer.
            slot = BookProduce.holding(verdict.header.correlation_id, replace(verdict, to_broker=None))
            state.forward(verdict.to_broker, slot)
            if state.fast_path is not None:
                state.fast_path.learn(verdict, state.policies)
        self._naming.end_if_denied(verdict)

    def _throttled(self, verdict: RequestVerdict, now_ms: int) -> RequestVerdict:
        """The verdict with the throttle time that the rejected batches cost the client."""
        state, most_ms = self._state, self._state.view.limits.throttle_ms
        if most_ms is None:
            return verdict
        size_bytes = sum(each.batch.batch_bytes for each in verdict.rejected)
        mute_ms = state.throttle.rejected(verdict.peer, len(verdict.rejected), size_bytes, now_ms, most_ms)
        if not mute_ms:
            return verdict
        state.mute_client(mute_ms)
        return replace(verdict, throttle_ms=mute_ms)

    def _warn(self, verdict: RequestVerdict) -> None:
        self._state.effects += [
            far_ahead(verdict, each) for each in verdict.forwarded if is_far_ahead(each, verdict.now_ms)
        ]
        self._state.effects += [
            rule_failed(verdict, each, failed)
            for each in (*verdict.forwarded, *verdict.rejected)
            for failed in each.failed
        ]

    def _send_without_answer(self, verdict: RequestVerdict) -> None:
        """acks=0: forward the accepted batches. If one was rejected, close the connection, as brokers do."""
        state = self._state
        if verdict.to_broker is not None:
            state.send_to_broker(verdict.to_broker)
        state.emit(outcomes.unconfirmed(verdict))
        if verdict.rejected:
            state.end(CloseReason.ACKS_ZERO_REJECTED, "a batch sent with acks=0 was rejected")
