"""Produce (key 0), request and answer, versions 0 to 13.

Source: `ProduceRequest.json`, `ProduceResponse.json` of Kafka 4.4.0, KIP-467, KIP-516, KIP-951.

v1 throttle_time_ms in the answer · v2 log_append_time_ms · v3 transactional_id in the request ·
v5 log_start_offset · v8 record_errors and error_message · v9 flexible · v10 CurrentLeader
(partition tag 0) and NodeEndpoints (top-level tag 0) in the answer · v13 topic ids in place of names.
v4, v6, v7, v11 and v12 have the same layout as the version before.

A message that is decoded and encoded again has the same bytes, including unknown tags. Record errors have a
tag section of their own from v9 on. Brokers leave it empty, and so does the proxy.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tsproxy.model.kafka import unnamed_topic
from tsproxy.model.produce import (
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicKey,
    TopicProduceData,
    TopicProduceResponse,
    WrittenErrors,
)
from tsproxy.model.verdict import RecordError, Violation
from tsproxy.wire import primitives as put
from tsproxy.wire import readers
from tsproxy.wire.primitives import MAX_STRING, DecodeError, Reader

RECORD_ERRORS_FROM: Final = 8
FLEXIBLE_FROM: Final = 9
TOPIC_IDS_FROM: Final = 13
TOPIC_ID_BYTES: Final = 16
NODE_ENDPOINTS_TAG: Final = 0

MAX_PARTITIONS: Final = 20_000
"""The most partitions in one request: several times as many as one broker leads. They take at most 40 MB of
memory. Without a limit, a frame of 100 MiB with six bytes for each partition would take 30 GB. The fast path
has the same limit."""

SMALLEST_PARTITION: Final = 6
"""Bytes of the smallest partition in a request: its index, null records, no tags."""

MAX_ERRORS_READ: Final = 21
"""The most record errors of a partition that are read as values. A decision line lists one fewer, so the last
one shows that there are more. A broker may send a million errors of 80 bytes each. The proxy reads only the
times in the others."""
_LONGEST_TOPIC: Final = 249
"""The longest topic name in characters (`Topic.java`)."""

TopicNames = Mapping[bytes, str]
"""Topic id -> name."""
NO_NAMES: Final[TopicNames] = MappingProxyType({})


class ManyPartitionsError(DecodeError):
    """A request with more partitions than the limit."""


def read_request(
    version: int, body: bytes | memoryview, most: int = MAX_PARTITIONS, names: TopicNames = NO_NAMES
) -> ProduceRequest:
    """The request in `body`. Bytes after its end are ignored, as brokers do.

    `names` maps topic ids to names, for requests that name topics by id. A topic whose id is not in `names`
    gets its name from `unnamed_topic`.

    Raises DecodeError if the body does not fit its layout, or if it names a partition twice. For two batches
    of one partition, a broker stores only the last one and answers once, so the outcome of the other batch
    would be unknown. A topic may occur more than once. Raises ManyPartitionsError for more than `most`
    partitions. A topic without partitions counts as one.
    """
    flexible = version >= FLEXIBLE_FROM
    reader = Reader(body)
    return ProduceRequest(
        transactional_id=reader.nullable_string(flexible) if version >= 3 else None,
        acks=reader.int16(),
        timeout_ms=reader.int32(),
        topics=tuple(_read_topics(reader, version, most, names)),
        tags=reader.tags(flexible),
    )


def _read_topics(reader: Reader, version: int, most: int, names: TopicNames) -> Iterator[TopicProduceData]:
    flexible = version >= FLEXIBLE_FROM
    left, seen = most, set[tuple[TopicKey, int]]()
    for _ in range(reader.array(flexible)):
        name, topic_id = _read_topic_key(reader, version, names)
        partitions = reader.array(flexible)
        left -= max(1, partitions)
        if left < 0:
            raise ManyPartitionsError(f"a Produce request for more than {most} partitions")
        topic = TopicProduceData(
            name=name,
            partitions=tuple(
                PartitionProduceData(reader.int32(), reader.nullable_bytes(flexible), reader.tags(flexible))
                for _ in range(partitions)
            ),
            tags=reader.tags(flexible),
            topic_id=topic_id,
        )
        for partition in topic.partitions:
            if (topic.key, partition.index) in seen:
                raise DecodeError(
                    f"a Produce request that names {name[:_LONGEST_TOPIC]}-{partition.index} twice"
                )
            seen.add((topic.key, partition.index))
        yield topic


def _read_topic_key(reader: Reader, version: int, names: TopicNames) -> tuple[str, bytes | None]:
    """The topic's name and its id. The id is None below version 13."""
    if version < TOPIC_IDS_FROM:
        return reader.string(version >= FLEXIBLE_FROM), None
    topic_id = bytes(reader.take(TOPIC_ID_BYTES))
    return names.get(topic_id) or unnamed_topic(topic_id), topic_id


