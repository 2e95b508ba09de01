"""One ProduceRequest on its way to the broker: judged partition by partition (`rule`).

Every partition in range: the frame goes on as it came, to the byte. None: nothing goes on. Some: the
request is written anew without the refused ones, under the same header.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from tsproxy.model.kafka import Codec
from tsproxy.model.outcome import Peer
from tsproxy.model.produce import (
    PartitionProduceData,
    ProduceRequest,
)
from tsproxy.model.records import BatchFacts, RecordFacts, RecordSet
from tsproxy.model.verdict import Accept, Reject, TopicLimits, Verdict
from tsproxy.model.view import Mode, View
from tsproxy.policy.case import Case
from tsproxy.policy.judge import judge
from tsproxy.wire import k00_produce, record_batch, record_set
from tsproxy.wire.headers import RequestHeader, frame

_SCANNED: Final = 2
"""From v3 on one batch is right; a second one is wrong, and more need not be found."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One partition's records with their verdict, and what it was judged by."""

    topic: str
    partition: int
    batch: BatchFacts
    limits: TopicLimits | None
    verdict: Verdict


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

    @property
    def unknown_topics(self) -> frozenset[str]:
        """Topics that were judged without knowing their limits."""
        return frozenset(j.topic for j in (*self.forwarded, *self.rejected) if j.limits is None)


def rule(header: RequestHeader, request_frame: bytes, peer: Peer, view: View, now_ms: int) -> Ruling:
    """Judge every partition. An accepted request's frame goes on as it came, to the byte."""
    version = header.api_version
    request = k00_produce.read_request(version, memoryview(request_frame)[4 + header.body_start :])
    judged = list(_judge_all(header, request, view, now_ms))
    guilty = {(j.topic, j.partition) for j in judged if isinstance(j.verdict, Reject)}
    if not guilty:
        to_broker: bytes | None = request_frame
    elif all((j.topic, j.partition) in guilty for j in judged):
        to_broker = None
    else:
        body = k00_produce.write_request(version, _without(request, guilty))
        to_broker = frame(request_frame[4 : 4 + header.body_start] + body)
    return Ruling(
        header=header,
        peer=peer,
        now_ms=now_ms,
        acks=request.acks,
        transactional_id=request.transactional_id,
        to_broker=to_broker,
        forwarded=tuple(j for j in judged if (j.topic, j.partition) not in guilty),
        rejected=tuple(j for j in judged if isinstance(j.verdict, Reject)),
    )


def _judge_all(header: RequestHeader, request: ProduceRequest, view: View, now_ms: int) -> Iterator[Judged]:
    for topic in request.topics:
        limits = view.topics.get(topic.name)
        for partition in topic.partitions:
            yield _judge(header, request, topic.name, partition, limits, view, now_ms)


def _judge(
    header: RequestHeader,
    request: ProduceRequest,
    topic: str,
    partition: PartitionProduceData,
    limits: TopicLimits | None,
    view: View,
    now_ms: int,
) -> Judged:
    found = record_set.scan(partition.records, _SCANNED)
    readable = bool(found.batches) and found.batches[0].magic == 2
    facts = record_batch.read_facts(found.batches[0], view.limits) if readable else None
    case = Case(
        api_version=header.api_version,
        acks=request.acks,
        has_transactional_id=request.transactional_id is not None,
        topic_partition=f"{topic}-{partition.index}",
        record_set=found,
        facts=facts,
        limits=limits,
        now_ms=now_ms,
        crc_is_valid=lambda: record_batch.crc_is_valid(found.batches[0]),
        read_records=lambda: record_batch.read_records(found.batches[0], view.limits),
        culprits_listed=view.limits.culprits_listed,
    )
    verdict = judge(case) if view.mode is Mode.ENFORCE else Accept()
    return Judged(topic, partition.index, _facts(partition.records, found, facts), limits, verdict)


def _facts(data: memoryview | None, found: RecordSet, facts: RecordFacts | None) -> BatchFacts:
    size = 0 if data is None else len(data)
    if not found.batches:
        return BatchFacts(2, Codec.NONE.name.lower(), size, 0, -1, -1, None, None)
    batch = found.batches[0]
    return BatchFacts(
        magic=batch.magic,
        codec=batch.codec_name,
        batch_bytes=size,
        records=0 if facts is None else facts.records,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        min_timestamp_ms=None if facts is None else facts.lowest_ms,
        max_timestamp_ms=None if facts is None else facts.highest_ms,
    )


def _without(request: ProduceRequest, guilty: set[tuple[str, int]]) -> ProduceRequest:
    topics = []
    for topic in request.topics:
        kept = tuple(p for p in topic.partitions if (topic.name, p.index) not in guilty)
        if kept or not topic.partitions:
            topics.append(replace(topic, partitions=kept))
    return replace(request, topics=tuple(topics))
