"""The answer to one ProduceRequest: the proxy's, the broker's, or both merged.

`local` answers a request that no broker sees. `settle` reads the broker's answer, merges the proxy's
rejections into it, and returns the outcome of each forwarded batch.
"""

from collections.abc import Sequence
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
from tsproxy.session import outcomes
from tsproxy.session.slots import BookProduce
from tsproxy.session.verdict import PartitionVerdict, RequestVerdict
from tsproxy.wire import k00_produce, readers
from tsproxy.wire.addresses import MapEndpoint
from tsproxy.wire.headers import frame, response_body_start, response_header
from tsproxy.wire.left_out import IsLeftOut

_THROTTLE_FROM: Final = 1
"""The version from which answers have a throttle time."""


def local(verdict: RequestVerdict) -> bytes:
    """The frame that answers a request of which nothing is forwarded, without a throttle time."""
    header = verdict.header
    head = response_header(ApiKey.PRODUCE, header.api_version, header.correlation_id)
    response = ProduceResponse(topics=rejected_topics(verdict))
    return frame(head + k00_produce.write_response(header.api_version, response))


def with_throttle(answer: bytes, version: int, throttle_ms: int) -> bytes:
    """`local`'s answer with the throttle time, which is known later. At most an empty section of tags follows
    the throttle time."""
    if version < _THROTTLE_FROM or not throttle_ms:
        return answer  # not copied: it has a text for each culprit, so up to megabytes
    at = len(answer) - 4 - (version >= k00_produce.FLEXIBLE_FROM)
    return answer[:at] + throttle_ms.to_bytes(4, "big") + answer[at + 4 :]


def settle(
    slot: BookProduce, payload: bytes, endpoint_of: MapEndpoint, is_left_out: IsLeftOut
) -> tuple[bytes, list[Outcome]]:
    """(the frame for the client, the outcome of each forwarded batch).

    The broker's answer is forwarded as it came unless it names nodes or rejections must be merged in.
    """
    version = slot.verdict.header.api_version
    body_start = response_body_start(ApiKey.PRODUCE, version, payload)
    response = k00_produce.read_response(version, memoryview(payload)[body_start:])
    booked = list(outcomes.of_answer(slot.verdict, response))
    if response.node_endpoints is None and not slot.rejected_topics:
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
    merged = replace(
        response,
        topics=_merged(response.topics, slot.rejected_topics),
        throttle_time_ms=max(response.throttle_time_ms, slot.throttle_ms),
    )
    return frame(payload[:body_start] + k00_produce.write_response(version, merged)), booked


def _mapped(node: NodeEndpoint, endpoint_of: MapEndpoint) -> NodeEndpoint:
    mapped = endpoint_of(node.node_id, node.host, node.port)
    return replace(node, host=mapped.host, port=mapped.port)


def _merged(
    topics: tuple[TopicProduceResponse, ...], rejected: tuple[TopicProduceResponse, ...]
) -> tuple[TopicProduceResponse, ...]:
    """The broker's topics with the proxy's rejections added."""
    ours = {topic.key: topic for topic in rejected}
    merged = [
        replace(topic, partitions=(*topic.partitions, *ours.pop(topic.key).partitions))
        if topic.key in ours
        else topic
        for topic in topics
    ]
    return (*merged, *ours.values())


def rejected_topics(verdict: RequestVerdict) -> tuple[TopicProduceResponse, ...]:
    """The answer for the rejected partitions, by topic."""
    by_topic: dict[TopicKey, list[PartitionVerdict]] = {}
    for partition in verdict.rejected:
        by_topic.setdefault(partition.topic_key, []).append(partition)
    version = verdict.header.api_version
    return tuple(
        TopicProduceResponse(
            of_topic[0].topic,
            tuple(_rejection(partition, version) for partition in of_topic),
            topic_id=of_topic[0].topic_id,
        )
        for of_topic in by_topic.values()
    )


def _rejection(partition: PartitionVerdict, version: int) -> PartitionProduceResponse:
    """The answer for one rejected partition. Offsets and times are -1, as in a broker's rejection. Only the
    broker knows its log_start_offset."""
    rejection = partition.verdict
    assert isinstance(rejection, Reject)
    has_errors = version >= k00_produce.RECORD_ERRORS_FROM
    return PartitionProduceResponse(
        index=partition.partition,
        error_code=rejection.error_code,
        error_message=rejection.error_message,
        written_errors=_written(rejection.violations, version)
        if has_errors and rejection.violations
        else None,
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
