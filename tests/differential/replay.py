"""Recorded answers of a broker, held against the core's verdicts without a broker."""

from collections.abc import Iterator

from tests.differential.comparison import Exchange, comparable
from tests.differential.intended import claimed_by
from tests.differential.run import Recorded
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tsproxy.model.verdict import Reject
from tsproxy.model.view import View
from tsproxy.session.produce.verdicts import judge_all
from tsproxy.wire.headers import RequestHeader


def contradictions(recorded: Recorded, broker_version: str) -> Iterator[str]:
    """Cases in which the core answers differently from the broker, or forwards a batch that the broker
    rejected for its timestamps."""
    probe, now_ms = recorded.probe, recorded.window.start_ms
    request = ProduceRequest(
        probe.transactional_id,
        probe.acks,
        0,
        tuple(
            TopicProduceData(
                part.topic.direct, (PartitionProduceData(part.partition, memoryview(part.records)),)
            )
            for part in probe.parts
        ),
    )
    view = View(topics={part.topic.direct: part.topic.limits for part in probe.parts})
    judged = judge_all(RequestHeader(0, probe.version, 0, "test", 0), request, view, now_ms)
    for part, ours in zip(probe.parts, judged, strict=True):
        theirs = recorded.answers[part.topic.direct, part.partition]
        if not isinstance(ours.verdict, Reject):
            if theirs.error_code == ErrorCode.INVALID_TIMESTAMP:
                yield f"{probe.number}: let pass what the broker rejected"
            continue
        has_texts = probe.version >= 8
        answer = PartitionProduceResponse(
            part.partition,
            ours.verdict.error_code,
            record_errors=ours.verdict.record_errors if has_texts else (),
            error_message=ours.verdict.error_message if has_texts else None,
            tags=theirs.tags,
        )
        exchange = Exchange(
            broker_version,
            probe.version,
            part,
            *(comparable(a, part.topic.direct, part.topic.limits, recorded.window) for a in (theirs, answer)),
            request=probe.parts,
        )
        if exchange.differing() and claimed_by(exchange) is None:
            yield f"{probe.number}: {exchange.differing()}"
