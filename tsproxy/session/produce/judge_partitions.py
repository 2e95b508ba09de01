"""Judges each partition of one ProduceRequest: `judge_steps`.

`policy` judges each batch. A batch that its rule may repair or stamp is rewritten, and judged again.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Final

from tsproxy.model.kafka import NO_TIMESTAMP, Codec, is_unnamed
from tsproxy.model.outcome import RejectedBatch
from tsproxy.model.policy import NO_TOPIC_POLICY, REPAIRING, Choice
from tsproxy.model.produce import ProduceRequest
from tsproxy.model.records import BatchFacts, Fault
from tsproxy.model.verdict import Reject, Verdict
from tsproxy.model.view import View
from tsproxy.policy.broker_reasons import Header
from tsproxy.policy.checks.faults import reject_fault
from tsproxy.policy.checks.request import a_bit_is_set
from tsproxy.policy.checks.whole_request import reject_whole_request
from tsproxy.policy.context import BatchContext, RequestContext
from tsproxy.policy.judge import ACCEPT, Decision, decide
from tsproxy.policy.repair import is_wanted, may_need_stamps
from tsproxy.session.job import TooDearError, Work, all_steps
from tsproxy.session.policies import Policies, of_anybody
from tsproxy.session.produce import cost
from tsproxy.session.produce.context import PartitionReader
from tsproxy.session.produce.rewrite import rewritten
from tsproxy.session.topic_names import UNNAMED
from tsproxy.session.verdict import PartitionVerdict, Rewritten
from tsproxy.wire import record_set
from tsproxy.wire.headers import RequestHeader

_CULPRIT_BYTES: Final = 24
"""Memory of a culprit that a rejection lists. Its text is made with the answer."""


def judge_all(
    header: RequestHeader,
    request: ProduceRequest,
    view: View,
    now_ms: int,
    policies: Policies | None = None,
) -> list[PartitionVerdict]:
    """All steps of `judge_steps` at once. Without `policies`, those of a client that no rule names are
    used."""
    policies, work = policies or of_anybody(view), Work(view.limits)
    return all_steps(judge_steps(header, request, policies, now_ms, work))


@dataclass(frozen=True, slots=True)
class _Partition:
    reader: PartitionReader
    records: memoryview | None
    context: BatchContext
    topic_id: bytes | None
    is_unnamed: bool
    """True if only the topic's id is known, where topics have names: no rule can be applied."""


def judge_steps(
    header: RequestHeader,
    request: ProduceRequest,
    policies: Policies,
    now_ms: int,
    work: Work,
) -> Generator[None, None, list[PartitionVerdict]]:
    """The verdict on each partition, in the request's order. Each step does a part of the work on one
    partition. `policies` are the client's own. Raises BudgetExceededError and StoppedError as `work` does.
    """
    limits = policies.view.limits
    asked = RequestContext(
        api_version=header.api_version,
        acks=request.acks,
        has_transactional_id=request.transactional_id is not None,
        now_ms=now_ms,
        peer=policies.peer,
    )
    partitions: list[_Partition] = []
    for topic, data in ((parent, data) for parent in request.topics for data in parent.partitions):
        is_unknown = is_unnamed(topic.name, topic.topic_id)
        reader = PartitionReader(
            request=asked,
            topic=topic.name,
            partition=data.index,
            policy=NO_TOPIC_POLICY if is_unknown else policies.of(topic.name, now_ms),
            limits=limits,
            work=work,
        )
        try:
            context = reader.read(data.records)
        except TooDearError:
            context = reader.unread(data.records)
        partitions.append(_Partition(reader, data.records, context, topic.topic_id, is_unknown))
        work.step()
        yield
    decisions: list[_Decided] = []
    listed = limits.culprits_listed  # bounds the culprits in one answer, over all its partitions
    for partition in partitions:
        try:
            decided = _decide_by_fresh_limits(partition, listed, policies)
        except TooDearError:
            decided = _decide_unread(partition)
        if isinstance(decided.decision.verdict, Reject):
            listed -= len(decided.decision.verdict.violations)
            work.kept_bytes += _CULPRIT_BYTES * len(decided.decision.verdict.violations)
        if decided.rewritten is not None:
            work.kept_bytes += len(decided.rewritten.records)
        decisions.append(decided)
        work.step()
        yield
    whole = None
    if any(isinstance(decided.decision.verdict, Reject) for decided in decisions):
        contexts = [partition.context for partition in partitions]
        whole = reject_whole_request(contexts, policies.view.produce_versions)
    verdicts: list[PartitionVerdict] = []
    for decided in decisions:
        try:
            verdict = _verdict_on(decided, whole)
        except TooDearError:
            verdict = _verdict_on(_decide_unread(decided.partition), whole)
        verdicts.append(verdict)
        work.step()
        yield
    return verdicts