def _topic_key(version: int, name: str, topic_id: bytes | None) -> bytes:
    if version < TOPIC_IDS_FROM:
        return put.string(name, version >= FLEXIBLE_FROM)
    assert topic_id is not None, "from version 13 on every topic has its id"
    return topic_id


def write_request(version: int, request: ProduceRequest) -> bytes:
    """The body of `request` in `version`."""
    flexible = version >= FLEXIBLE_FROM
    parts = [put.string(request.transactional_id, flexible)] if version >= 3 else []
    parts += [
        put.int16(request.acks),
        put.int32(request.timeout_ms),
        put.array(len(request.topics), flexible),
    ]
    for topic in request.topics:
        parts += [_topic_key(version, topic.name, topic.topic_id), put.array(len(topic.partitions), flexible)]
        for partition in topic.partitions:
            parts += [
                put.int32(partition.index),
                put.nullable_bytes(partition.records, flexible),
                put.tags(partition.tags, flexible),
            ]
        parts.append(put.tags(topic.tags, flexible))
    parts.append(put.tags(request.tags, flexible))
    return b"".join(parts)


def read_response(version: int, body: bytes | memoryview) -> ProduceResponse:
    """The answer in `body`."""
    flexible = version >= FLEXIBLE_FROM
    reader = Reader(body)
    topics = tuple(_read_topic_response(reader, version, flexible) for _ in range(reader.array(flexible)))
    throttle_time_ms = reader.int32() if version >= 1 else 0
    endpoints, tags = _read_body_tags(reader) if flexible else (None, ())
    return ProduceResponse(topics, throttle_time_ms, endpoints, tags)


def _read_topic_response(reader: Reader, version: int, flexible: bool) -> TopicProduceResponse:
    name, topic_id = _read_topic_key(reader, version, NO_NAMES)
    return TopicProduceResponse(
        name=name,
        partitions=tuple(
            _read_partition_response(reader, version, flexible) for _ in range(reader.array(flexible))
        ),
        tags=reader.tags(flexible),
        topic_id=topic_id,
    )


def _read_partition_response(reader: Reader, version: int, flexible: bool) -> PartitionProduceResponse:
    has_record_errors = version >= RECORD_ERRORS_FROM
    index, error_code, base_offset = reader.int32(), reader.int16(), reader.int64()
    log_append_time_ms = reader.int64() if version >= 2 else -1
    log_start_offset = reader.int64() if version >= 5 else -1
    errors, written = _read_record_errors(reader, flexible) if has_record_errors else ((), None)
    return PartitionProduceResponse(
        index=index,
        error_code=error_code,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
        record_errors=errors,
        error_message=reader.nullable_string(flexible) if has_record_errors else None,
        tags=reader.tags(flexible),
        written_errors=written,
    )


def _read_record_errors(
    reader: Reader, flexible: bool
) -> tuple[tuple[RecordError, ...], WrittenErrors | None]:
    """The first record errors. If there are more, also the unchanged bytes of all errors, else None."""
    count, start = reader.array(flexible), reader.pos
    errors = tuple(_read_record_error(reader, flexible) for _ in range(min(count, MAX_ERRORS_READ)))
    left, times_ms = count - len(errors), []
    if not left:
        return errors, None
    while left > 0:
        skimmed, reader.pos, lowest_ms, highest_ms = readers.skim_errors(
            reader.data, reader.pos, left, flexible
        )
        times_ms += [time_ms for time_ms in (lowest_ms, highest_ms) if time_ms is not None]
        left -= skimmed
        if left:  # `skim_errors` does not read the next error
            _read_record_error(reader, flexible)
            left -= 1
    written = WrittenErrors(
        count, reader.data[start : reader.pos], min(times_ms, default=None), max(times_ms, default=None)
    )
    return errors, written


