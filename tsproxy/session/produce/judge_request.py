"""The verdict on one ProduceRequest: `judge_request`.

If every partition is accepted, the frame is forwarded as it came, byte for byte. If no partition is accepted,
nothing is forwarded. If only some are accepted, or a batch is rewritten, the request is rewritten with the
same header.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Self

from tsproxy.fastpath import ForwardedProduce
from tsproxy.model.dead_letter import RejectedBatch
from tsproxy.model.kafka import ApiKey
from tsproxy.model.outcome import Peer
from tsproxy.model.produce import PartitionProduceResponse, ProduceRequest, TopicKey
from tsproxy.model.verdict import Accept, Reject
from tsproxy.session.policies import Policies
from tsproxy.session.produce.cost import A_PARTITION
from tsproxy.session.produce.emit import Emit
from tsproxy.session.produce.job import Work, all_steps
from tsproxy.session.produce.verdicts import NONE_KNOWN, PartitionVerdict, StreamTimesKnown, judge_steps
from tsproxy.wire import k00_produce
from tsproxy.wire.frames import SIZE_BYTES
from tsproxy.wire.headers import RequestHeader, frame
from tsproxy.wire.k00_produce import TOPIC_IDS_FROM, TopicNames
from tsproxy.wire.primitives import DecodeError


@dataclass(frozen=True, slots=True)
class RequestVerdict:
    """The verdict on one request. `to_broker` is the frame to forward, or None."""

    header: RequestHeader
    peer: Peer
    now_ms: int
    acks: int
    transactional_id: str | None
    to_broker: bytes | None
    forwarded: tuple[PartitionVerdict, ...]
    rejected: tuple[PartitionVerdict, ...]
    throttle_ms: int = 0
    """How long the client is throttled because of this request."""
    dead: tuple[RejectedBatch, ...] = ()
    """The rejected batches whose rules copy rejected batches."""
    answer: bytes = b""
    """The whole answer without a throttle time, if a thread made it."""
    booked: tuple[Emit, ...] | None = None
    """The outcomes of rejected batches, if a thread made them. They are effects already: to make 20,000 of
    these takes the event loop 4 ms."""
    rejections: tuple[PartitionProduceResponse, ...] | None = None
    """The answers of the rejected partitions, to be merged with the broker's, if a thread made them."""
    bad_topics: frozenset[str] = frozenset()
    """The topics with a bad batch, found where the request is judged: a thread, if it has many partitions."""

    @property
    def unknown_topics(self) -> frozenset[str]:
        """The topics whose limits were unknown when they were judged."""
        judged = (*self.forwarded, *self.rejected)
        return frozenset(j.topic for j in judged if not (j.policy.is_known or j.is_unnamed))

    @property
    def unnamed_topics(self) -> tuple[bytes, ...]:
        """The ids of topics whose names were unknown when they were judged, in the request's order."""
        if self.header.api_version < TOPIC_IDS_FROM:
            return ()
        return tuple(dict.fromkeys(j.topic_id for j in self.rejected if j.topic_id and j.is_unnamed))

    @classmethod
    def of_forwarded(cls, forwarded: ForwardedProduce) -> Self:
        """The verdict on a request that the fast path has forwarded."""
        return cls(
            header=RequestHeader(
                ApiKey.PRODUCE,
                forwarded.api_version,
                forwarded.correlation_id,
                forwarded.peer.client_id,
                body_start=0,
            ),
            peer=forwarded.peer,
            now_ms=forwarded.now_ms,
            acks=forwarded.acks,
            transactional_id=forwarded.transactional_id,
            to_broker=None,
            forwarded=tuple(
                PartitionVerdict(
                    topic=each.topic,
                    partition=each.partition,
                    batch=each.batch,
                    limits=each.limits,
                    verdict=Accept(),
                    topic_id=each.topic_id,
                )
                for each in forwarded.batches
            ),
            rejected=(),
        )