@dataclass(frozen=True, slots=True)
class _Decided:
    """The decision on a batch, and the rewritten batch if its rule rewrites it."""

    partition: _Partition
    decision: Decision
    rewritten: Rewritten | None = None
    needs_fresh_limits: bool = False

    @property
    def repaired(self) -> bytes | None:
        """The batch as it is forwarded, if its timestamps are repaired."""
        return self.rewritten.records if self.rewritten and self.rewritten.repair else None


def _decide_unread(partition: _Partition) -> _Decided:
    """The decision once the request is too dear: as for a batch beyond any other limit of the proxy."""
    partition = replace(partition, context=partition.reader.unread(partition.records))
    return _as_it_came(partition, decide(partition.context))


def _decide_by_fresh_limits(partition: _Partition, listed: int, policies: Policies) -> _Decided:
    """`_decide`, without the topic's own limits if these are old, and would reject or repair the batch.

    Limits of the file and presets hold without them. But a preset may be about limits of the topic, and
    brokers may replace the timestamps by now, so that no limit holds. So these need fresh limits as well,
    unless nobody tells any."""
    decided, context = _decide(partition, listed), partition.context
    policy, is_rejected = context.policy, isinstance(decided.decision.verdict, Reject)
    is_repaired = policy.on_violation in REPAIRING and decided.repaired is not None
    if not (is_rejected or is_repaired) or not policies.are_told(policy):
        return decided
    is_set = a_bit_is_set(context) and not context.is_extended
    if is_set or not context.record_set.batches:  # whatever the limits
        return decided
    if context.topic not in policies.old_topics:
        is_awaited = policy.is_known or context.topic not in policies.view.unreadable_topics
        return replace(decided, needs_fresh_limits=is_awaited)
    if not policy.is_known or policy.limits == policy.file_limits:
        return decided
    anyway = replace(policy, limits=policy.file_limits, is_known=False)
    reader, context = replace(partition.reader, policy=anyway), partition.reader.by(anyway, context)
    by_file = _decide(replace(partition, reader=reader, context=context), listed)
    is_same = isinstance(by_file.decision.verdict, Reject) is is_rejected
    return decided if is_same and by_file.repaired == decided.repaired else by_file


def _decide(partition: _Partition, listed: int) -> _Decided:
    """The decision. A rewritten batch is judged like any other batch. A rejection lists at most `listed`
    culprits."""
    if partition.is_unnamed:
        return _Decided(partition, Decision(UNNAMED))
    context, reader = partition.context.listing(listed), partition.reader
    partition, decision = replace(partition, context=context), decide(context)
    if not (reader.may_rewrite(context.record_set) and is_wanted(context, decision.verdict)):
        return _as_it_came(partition, decision)
    if len(context.batch.data) >= cost.OFFLOAD_BYTES:
        reader.work.leave_loop()  # it is copied some times: a millisecond for each MB

    def read_again(records: memoryview) -> BatchContext:
        return reader.read_own(records).listing(listed)

    result = rewritten(context, decision.verdict, reader.limits, read_again, reader.work.charge_again)
    if isinstance(result, Reject):
        return _Decided(partition, Decision(result))
    if result is not None:
        return _Decided(partition, replace(decision, verdict=ACCEPT), result)
    return _as_it_came(partition, decision)


