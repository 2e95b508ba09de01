"""The answer to one ProduceRequest: ours, the broker's, or both merged.

`local` answers a request that no broker sees; `settle` reads the broker's answer to one that it saw,
merges our rejections into it, and says what became of every batch.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.model.outcome import Outcome
from tsproxy.model.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
    WrittenErrors,
)
from tsproxy.model.verdict import OutOfRange, Reject
from tsproxy.session import outcomes
from tsproxy.session.job import Work
from tsproxy.session.judging import Judged
from tsproxy.session.produce import Judgement, Malformed, Ruling
from tsproxy.wire import k00_produce, readers
from tsproxy.wire.addresses import MapEndpoint
from tsproxy.wire.headers import frame, response_body_start, response_header

_THROTTLE_FROM: Final = 1
"""The version from which answers have a throttle time."""


def local(ruling: Ruling) -> bytes:
    """The frame that answers a request of which nothing was forwarded."""
    header = ruling.header
    head = response_header(ApiKey.PRODUCE, header.api_version, header.correlation_id)
    return _frame_of(ruling, head, ProduceResponse(topics=()))


def with_all_made(
    begin: Callable[[Work], Generator[None, None, Judgement]], work: Work
) -> Generator[None, None, Judgement]:
    """What the steps of `begin` rule, with all that can be made of it where they run: beside the loop."""
    ruling = yield from begin(work)
    if isinstance(ruling, Malformed) or not ruling.rejected:
        return ruling
    is_answered_here = ruling.to_broker is None and ruling.acks != 0
    return replace(
        ruling,
        answer=local(ruling) if is_answered_here else b"",
        booked=tuple(outcomes.of_rejections(ruling)),
    )


def silenced(ruling: Ruling) -> bytes:
    """`ruling.answer` with the silence that was found since: behind it stand no tags, or an empty section."""
    version, answer = ruling.header.api_version, ruling.answer
    if version < _THROTTLE_FROM:
        return answer
    at = len(answer) - 4 - (version >= k00_produce.FLEXIBLE_FROM)
    return answer[:at] + ruling.throttle_ms.to_bytes(4, "big") + answer[at + 4 :]


def settle(ruling: Ruling, payload: bytes, endpoint_of: MapEndpoint) -> tuple[bytes, list[Outcome]]:
    """(the frame for the client, what became of each forwarded batch).

    The broker's answer goes on as it came unless it names nodes or rejections must be merged in.
    """
    version = ruling.header.api_version
    body_start = response_body_start(ApiKey.PRODUCE, version, payload)
    response = k00_produce.read_response(version, memoryview(payload)[body_start:])
    booked = list(outcomes.of_answer(ruling, response))
    if response.node_endpoints is None and not ruling.rejected:
        return frame(payload), booked
    if response.node_endpoints is not None:
        response = replace(
            response,
            node_endpoints=tuple(
                replace(node, host=mapped.host, port=mapped.port)
                for node in response.node_endpoints
                for mapped in (endpoint_of(node.node_id, node.host, node.port),)
            ),
        )
    return _frame_of(ruling, payload[:body_start], response), booked


def _frame_of(ruling: Ruling, head: bytes, response: ProduceResponse) -> bytes:
    version = ruling.header.api_version
    merged = ProduceResponse(
        _merged(response.topics, ruling.rejected, version),
        max(response.throttle_time_ms, ruling.throttle_ms),
        response.node_endpoints,
        response.tags,
    )
    return frame(head + k00_produce.write_response(version, merged))


def _merged(
    topics: tuple[TopicProduceResponse, ...], rejected: Iterable[Judged], version: int
) -> tuple[TopicProduceResponse, ...]:
    """The broker's topics with our rejections added."""
    ours: dict[str, list[PartitionProduceResponse]] = {}
    for judged in rejected:
        ours.setdefault(judged.topic, []).append(_rejection(judged, version))
    merged = [replace(t, partitions=(*t.partitions, *ours.pop(t.name, ()))) for t in topics]
    return (*merged, *(TopicProduceResponse(name, tuple(partitions)) for name, partitions in ours.items()))


def _rejection(judged: Judged, version: int) -> PartitionProduceResponse:
    """-1 for offsets and times, as brokers answer; their log_start_offset is theirs alone to know."""
    verdict = judged.verdict
    assert isinstance(verdict, Reject)
    written = _written(verdict.violations, version) if isinstance(verdict.violations, OutOfRange) else None
    return PartitionProduceResponse(
        index=judged.partition,
        error_code=verdict.error_code,
        error_message=verdict.error_message,
        record_errors=verdict.record_errors if written is None else (),
        written_errors=written,
    )


def _written(violations: OutOfRange, version: int) -> WrittenErrors:
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
