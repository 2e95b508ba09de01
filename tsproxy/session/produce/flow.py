"""A Produce request on its way from the client to the broker: waits, is judged, is forwarded or answered.

    take        reads the request, and holds it if a name or limits may still come (`session.naming`)
    _judge      judges it here, or has a thread do it (`Judge`)
    _judged     holds it if old limits would reject it, and has it judged again
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
from tsproxy.model.view import Unchanged
from tsproxy.session import outcomes, produce_answer
from tsproxy.session.budget import BudgetExceededError, Request
from tsproxy.session.deadlines import Wait
from tsproxy.session.effects import CloseReason, DelayRequest, EmitDead, Judge, TopicWanted
from tsproxy.session.job import Job, Work, all_steps
from tsproxy.session.naming import Naming
from tsproxy.session.policies import Policies
from tsproxy.session.produce import cost
from tsproxy.session.produce.judge_request import (
    judge_request_steps,
    judge_unread_request_steps,
)
from tsproxy.session.slots import BookProduce
from tsproxy.session.state import State
from tsproxy.session.states import Cause
from tsproxy.session.verdict import Judged, Judgement, Malformed, RequestVerdict
from tsproxy.session.warnings import far_ahead, is_far_ahead, rule_failed
from tsproxy.wire import k00_produce
from tsproxy.wire.k00_produce import TopicNames


class ProduceFlow:
    """The Produce requests of one session, one after the other."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._naming = Naming(state)
        self._delayed: Judgement | None = None
        self._judging: Request | None = None
        """The request that a thread judges."""
        self._records_taken = 0
        self.last_rule: str | None = None
        """The rule of the first batch that was judged last."""

    def read_begins(self) -> None:
        """The next requests came in one read. If they have many records together, threads judge them."""
        self._records_taken = 0

    def take(self, request: Request) -> None:
        """Judge the request, or hold it until its names and limits come.

        The broker takes its version. Raises DecodeError if it is malformed.
        """
        self._take(request)

    def names_changed(self, now_ms: int) -> None:
        """A question is answered: judge the waiting request, unless some name or limits may still come."""
        self._take_held(self._naming.looked(now_ms), now_ms)

    def names_missing(self, now_ms: int) -> None:
        """The wait for names is over: judge the request with the names that are known."""
        self._take_held(self._naming.released(), now_ms)

    def judged(self, judged: Judged, now_ms: int) -> None:
        """A thread has judged the request."""
        request, self._judging = self._judging, None
        if isinstance(judged, Malformed):
            self._state.reject(CloseReason.BAD_FRAME, judged.text)
        elif request is not None:
            self._judged(request, judged, now_ms)

    def delay_over(self, now_ms: int) -> None:
        """The client is not muted any more: answer or forward the delayed request."""
        if (judgement := self._delayed) is not None:
            self._delayed = None
            self._state.release_request(Cause.UNMUTED)
            self._send(judgement, now_ms)

    def forget_held(self) -> None:
        """The session is over: release a held request with its bytes at once."""
        self._delayed = self._judging = None
        self._naming.forget()

    def _take_held(self, request: Request | None, now_ms: int) -> None:
        if request is not None:
            old = None if request.old_topics is None else self._old_among(request.old_topics, now_ms, now_ms)
            self._take(replace(request, begun_ms=now_ms, old_topics=old))

    def _old_among(self, topics: frozenset[str], now_ms: int, since_ms: int) -> frozenset[str]:
        is_fresh = self._state.fresh_limits.is_fresh
        return frozenset(topic for topic in topics if not is_fresh(topic, now_ms, since_ms))

    def _take(self, request: Request) -> None:
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
        if not self._naming.must_wait(request, asked):
            self._judge(request, asked)

    def _judge(self, request: Request, asked: ProduceRequest) -> None:
        header, policies, now_ms = request.header, self._policies_for(request), request.now_ms
        steps = policies.steps_for((topic.name for topic in asked.topics), now_ms)
        is_short = steps <= cost.MAX_STEPS_HERE
        self._records_taken += cost.records_at_most(header, asked) + steps // cost.STEPS_A_RECORD
        begin = partial(judge_request_steps, header, asked, request.frame, policies, now_ms)
        judgement = None
        if is_short and self._records_taken <= cost.OFFLOAD_RECORDS and not cost.must_offload(header, asked):
            with suppress(BudgetExceededError):
                judgement = all_steps(begin(Work(self._state.view.limits, request.budget)))
        if judgement is not None:
            self._judged(request, judgement, request.begun_ms)
        else:
            self._offload(begin, request, sum(len(topic.partitions) for topic in asked.topics))

    def _judge_unread(self, request: Request, names: TopicNames) -> None:
        """Have a thread read the request as well: it has many partitions for its size."""
        begin = partial(
            judge_unread_request_steps,
            request.header,
            request.frame,
            names,
            self._policies_for(request),
            request.now_ms,
        )
        self._offload(begin, request, None)

    def _policies_for(self, request: Request) -> Policies:
        state = self._state
        return Policies(state.peer, state.view, request.old_topics) if request.old_topics else state.policies

    def _offload(
        self,
        begin: Callable[[Work], Generator[None, None, Judged]],
        request: Request,
        partitions: int | None,
    ) -> None:
        """Have a thread judge the request; `partitions` is None if the request has not been read."""
        state, size = self._state, len(request.frame)
        work = Work(state.view.limits)
        # The memory of the job counts while its client waits. Once the client has gone, at most two such jobs
        # run. They must not count so much that other connections are closed because of them.
        state.hold_request(Cause.OFFLOADED, cost.kept_while_judged(size, partitions), work)
        self._judging = request
        is_light = cost.has_few_partitions(partitions)
        state.effects.append(Judge(Job(begin, work, size, is_light=is_light)))

    def _judged(self, request: Request, judgement: Judgement, now_ms: int) -> None:
        """Apply the judgement. If it needs fresh limits and they are old, wait for them once, and judge the
        request again: without the limits that are still old."""
        topics, view = judgement.needs_fresh, self._state.view
        if not (topics and judgement.view.reads_limits):
            self._apply(judgement, now_ms)
            return
        old = self._old_among(topics, now_ms, request.begun_ms)
        if not old and Unchanged(judgement.view, view).has_limits_of(topics):
            self._apply(judgement, now_ms)
            return
        known_old = request.old_topics
        request = replace(request, begun_ms=now_ms, old_topics=(known_old or frozenset()) | old)
        if known_old is None and self._naming.must_wait_for_fresh(request, old, now_ms):
            return
        self._take(request)

    def _apply(self, judgement: Judgement, now_ms: int) -> None:
        state, verdict = self._state, judgement.verdict
        if partitions := verdict.forwarded or verdict.rejected:
            self.last_rule = partitions[0].policy.rule
        if state.view.policy.asks_broker:
            state.effects += [TopicWanted(topic) for topic in sorted(verdict.unknown_topics)]
        self._naming.judged(verdict)
        if verdict.rejected:
            state.owes_totals = (
                True  # an example counts all batches that were rejected since the last example
            )
            state.effects += judgement.outcomes
        if state.fast_path is not None and judgement.bad_topics:
            state.fast_path.learn_bad(verdict, judgement.bad_topics)
        state.effects += map(EmitDead, judgement.dead)
        if mute_ms := self._mute_ms(verdict, now_ms):
            self._delay(judgement, mute_ms)
        else:
            self._send(judgement, now_ms)

    def _mute_ms(self, verdict: RequestVerdict, now_ms: int) -> int:
        """How long the client should still be muted for earlier rejections, if this request has another."""
        state, most_ms = self._state, self._state.view.limits.throttle_ms
        if most_ms is None or not verdict.rejected:
            return 0
        return state.throttle.mute_ms(verdict.peer, now_ms, most_ms)

    def _delay(self, judgement: Judgement, mute_ms: int) -> None:
        state = self._state
        held = BookProduce.holding(judgement.verdict, judgement.rejected_topics).held_bytes
        state.hold_request(Cause.MUTED, held + len(judgement.to_broker or b"") + len(judgement.answer))
        self._delayed = replace(judgement, outcomes=(), dead=())  # these were told, and are not held
        state.deadlines.start(Wait.DELAY, mute_ms)
        state.effects.append(DelayRequest(mute_ms))

    def _send(self, judgement: Judgement, now_ms: int) -> None:
        state, verdict = self._state, judgement.verdict
        throttle_ms = self._throttle_ms(verdict, now_ms)
        if throttle_ms:
            state.mute_client(throttle_ms)
        self._warn(verdict)
        if verdict.acks == 0:
            self._send_without_answer(judgement)
        elif judgement.to_broker is None:
            version = verdict.header.api_version
            state.answer_locally(produce_answer.with_throttle(judgement.answer, version, throttle_ms))
            if state.fast_path is not None:
                state.fast_path.learn_rejection(verdict, state.policies, state.fresh_limits, now_ms)
        else:
            slot = BookProduce.holding(verdict, judgement.rejected_topics, throttle_ms)
            state.forward(judgement.to_broker, slot)
            if state.fast_path is not None:
                state.fast_path.learn(verdict, state.policies)
        self._naming.end_if_denied(verdict)

    def _throttle_ms(self, verdict: RequestVerdict, now_ms: int) -> int:
        """How long the rejected batches cost the client, in milliseconds: their cost is added to its debt."""
        state, most_ms = self._state, self._state.view.limits.throttle_ms
        if most_ms is None or not verdict.rejected:
            return 0
        size_bytes = sum(partition.batch.batch_bytes for partition in verdict.rejected)
        return state.throttle.rejected(verdict.peer, len(verdict.rejected), size_bytes, now_ms, most_ms)

    def _warn(self, verdict: RequestVerdict) -> None:
        self._state.effects += [
            far_ahead(verdict, partition)
            for partition in verdict.forwarded
            if is_far_ahead(partition, verdict.now_ms)
        ]
        self._state.effects += [
            rule_failed(verdict, partition, failed)
            for partition in (*verdict.forwarded, *verdict.rejected)
            for failed in partition.failed
        ]

    def _send_without_answer(self, judgement: Judgement) -> None:
        """acks=0: forward the accepted batches. If one was rejected, close the connection, as brokers do."""
        state, verdict = self._state, judgement.verdict
        if judgement.to_broker is not None:
            state.send_to_broker(judgement.to_broker)
        state.emit(outcomes.unconfirmed(verdict))
        if verdict.rejected:
            state.end(CloseReason.ACKS_ZERO_REJECTED, "a batch sent with acks=0 was rejected")
