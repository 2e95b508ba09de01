"""One ProduceRequest on its way to the broker: judged partition by partition (`rule`).

Every partition in range: the frame goes on as it came, to the byte. None: nothing goes on. Some, or one
that its rule puts right: the request is written anew, under the same header.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from tsproxy.fastpath import ForwardedProduce
from tsproxy.model.dead_letter import DeadBatch
from tsproxy.model.kafka import ApiKey, Codec
from tsproxy.model.outcome import Outcome, Peer
from tsproxy.model.produce import ProduceRequest
from tsproxy.model.verdict import Accept, Reject
from tsproxy.policy.request_checks import ONE_BATCH_FROM
from tsproxy.session.job import Work, in_one_go
from tsproxy.session.judging import NONE_KNOWN, Judged, StreamTimesKnown, judging
from tsproxy.session.policies import Policies
from tsproxy.wire import k00_produce, record_set
from tsproxy.wire.frames import SIZE_BYTES
from tsproxy.wire.headers import RequestHeader, frame
from tsproxy.wire.primitives import DecodeError


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is to be done with one request. `to_broker` is the frame to send, None for nothing."""

    header: RequestHeader
    peer: Peer
    now_ms: int
    acks: int
    transactional_id: str | None
    to_broker: bytes | None
    forwarded: tuple[Judged, ...]
    rejected: tuple[Judged, ...]
    throttle_ms: int = 0
    """How long the client is to be silent for it."""
    was_put_off: bool = False
    """True where a silence from before had to be kept first."""
    dead: tuple[DeadBatch, ...] = ()
    """Of what is rejected, the batches of which copies are wanted."""
    answer: bytes = b""
    """The whole answer without a silence, where it was made beside the loop."""
    booked: tuple[Outcome, ...] | None = None
    """What becomes of what is rejected, where it was made beside the loop."""

    @property
    def unknown_topics(self) -> frozenset[str]:
        """Topics that were judged without knowing their limits."""
        return frozenset(j.topic for j in (*self.forwarded, *self.rejected) if not j.policy.is_known)

    @classmethod
    def of_forwarded(cls, forwarded: ForwardedProduce) -> Self:
        """The ruling on a request that the fast path has forwarded."""
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
                Judged(each.topic, each.partition, each.batch, each.limits, Accept())
                for each in forwarded.batches
            ),
            rejected=(),
        )


@dataclass(frozen=True, slots=True)
class Malformed:
    """A request that was read beside the loop and is none; `text` says why."""

    text: str


Judgement = Ruling | Malformed
"""What a request that is judged beside the loop comes to."""


DEAR_BYTES: Final = 256 * 1024
"""From so many compressed bytes on, a request is judged where it holds up nobody else. The way there
and back costs 50 to 70 us of CPU, which smaller ones do not save."""

DEAR_RECORDS: Final = 10_000
"""From so many records on as well, all requests of one go taken together: a guilty record costs 3 to
5 us in Python, and a compressed request of a few hundred bytes may hold a million. So a go takes 50 ms."""

_A_PARTITION: Final = 20
"""What a partition costs beside its records, in records: 45 to 90 us."""
_MESSAGES_A_BYTE: Final = 30
"""What a byte of a set below v3, or of a message of magic 0 or 1 where none belongs, may unfold to at most:
gzip gains 1000, and a message has 34 bytes."""
_COUNT_AT: Final = 57


_KEPT_A_PARTITION: Final = 5 << 10
"""Bytes, while a request is judged: entry, case, finding and verdict."""