def _as_it_came(partition: _Partition, decision: Decision) -> _Decided:
    """The decision on a batch that was not rewritten. It is rejected if its rule has to rewrite it."""
    context = partition.context
    if isinstance(decision.verdict, Reject):
        return _Decided(partition, decision)
    if context.is_extended:  # never forwarded with bit 6
        fault = (context.facts and context.facts.fault) or Fault.MALFORMED_RECORD
        return _Decided(partition, Decision(reject_fault(fault)))
    if may_need_stamps(context):
        rejecting = replace(context.policy, no_timestamp=Choice.REJECT)
        decision = decide(partition.reader.by(rejecting, context))
    return _Decided(partition, decision)


def _verdict_on(decided: _Decided, whole: Reject | None) -> PartitionVerdict:
    partition, decision, context = decided.partition, decided.decision, decided.partition.context
    facts = _batch_facts(partition.records, context)
    return PartitionVerdict(
        topic=context.topic,
        partition=context.partition,
        batch=facts,
        limits=context.limits,
        verdict=whole or decision.verdict,
        header=Header.of(record_set.read_header(bytes((partition.records or b"")[: record_set.HEADER_SIZE]))),
        has_header_mismatch=_has_header_mismatch(context),
        policy=context.policy,
        would=decision.would,
        would_rule=decision.would_rule,
        rewritten=decided.rewritten,
        dead=_dead(partition, decision.verdict, facts),
        failed=tuple(context.failures),
        topic_id=partition.topic_id,
        needs_fresh_limits=decided.needs_fresh_limits,
    )


def _dead(partition: _Partition, verdict: Verdict, facts: BatchFacts) -> RejectedBatch | None:
    """The batch, if it is rejected and its rule copies rejected batches. `verdict` is the verdict on this
    batch alone: a batch that is rejected because of another batch has no culprits."""
    context = partition.context
    if not context.policy.dead_letters or not isinstance(verdict, Reject):
        return None
    return RejectedBatch(
        now_ms=context.now_ms,
        peer=context.request.peer,
        topic=context.topic,
        partition=context.partition,
        rule=context.policy.rule,
        rejection=verdict,
        bad_records=facts.records if verdict.bad_records is None else verdict.bad_records,
        records=bytes(partition.records or b"") if verdict.violations else b"",
    )


def _has_header_mismatch(context: BatchContext) -> bool:
    """True if the header's maxTimestamp is not the maximum of the records. A broker's search for the maximum
    begins at NO_TIMESTAMP (`LogValidator.java`)."""
    facts = context.facts
    if facts is None or facts.fault is not None or context.batch.magic < 2 or context.is_extended:
        return False
    highest_ms = NO_TIMESTAMP if facts.highest_ms is None else max(facts.highest_ms, NO_TIMESTAMP)
    return context.batch.max_timestamp != highest_ms


def _batch_facts(records: memoryview | None, context: BatchContext) -> BatchFacts:
    """The facts of a partition as if it had one batch. Size, number of records and times are those of all its
    batches. Everything else is the first batch's."""
    size = 0 if records is None else len(records)
    if context.facts is None:
        return BatchFacts(2, Codec.NONE.name.lower(), size, 0, -1, -1, None, None)
    batch = context.batch
    facts = [context.facts, *context.others.facts()]
    return BatchFacts(
        magic=batch.magic,
        codec=batch.codec_name,
        batch_bytes=size,
        records=sum(one.records for one in facts),
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        min_timestamp_ms=min((one.lowest_ms for one in facts if one.lowest_ms is not None), default=None),
        max_timestamp_ms=max((one.highest_ms for one in facts if one.highest_ms is not None), default=None),
    )
