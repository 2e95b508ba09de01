"""Request frames for the broker, and its answers read back."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from tests.session.messages import produce_entries, request
from tsproxy.model.produce import PartitionProduceResponse
from tsproxy.model.verdict import RecordError
from tsproxy.wire import k00_produce, k03_metadata
from tsproxy.wire import primitives as put
from tsproxy.wire.headers import response_body_start
from tsproxy.wire.primitives import Reader

Sent = tuple[str, int, bytes | None]
"""Topic, partition, records."""


request_frame = partial(request, client_id="test")

TopicIds = Mapping[str, bytes]
"""Topic name -> id: from version 13 on a request names its topics by these."""
NO_IDS: Final[TopicIds] = MappingProxyType({})


def metadata_frame(names: Sequence[str]) -> bytes:
    """A Metadata request for the ids of topics."""
    topics = [bytes(16) + put.string(name, is_flexible=True) + put.EMPTY_TAGS for name in names]
    body = put.array(len(topics), is_flexible=True) + b"".join(topics) + bytes(2) + put.EMPTY_TAGS
    return request_frame(3, k03_metadata.VERSION, body)


def read_ids(payload: bytes) -> TopicIds:
    start = response_body_start(3, k03_metadata.VERSION, payload)
    return {name: topic_id for topic_id, name in k03_metadata.read_response(payload[start:]).names.items()}


def produce_frame(
    version: int,
    acks: int,
    sent: Sequence[Sent],
    transactional_id: str | None = None,
    number: int = 0,
    ids: TopicIds = NO_IDS,
) -> bytes:
    """One ProduceRequest. Entries of one topic stand together, in their order."""
    topics: dict[str, list[tuple[int, bytes | None]]] = {}
    for topic, partition, records in sent:
        topics.setdefault(topic, []).append((partition, records))
    entries = list(topics.items())
    return produce_entries(entries, version, acks, number & 0x7FFFFFFF, "test", transactional_id, ids.get)


Answers = dict[tuple[str, int], PartitionProduceResponse]


def read_answers(version: int, payload: bytes, ids: TopicIds = NO_IDS) -> Answers:
    """The answer's partitions by (topic, index)."""
    response = k00_produce.read_response(version, payload[response_body_start(0, version, payload) :])
    names = {topic_id: name for name, topic_id in ids.items()}
    found = {
        (t.name if t.topic_id is None else names[t.topic_id], p.index): _with_all_errors(version, p)
        for t in response.topics
        for p in t.partitions
    }
    assert len(found) == sum(len(t.partitions) for t in response.topics), "a partition answered twice"
    return found


def _with_all_errors(version: int, partition: PartitionProduceResponse) -> PartitionProduceResponse:
    """The product reads the first errors alone; here every text counts."""
    written, flexible = partition.written_errors, version >= k00_produce.FLEXIBLE_FROM
    if written is None:
        return partition
    reader, errors = Reader(written.data), []
    for _ in range(written.count):
        errors.append(RecordError(reader.int32(), reader.nullable_string(flexible)))
        reader.tags(flexible)
    assert reader.remaining == 0
    return replace(partition, record_errors=tuple(errors), written_errors=None)


_FETCH: struct.Struct = struct.Struct(">iiiibii")
"""replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch"""
_FETCH_PARTITION: struct.Struct = struct.Struct(">iiqqi")
"""index, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes"""
_FETCHED_HEAD: struct.Struct = struct.Struct(">iihi")
"""correlation_id, throttle_time_ms, error_code, session_id"""
_FETCHED_PARTITION: struct.Struct = struct.Struct(">ihqqqi")
"""index, error_code, high_watermark, last_stable_offset, log_start_offset, aborted transactions"""


def fetch_frame(topic: str, partition: int, offset: int, max_bytes: int = 8 << 20) -> bytes:
    """Fetch v10 of one partition: the first version that may be answered with zstd."""
    name = topic.encode()
    body = _FETCH.pack(-1, 0, 0, max_bytes, 0, 0, -1) + struct.pack(">ih", 1, len(name)) + name
    body += struct.pack(">i", 1) + _FETCH_PARTITION.pack(partition, -1, offset, -1, max_bytes)
    return request_frame(1, 10, body + struct.pack(">i", 0))


def read_fetched(payload: bytes) -> bytes:
    """The records of a Fetch v10 answer with one partition."""
    at = _FETCHED_HEAD.size + 4
    at += 2 + struct.unpack_from(">h", payload, at)[0] + 4
    _, error_code, *_, aborted = _FETCHED_PARTITION.unpack_from(payload, at)
    assert error_code == 0, f"Fetch answered {error_code}"
    at += _FETCHED_PARTITION.size + 16 * max(aborted, 0)
    (size,) = struct.unpack_from(">i", payload, at)
    return payload[at + 4 : at + 4 + max(size, 0)]