def kept_while_judged(size: int, partitions: int | None) -> int:
    """How many bytes a request of `size` may hold while it is judged; `partitions` None where nobody has
    read it."""
    if partitions is None:
        partitions = min(k00_produce.MOST_PARTITIONS, size // k00_produce.SMALLEST_PARTITION)
    return size + _KEPT_A_PARTITION * max(0, partitions - _FEW_PARTITIONS)


def records_at_most(header: RequestHeader, request: ProduceRequest) -> int:
    """What judging may cost at most, in records. Taken from sizes and counts alone: nothing is unfolded."""
    sets = [p.records for topic in request.topics for p in topic.partitions]
    counted = (_records_at_most(header, records) for records in sets if records is not None)
    return _A_PARTITION * len(sets) + sum(counted)


_FEW_PARTITIONS: Final = 16
_MANY_PARTITIONS: Final = 2_000
_BYTES_A_PARTITION: Final = 64
"""No batch of magic 2 is smaller, so that this is only met where there are none."""


def most_partitions_here(size: int) -> int:
    """Of how many partitions a request of `size` bytes is read on the loop; one of more is read beside it. A
    partition takes 2 to 5 us to read, and may have six bytes."""
    return min(_FEW_PARTITIONS + size // _BYTES_A_PARTITION, _MANY_PARTITIONS)


def _records_at_most(header: RequestHeader, records: memoryview) -> int:
    is_old = len(records) > record_set.MAGIC_OFFSET and records[record_set.MAGIC_OFFSET] < 2
    if header.api_version < ONE_BATCH_FROM or is_old:
        return _MESSAGES_A_BYTE * len(records)
    # A batch that says less than it holds is rejected for what is left over, and more is not read.
    return max(0, int.from_bytes(records[_COUNT_AT : record_set.HEADER_SIZE], "big", signed=True))


def is_dear(header: RequestHeader, request: ProduceRequest) -> bool:
    """True where much must be decompressed, all partitions taken together."""
    sets = [p.records for topic in request.topics for p in topic.partitions if p.records is not None]
    if sum(map(len, sets)) < DEAR_BYTES:
        return False
    return sum(len(records) for records in sets if _may_be_compressed(header, records)) >= DEAR_BYTES


def _may_be_compressed(header: RequestHeader, records: memoryview) -> bool:
    """By the first batch; below v3 any later one may be compressed."""
    batch = record_set.read_header(bytes(records[: record_set.HEADER_SIZE]))
    return batch is not None and (header.api_version < ONE_BATCH_FROM or batch.codec_id != Codec.NONE)


def rule(
    header: RequestHeader,
    request: ProduceRequest,
    request_frame: bytes,
    policies: Policies,
    now_ms: int,
    stream_times: StreamTimesKnown = NONE_KNOWN,
    work: Work | None = None,
) -> Ruling:
    """All steps of `ruling` in one go."""
    work = work or Work(policies.view.limits)
    return in_one_go(ruling(header, request, request_frame, policies, now_ms, stream_times, work))


def ruling(
    header: RequestHeader,
    request: ProduceRequest,
    request_frame: bytes,
    policies: Policies,
    now_ms: int,
    stream_times: StreamTimesKnown,
    work: Work,
) -> Generator[None, None, Ruling]:
    """Judge every partition, in steps. An accepted request's frame goes on as it came, to the byte.

    Raises DearError and StoppedError as `work` does.
    """
    version = header.api_version
    judged = yield from judging(header, request, policies, now_ms, work, stream_times)
    guilty = {(j.topic, j.partition) for j in judged if isinstance(j.verdict, Reject)}
    anew = {(j.topic, j.partition): j.rewritten.records for j in judged if j.rewritten}
    if not guilty and not anew:
        to_broker: bytes | None = request_frame
    elif all((j.topic, j.partition) in guilty for j in judged):
        to_broker = None
    else:
        body = k00_produce.write_request(version, _with(_without(request, guilty), anew))
        to_broker = frame(request_frame[4 : 4 + header.body_start] + body)
    return Ruling(
        header=header,
        peer=policies.peer,
        now_ms=now_ms,
        acks=request.acks,
        transactional_id=request.transactional_id,
        to_broker=to_broker,
        forwarded=tuple(_unburdened(j) for j in judged if (j.topic, j.partition) not in guilty),
        rejected=tuple(_unburdened(j) for j in judged if isinstance(j.verdict, Reject)),
        dead=tuple(j.dead for j in judged if j.dead),
    )


def ruling_on_unread(
    header: RequestHeader,
    request_frame: bytes,
    policies: Policies,
    now_ms: int,
    stream_times: Callable[[ProduceRequest], StreamTimesKnown],
    work: Work,
) -> Generator[None, None, Judgement]:
    """The same for a request that has many partitions for its size, and is still to be read."""
    body = memoryview(request_frame)[SIZE_BYTES + header.body_start :]
    try:
        request = k00_produce.read_request(header.api_version, body)
    except DecodeError as error:
        return Malformed(str(error))
    work.look(_A_PARTITION)
    yield
    known = stream_times(request)
    return (yield from ruling(header, request, request_frame, policies, now_ms, known, work))


def _with(request: ProduceRequest, anew: Mapping[tuple[str, int], bytes]) -> ProduceRequest:
    """The request with the batches that were written anew."""
    if not anew:
        return request
    return replace(
        request,
        topics=tuple(
            replace(
                topic,
                partitions=tuple(
                    replace(p, records=memoryview(anew[topic.name, p.index]))
                    if (topic.name, p.index) in anew
                    else p
                    for p in topic.partitions
                ),
            )
            for topic in request.topics
        ),
    )


def _without(request: ProduceRequest, guilty: set[tuple[str, int]]) -> ProduceRequest:
    topics = []
    for topic in request.topics:
        kept = tuple(p for p in topic.partitions if (topic.name, p.index) not in guilty)
        if kept or not topic.partitions:
            topics.append(replace(topic, partitions=kept))
    return replace(request, topics=tuple(topics))


def _unburdened(judged: Judged) -> Judged:
    """What is kept until the broker answers: of a batch written anew, only what was put right."""
    if judged.rewritten is None and judged.dead is None:
        return judged
    rewritten = judged.rewritten and replace(judged.rewritten, records=b"", times_ms=())
    return replace(judged, rewritten=rewritten, dead=None)
