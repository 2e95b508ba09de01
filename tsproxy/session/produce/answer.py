"""The answer to one ProduceRequest: the proxy's, the broker's, or both merged.

`local` answers a request that no broker sees. `settle` reads the broker's answer, merges the proxy's
rejections into it, and returns the outcome of each forwarded batch.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.model.outcome import Outcome
from tsproxy.model.produce import (
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicKey,
    TopicProduceResponse,
    WrittenErrors,
)
from tsproxy.model.verdict import OutOfRange, Reject, Violation
from tsproxy.session.produce import outcomes
from tsproxy.session.produce.emit import Emit
from tsproxy.session.produce.job import Work
from tsproxy.session.produce.judge_request import Judgement, Malformed, RequestVerdict
from tsproxy.session.produce.verdicts import PartitionVerdict
from tsproxy.wire import k00_produce, readers
from tsproxy.wire.addresses import MapEndpoint
from tsproxy.wire.headers import frame, response_body_start, response_header
from tsproxy.wire.left_out import IsLeftOut

_THROTTLE_FROM: Final = 1
"""The version from which answers have a throttle time."""


def local(decided: RequestVerdict) -> bytes:
    """The frame that answers a request of which nothing was forwarded."""
    header = decided.header
    head = response_header(ApiKey.PRODUCE, header.api_version, header.correlation_id)
    return _frame_of(decided, head, ProduceResponse(topics=()))


def with_answer(
    begin: Callable[[Work], Generator[None, None, Judgement]], work: Work
) -> Generator[None, None, Judgement]:
    """The result of the steps of `begin`, with the answer and the outcomes: the thread makes these, too."""
    decided = yield from begin(work)
    if isinstance(decided, Malformed) or not decided.rejected:
        return decided
    is_answered_here = decided.to_broker is None and decided.acks != 0
    return replace(
        decided,
        answer=local(decided) if is_answered_here else b"",
        booked=tuple(map(Emit, outcomes.of_rejections(decided))),
        rejections=None if is_answered_here else _rejections(decided),
    )


def with_throttle(decided: RequestVerdict) -> bytes:
    """`decided.answer` with the throttle time, which was computed later. At most an empty section of tags
    follows the throttle time."""
    version, answer = decided.header.api_version, decided.answer
    if version < _THROTTLE_FROM or not decided.throttle_ms:
        return answer  # not copied: it has a text for each culprit, so up to megabytes
    at = len(answer) - 4 - (version >= k00_produce.FLEXIBLE_FROM)
    return answer[:at] + decided.throttle_ms.to_bytes(4, "big") + answer[at + 4 :]


def settle(
    decided: RequestVerdict, payload: bytes, endpoint_of: MapEndpoint, is_left_out: IsLeftOut
) -> tuple[bytes, list[Outcome]]:
    """(the frame for the client, the outcome of each forwarded batch).

    The broker's answer is forwarded as it came unless it names nodes or rejections must be merged in.
    """
    version = decided.header.api_version
    body_start = response_body_start(ApiKey.PRODUCE, version, payload)
    response = k00_produce.read_response(version, memoryview(payload)[body_start:])
    booked = list(outcomes.of_answer(decided, response))
    if response.node_endpoints is None and not decided.rejected:
        return frame(payload), booked
    if response.node_endpoints is not None:
        response = replace(
            response,
            node_endpoints=tuple(
                _mapped(node, endpoint_of)
                for node in response.node_endpoints
                if not is_left_out(node.node_id)
            ),
        )
    return _frame_of(decided, payload[:body_start], response), booked


def _mapped(node: NodeEndpoint, endpoint_of: MapEndpoint) -> NodeEndpoint:
    mapped = endpoint_of(node.node_id, node.host, node.port)
    return replace(node, host=mapped.host, port=mapped.port)


def _frame_of(decided: RequestVerdict, head: bytes, response: ProduceResponse) -> bytes:
    version = decided.header.api_version
    merged = ProduceResponse(
        _merged(response.topics, decided),
        max(response.throttle_time_ms, decided.throttle_ms),
        response.node_endpoints,
        response.tags,
    )
    return frame(head + k00_produce.write_response(version, merged))


def _merged(
    topics: tuple[TopicProduceResponse, ...], decided: RequestVerdict
) -> tuple[TopicProduceResponse, ...]:
    """The broker's topics with the proxy's rejections added."""
    ours: dict[TopicKey, list[PartitionProduceResponse]] = {}
    names: dict[TopicKey, tuple[str, bytes | None]] = {}
    made = _rejections(decided) if decided.rejections is None else decided.rejections
    for judged, rejection in zip(decided.rejected, made, strict=True):
        ours.setdefault(judged.topic_key, []).append(rejection)
        names[judged.topic_key] = judged.topic, judged.topic_id
    merged = [replace(t, partitions=(*t.partitions, *ours.pop(t.key, ()))) for t in topics]
    added = [
        TopicProduceResponse(names[key][0], tuple(partitions), topic_id=names[key][1])
        for key, partitions in ours.items()
    ]
    return (*merged, *added)


def _rejections(decided: RequestVerdict) -> tuple[PartitionProduceResponse, ...]:
    return tuple(_rejection(judged, decided.header.api_version) for judged in decided.rejected)


def _rejection(judged: PartitionVerdict, version: int) -> PartitionProduceResponse:
    """The answer for one rejected partition. Offsets and times are -1, as in a broker's rejection. Only the
    broker knows its log_start_offset."""
    verdict = judged.verdict
    assert isinstance(verdict, Reject)
    has_errors = version >= k00_produce.RECORD_ERRORS_FROM
    return PartitionProduceResponse(
        index=judged.partition,
        error_code=verdict.error_code,
        error_message=verdict.error_message,
        written_errors=_written(verdict.violations, version) if has_errors and verdict.violations else None,
    )


def _written(violations: Sequence[Violation], version: int) -> WrittenErrors:
    if not isinstance(violations, OutOfRange):
        return WrittenErrors(len(violations), k00_produce.write_record_errors(version, violations))
    outside = violations.outside
    before, between, after = (piece.encode() for piece in violations.pieces)
    data = readers.record_errors(
        outside.positions,
        outside.timestamps_ms,
        outside.offset_deltas,
        violations.base_offset,
        (before, between, after),
        version >= k00_produce.FLEXIBLE_FROM,
    )
    return WrittenErrors(len(violations), data)
