"""Metadata (key 3), version 12: asks for topics by their ids or names, for the proxy itself.

Source: `MetadataRequest.json`, `MetadataResponse.json`, KIP-516. v9 flexible · v10 topic ids · v12 a request
may name topics by id, and a topic without a name has null. Only this version is written here. Answers to
clients are rewritten by `addresses`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from tsproxy.model.kafka import ErrorCode
from tsproxy.wire import primitives as put
from tsproxy.wire.primitives import EMPTY_TAGS, Reader

VERSION: Final = 12
_TOPIC_ID_BYTES: Final = 16
_NO: Final = put.int8(0)
_YES: Final = put.int8(1)
_NO_ID: Final = bytes(_TOPIC_ID_BYTES)


def write_request(topic_ids: Collection[bytes] | None) -> bytes:
    """The body of a request for the topics with these ids; None: for all topics. No topic is created."""
    if topic_ids is None:
        return put.unsigned_varint(0) + _NO + _NO + EMPTY_TAGS
    topics = [topic_id + put.string(None, is_flexible=True) + EMPTY_TAGS for topic_id in topic_ids]
    # allow_auto_topic_creation, include_topic_authorized_operations
    return b"".join([put.array(len(topics), is_flexible=True), *topics, _NO, _NO, EMPTY_TAGS])


def write_named_request(topics: Collection[str]) -> bytes:
    """The body of a request for the topics with these names, and for the operations on them that the user of
    the connection is authorized for (KIP-430). No topic is created."""
    named = [_NO_ID + put.string(topic, is_flexible=True) + EMPTY_TAGS for topic in topics]
    return b"".join([put.array(len(named), is_flexible=True), *named, _NO, _YES, EMPTY_TAGS])


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic of an answer. `operations` has a bit for each operation that the user of the connection is
    authorized for. It is the lowest int32 if the request did not ask for operations."""

    error_code: int
    name: str | None
    topic_id: bytes
    is_internal: bool
    operations: int


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The topics' names in an answer, by id. `denied`: the ids of topics that the user of the connection may
    not describe."""

    names: Mapping[bytes, str]
    denied: frozenset[bytes]


def read_response(body: bytes | memoryview) -> TopicNames:
    """The names in a broker's answer. Raises DecodeError."""
    topics = read_topics(body)
    denied = {topic.topic_id for topic in topics if topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    # A topic with an error may have a name, too, for example a topic without a leader.
    return TopicNames({topic.topic_id: topic.name for topic in topics if topic.name}, frozenset(denied))


def read_topics(body: bytes | memoryview) -> list[Topic]:
    """The topics in a broker's answer. Raises DecodeError."""
    reader = Reader(body)
    reader.skip(4)  # throttle_time_ms
    for _ in range(reader.array(is_flexible=True)):
        reader.skip(4)  # node_id
        reader.skip_nullable_string(is_flexible=True)
        reader.skip(4)  # port
        reader.skip_nullable_string(is_flexible=True)  # rack
        reader.tags(is_flexible=True)
    reader.skip_nullable_string(is_flexible=True)  # cluster_id
    reader.skip(4)  # controller_id
    return [_topic(reader) for _ in range(reader.array(is_flexible=True))]


def _topic(reader: Reader) -> Topic:
    error_code = reader.int16()
    name = reader.nullable_string(is_flexible=True)
    topic_id = bytes(reader.take(_TOPIC_ID_BYTES))
    is_internal = reader.int8() != 0
    for _ in range(reader.array(is_flexible=True)):
        _skip_partition(reader)
    operations = reader.int32()
    reader.tags(is_flexible=True)
    return Topic(error_code, name, topic_id, is_internal, operations)


def _skip_partition(reader: Reader) -> None:
    reader.skip(2 + 4 + 4 + 4)  # error_code, partition_index, leader_id, leader_epoch
    for _ in range(3):  # replica_nodes, isr_nodes, offline_replicas
        reader.skip(4 * reader.array(is_flexible=True))
    reader.tags(is_flexible=True)