@dataclass(frozen=True, slots=True)
class Malformed:
    """The bytes that a thread read are not a request; `text` says why."""

    text: str


StreamTimesOf = Callable[[ProduceRequest], StreamTimesKnown]
"""Returns the known stream times of those partitions of a request whose rules need them."""


def always(known: StreamTimesKnown) -> StreamTimesOf:
    """Returns these stream times for any request."""
    return lambda _: known


Judgement = RequestVerdict | Malformed
"""The result for a request that is judged in a thread."""


def judge_request(
    header: RequestHeader,
    request: ProduceRequest,
    request_frame: bytes,
    policies: Policies,
    now_ms: int,
    stream_times: StreamTimesKnown = NONE_KNOWN,
    work: Work | None = None,
) -> RequestVerdict:
    """All steps of `judge_request_steps` at once."""
    work = work or Work(policies.view.limits)
    return all_steps(
        judge_request_steps(header, request, request_frame, policies, now_ms, lambda _: stream_times, work)
    )


def judge_request_steps(
    header: RequestHeader,
    request: ProduceRequest,
    request_frame: bytes,
    policies: Policies,
    now_ms: int,
    stream_times: StreamTimesOf,
    work: Work,
) -> Generator[None, None, RequestVerdict]:
    """Judge every partition, step by step. `stream_times` returns the known ones, of partitions whose rules
    need them. To find the rules for many topics may take long, so nothing asks for them earlier.

    Raises BudgetExceededError and StoppedError as `work` does.
    """
    known = stream_times(request)
    verdicts = yield from judge_steps(header, request, policies, now_ms, work, known)
    rejected = {(each.topic_key, each.partition) for each in verdicts if isinstance(each.verdict, Reject)}
    new = {(each.topic_key, each.partition): each.rewritten.records for each in verdicts if each.rewritten}
    if not rejected and not new:
        to_broker: bytes | None = request_frame
    elif all((each.topic_key, each.partition) in rejected for each in verdicts):
        to_broker = None
    else:
        body = k00_produce.write_request(header.api_version, _rewritten(request, rejected, new))
        to_broker = frame(request_frame[SIZE_BYTES : SIZE_BYTES + header.body_start] + body)
    return RequestVerdict(
        header=header,
        peer=policies.peer,
        now_ms=now_ms,
        acks=request.acks,
        transactional_id=request.transactional_id,
        to_broker=to_broker,
        forwarded=tuple(_kept(each) for each in verdicts if not isinstance(each.verdict, Reject)),
        rejected=tuple(_kept(each) for each in verdicts if isinstance(each.verdict, Reject)),
        dead=tuple(each.dead for each in verdicts if each.dead),
        bad_topics=frozenset(each.topic for each in verdicts if each.is_bad),
    )


def judge_unread_request_steps(
    header: RequestHeader,
    request_frame: bytes,
    names: TopicNames,
    policies: Policies,
    now_ms: int,
    stream_times: StreamTimesOf,
    work: Work,
) -> Generator[None, None, Judgement]:
    """The same as `judge_request_steps`, for a request that is not read yet, since it has many partitions for
    its size. `names` are those of topic ids."""
    body = memoryview(request_frame)[SIZE_BYTES + header.body_start :]
    try:
        request = k00_produce.read_request(header.api_version, body, names=names)
    except DecodeError as error:
        return Malformed(str(error))
    work.look(A_PARTITION)
    yield
    steps = judge_request_steps(header, request, request_frame, policies, now_ms, stream_times, work)
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
            topics.append(replace(topic, partitions=kept))
    return replace(request, topics=tuple(topics))


def _kept(each: PartitionVerdict) -> PartitionVerdict:
    """The verdict as it is kept until the broker answers: without the bytes of a batch."""
    if each.rewritten is None and each.dead is None:
        return each
    rewritten = each.rewritten and replace(each.rewritten, records=b"", times_ms=())
    return replace(each, rewritten=rewritten, dead=None)
