"""Judges one ProduceRequest: `judge_request`.

If every partition is accepted, the frame is forwarded as it came, byte for byte. If no partition is accepted,
nothing is forwarded. If only some are accepted, or a batch is rewritten, the request is rewritten with the
same header.
"""

from collections.abc import Generator, Mapping
from dataclasses import replace

from tsproxy.model.produce import ProduceRequest, TopicKey, TopicProduceData
from tsproxy.model.verdict import Reject
from tsproxy.session import outcomes, produce_answer
from tsproxy.session.job import Work, all_steps
from tsproxy.session.policies import Policies
from tsproxy.session.produce.cost import A_PARTITION
from tsproxy.session.produce.judge_partitions import judge_steps
from tsproxy.session.verdict import Emit, Judged, Judgement, Malformed, PartitionVerdict, RequestVerdict
from tsproxy.wire import k00_produce
from tsproxy.wire.frames import SIZE_BYTES
from tsproxy.wire.headers import RequestHeader, frame
from tsproxy.wire.k00_produce import TopicNames
from tsproxy.wire.primitives import DecodeError


def judge_request(
    header: RequestHeader,
    request: ProduceRequest,
    request_frame: bytes,
    policies: Policies,
    now_ms: int,
    work: Work | None = None,
) -> Judgement:
    """All steps of `judge_request_steps` at once."""
    work = work or Work(policies.view.limits)
    return all_steps(judge_request_steps(header, request, request_frame, policies, now_ms, work))


def judge_request_steps(
    header: RequestHeader,
    request: ProduceRequest,
    request_frame: bytes,
    policies: Policies,
    now_ms: int,
    work: Work,
) -> Generator[None, None, Judgement]:
    """Judge every partition, step by step.

    Raises BudgetExceededError and StoppedError as `work` does.
    """
    partitions = yield from judge_steps(header, request, policies, now_ms, work)
    rejected = {(p.topic_key, p.partition) for p in partitions if isinstance(p.verdict, Reject)}
    new = {(p.topic_key, p.partition): p.rewritten.records for p in partitions if p.rewritten}
    if not rejected and not new:
        to_broker: bytes | None = request_frame
    elif all(isinstance(p.verdict, Reject) for p in partitions):
        to_broker = None
    else:
        body = k00_produce.write_request(header.api_version, _rewritten(request, rejected, new))
        to_broker = frame(request_frame[SIZE_BYTES : SIZE_BYTES + header.body_start] + body)
    verdict = RequestVerdict(
        header=header,
        peer=policies.peer,
        now_ms=now_ms,
        acks=request.acks,
        transactional_id=request.transactional_id,
        forwarded=tuple(_kept(p) for p in partitions if not isinstance(p.verdict, Reject)),
        rejected=tuple(_kept(p) for p in partitions if isinstance(p.verdict, Reject)),
    )
    is_answered_here = to_broker is None
    return Judgement(
        verdict=verdict,
        to_broker=to_broker,
        answer=produce_answer.local(verdict) if request.acks != 0 and is_answered_here else b"",
        rejected_topics=produce_answer.rejected_topics(verdict)
        if request.acks != 0 and not is_answered_here
        else (),
        outcomes=tuple(map(Emit, outcomes.of_rejections(verdict))),
        dead=tuple(p.dead for p in partitions if p.dead),
        bad_topics=frozenset(p.topic for p in partitions if p.is_bad),
        needs_fresh=frozenset(p.topic for p in partitions if p.needs_fresh_limits),
        view=policies.view,
    )


def judge_unread_request_steps(
    header: RequestHeader,
    request_frame: bytes,
    names: TopicNames,
    policies: Policies,
    now_ms: int,
    work: Work,
) -> Generator[None, None, Judged]:
    """The same as `judge_request_steps`, for a request that is not read yet, since it has many partitions for
    its size. `names` are those of topic ids."""
    body = memoryview(request_frame)[SIZE_BYTES + header.body_start :]
    try:
        request = k00_produce.read_request(header.api_version, body, names=names)
    except DecodeError as error:
        return Malformed(str(error))
    work.step(A_PARTITION)
    yield
    steps = judge_request_steps(header, request, request_frame, policies, now_ms, work)
    return (yield from steps)


def _rewritten(
    request: ProduceRequest, rejected: set[tuple[TopicKey, int]], new: Mapping[tuple[TopicKey, int], bytes]
) -> ProduceRequest:
    """The request without the rejected partitions, and with the rewritten batches."""
    topics = []
    for topic in request.topics:
        kept = tuple(
            replace(p, records=memoryview(new[topic.key, p.index])) if (topic.key, p.index) in new else p
            for p in topic.partitions
            if (topic.key, p.index) not in rejected
        )
        if kept or not topic.partitions:
            topics.append(TopicProduceData(topic.name, kept, topic.tags, topic.topic_id))
    return replace(request, topics=tuple(topics))


def _kept(partition: PartitionVerdict) -> PartitionVerdict:
    """The verdict as it is kept until the broker answers: without the bytes of a batch."""
    if partition.rewritten is None and partition.dead is None:
        return partition
    rewritten = partition.rewritten and replace(partition.rewritten, records=b"")
    return replace(partition, rewritten=rewritten, dead=None)