def _read_record_error(reader: Reader, flexible: bool) -> RecordError:
    error = RecordError(reader.int32(), reader.nullable_string(flexible))
    reader.tags(flexible)
    return error


def _read_body_tags(reader: Reader) -> tuple[tuple[NodeEndpoint, ...] | None, tuple[tuple[int, bytes], ...]]:
    endpoints = None
    others = []
    for _ in range(reader.tag_count()):
        tag = reader.unsigned_varint()
        value = reader.take(reader.unsigned_varint())
        if tag == NODE_ENDPOINTS_TAG:
            inner = Reader(value)
            endpoints = tuple(_read_endpoint(inner) for _ in range(inner.array(is_flexible=True)))
        else:
            others.append((tag, bytes(value)))
    return endpoints, tuple(others)


def _read_endpoint(reader: Reader) -> NodeEndpoint:
    return NodeEndpoint(
        node_id=reader.int32(),
        host=reader.string(is_flexible=True),
        port=reader.int32(),
        rack=reader.nullable_string(is_flexible=True),
        tags=reader.tags(is_flexible=True),
    )


def write_response(version: int, response: ProduceResponse) -> bytes:
    """The body of `response` in `version`. Texts are cut at the longest string that Kafka reads."""
    flexible = version >= FLEXIBLE_FROM
    parts = [put.array(len(response.topics), flexible)]
    for topic in response.topics:
        parts += [_topic_key(version, topic.name, topic.topic_id), put.array(len(topic.partitions), flexible)]
        for partition in topic.partitions:
            parts += _partition_response(version, partition, flexible)
        parts.append(put.tags(topic.tags, flexible))
    if version >= 1:
        parts.append(put.int32(response.throttle_time_ms))
    if flexible:
        parts.append(_body_tags(response))
    return b"".join(parts)


def _partition_response(version: int, partition: PartitionProduceResponse, flexible: bool) -> list[bytes]:
    parts = [put.int32(partition.index), put.int16(partition.error_code), put.int64(partition.base_offset)]
    if version >= 2:
        parts.append(put.int64(partition.log_append_time_ms))
    if version >= 5:
        parts.append(put.int64(partition.log_start_offset))
    if version >= RECORD_ERRORS_FROM:
        parts.append(_record_errors(version, partition))
        parts.append(_text(partition.error_message, flexible))
    parts.append(put.tags(partition.tags, flexible))
    return parts


def _record_errors(version: int, partition: PartitionProduceResponse) -> bytes:
    written, flexible = partition.written_errors, version >= FLEXIBLE_FROM
    if written is not None:
        return put.array(written.count, flexible) + written.data
    errors = partition.record_errors
    return put.array(len(errors), flexible) + write_record_errors(version, errors)


def write_record_errors(version: int, errors: Iterable[RecordError | Violation]) -> bytes:
    """The errors without their number."""
    flexible = version >= FLEXIBLE_FROM
    return b"".join(
        put.int32(error.batch_index) + _text(error.message, flexible) + put.tags(b"", flexible)
        for error in errors
    )


def _text(value: str | None, flexible: bool) -> bytes:
    if value is not None and len(value.encode("utf-8", "surrogateescape")) > MAX_STRING:
        value = value.encode("utf-8", "surrogateescape")[:MAX_STRING].decode("utf-8", "ignore")
    return put.string(value, flexible)


def _body_tags(response: ProduceResponse) -> bytes:
    tagged = list(response.tags)
    if response.node_endpoints is not None:
        endpoints = [put.array(len(response.node_endpoints), is_flexible=True)]
        for node in response.node_endpoints:
            endpoints += [put.int32(node.node_id), put.string(node.host, is_flexible=True)]
            endpoints += [put.int32(node.port), put.string(node.rack, is_flexible=True)]
            endpoints.append(put.tags(node.tags, is_flexible=True))
        tagged.insert(0, (NODE_ENDPOINTS_TAG, b"".join(endpoints)))
    parts = [put.unsigned_varint(len(tagged))]
    for tag, value in tagged:
        parts += [put.unsigned_varint(tag), put.unsigned_varint(len(value)), value]
    return b"".join(parts)
