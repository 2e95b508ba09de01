"""One ProduceRequest on its way to the broker: judged partition by partition (`rule`).

Every partition in range: the frame goes on as it came, to the byte. None: nothing goes on. Some: the
request is written anew without the refused ones, under the same header.
"""

from dataclasses import dataclass, replace

from tsproxy.model.outcome import Peer
from tsproxy.model.produce import ProduceRequest
from tsproxy.model.verdict import Reject
from tsproxy.model.view import View
from tsproxy.session.judging import Judged, judge_all
from tsproxy.wire import k00_produce
from tsproxy.wire.headers import RequestHeader, frame


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
    judged = judge_all(header, request, view, now_ms)
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


def _without(request: ProduceRequest, guilty: set[tuple[str, int]]) -> ProduceRequest:
    topics = []
    for topic in request.topics:
        kept = tuple(p for p in topic.partitions if (topic.name, p.index) not in guilty)
        if kept or not topic.partitions:
            topics.append(replace(topic, partitions=kept))
    return replace(request, topics=tuple(topics))
