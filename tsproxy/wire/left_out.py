"""Leaves brokers out of answers: `leave_out`. It is needed only while the proxy cannot serve a broker.

The result is the answer of a broker that does not know the broker's listener (`KRaftMetadataCache.java`):

* Lists of brokers do not have it. It is nobody's controller (-1).
* Metadata: a partition that it leads has no leader (-1) and the error LEADER_NOT_AVAILABLE. A replica on it
  stays a replica, and is offline. DescribeTopicPartitions: the same without the error, as brokers do it.
* FindCoordinator: there is no coordinator (-1, "", -1), with the error COORDINATOR_NOT_AVAILABLE.

CurrentLeader in answers of Produce, Fetch and ShareFetch keeps the id. It has no address, and clients request
Metadata for an id whose address they do not know (KIP-951).
"""

import struct
from collections.abc import Callable
from typing import Final

from tsproxy.model.kafka import ApiKey, ErrorCode
from tsproxy.wire import primitives as put
from tsproxy.wire.addresses import LAYOUTS, NO_NODE, SIZES, Field, Kind
from tsproxy.wire.apis import APIS
from tsproxy.wire.primitives import Reader

IsLeftOut = Callable[[int], bool]
"""True for the id of a broker that is left out. False for NO_NODE."""


def _topics(*partition: Field) -> Field:
    return Field(
        "topics",
        Kind.ARRAY,
        fields=(
            Field("error_code", Kind.INT16),
            Field("name", Kind.STRING),
            Field("topic_id", Kind.UUID, since=10),
            Field("is_internal", Kind.INT8, since=1),
            Field("partitions", Kind.ARRAY, fields=partition),
            Field("topic_authorized_operations", Kind.INT32, since=8),
        ),
    )


_LEADER: Final = (
    Field("partition_index", Kind.INT32),
    Field("leader_id", Kind.BROKER_ID),
    Field("leader_epoch", Kind.INT32, since=7),
    Field("replica_nodes", Kind.REPLICAS),
    Field("isr_nodes", Kind.INT32_ARRAY),
)

_WITH_LEADERS: Final[dict[int, tuple[Field, ...]]] = {
    **LAYOUTS,
    ApiKey.METADATA: (
        *LAYOUTS[ApiKey.METADATA],
        Field("cluster_id", Kind.STRING, since=2),
        Field("controller_id", Kind.BROKER_ID, since=1),
        _topics(
            Field("error_code", Kind.INT16, if_left_out=ErrorCode.LEADER_NOT_AVAILABLE),
            *_LEADER,
            Field("offline_replicas", Kind.OFFLINE_REPLICAS, since=5),
        ),
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (
        Field("throttle_time_ms", Kind.INT32),
        _topics(
            Field("error_code", Kind.INT16),
            *_LEADER,
            Field("eligible_leader_replicas", Kind.INT32_ARRAY),
            Field("last_known_elr", Kind.INT32_ARRAY),
            Field("offline_replicas", Kind.OFFLINE_REPLICAS),
        ),
    ),
}
"""The layouts of `addresses`, up to the last id of a broker. DescribeTopicPartitions 0 has the topics of
Metadata 10."""

_METADATA_LIKE: Final = {ApiKey.DESCRIBE_TOPIC_PARTITIONS: 10}
"""The version of Metadata that has the same fields."""

_NOBODY: Final = put.int32(NO_NODE)


def leave_out(api_key: int, version: int, reader: Reader, is_left_out: IsLeftOut) -> bytes:
    """The reader's body without the brokers that are left out. Raises DecodeError if it does not fit its
    layout, and what the reader raises."""
    fields_version = _METADATA_LIKE.get(ApiKey(api_key), version)
    walk = _Walk(reader, fields_version, APIS[api_key].is_flexible(version), is_left_out)
    return walk.whole(_WITH_LEADERS[api_key])


class _Walk:
    """Reads one body field by field, and writes it again."""

    __slots__ = ("_is_flexible", "_is_left_out", "_reader", "_version")

    def __init__(self, reader: Reader, version: int, is_flexible: bool, is_left_out: IsLeftOut) -> None:
        self._is_flexible = is_flexible
        self._is_left_out = is_left_out
        self._reader = reader
        self._version = version

    def whole(self, fields: tuple[Field, ...]) -> bytes:
        # No layout begins with a list's element, so the message itself is never left out.
        return b"".join(self._fields(fields) or ()) + self._reader.take(self._reader.remaining)

    def _fields(self, fields: tuple[Field, ...]) -> list[bytes] | None:
        """The written fields of a struct. None if the struct is only the address of a left out broker."""
        written: list[bytes] = []
        places: list[Field] = []
        replicas: tuple[int, ...] = ()
        is_left_out = False
        for field in fields:
            if not field.since <= self._version <= field.until:
                continue
            data = self._field(field)
            if field.kind in (Kind.NODE_ID, Kind.BROKER_ID):
                is_left_out = self._is_left_out(int.from_bytes(data, "big", signed=True))
            elif field.kind is Kind.REPLICAS:
                replicas = self._ids(data)
            elif field.kind is Kind.OFFLINE_REPLICAS:
                data = self._offline(self._ids(data), replicas)
            places.append(field)
            written.append(data)
        if not is_left_out:
            return written
        is_address = any(field.kind is Kind.NODE_ID for field in places)
        if is_address and not any(field.if_left_out for field in places):
            return None
        return [self._without(field, data) for field, data in zip(places, written, strict=True)]

    def _without(self, field: Field, data: bytes) -> bytes:
        match field.kind:
            case Kind.NODE_ID | Kind.BROKER_ID | Kind.PORT:
                return _NOBODY
            case Kind.HOST:
                return put.string("", self._is_flexible)
            case _:
                return data if field.if_left_out is None else put.int16(field.if_left_out)

    def _field(self, field: Field) -> bytes:
        reader, start = self._reader, self._reader.pos
        match field.kind:
            case Kind.ARRAY:
                return self._array(field.fields)
            case Kind.STRUCT:
                return b"".join(self._fields(field.fields) or ()) + reader.tags(self._is_flexible)
            case Kind.STRING | Kind.HOST:
                reader.skip_nullable_string(self._is_flexible)
            case Kind.REPLICAS | Kind.OFFLINE_REPLICAS | Kind.INT32_ARRAY:
                reader.skip(4 * (reader.nullable_array(self._is_flexible) or 0))
            case kind:
                reader.skip(SIZES[kind])
        return bytes(reader.data[start : reader.pos])

    def _array(self, fields: tuple[Field, ...]) -> bytes:
        count = self._reader.nullable_array(self._is_flexible)
        if count is None:
            return put.array(None, self._is_flexible)
        elements: list[bytes] = []
        for _ in range(count):
            element = self._fields(fields)
            tags = self._reader.tags(self._is_flexible)
            if element is not None:
                elements.append(b"".join(element) + tags)
        return put.array(len(elements), self._is_flexible) + b"".join(elements)

    def _ids(self, data: bytes) -> tuple[int, ...]:
        reader = Reader(data)
        count = reader.nullable_array(self._is_flexible) or 0
        return struct.unpack(f">{count}i", reader.take(4 * count))

    def _offline(self, offline: tuple[int, ...], replicas: tuple[int, ...]) -> bytes:
        more = [replica for replica in replicas if self._is_left_out(replica) and replica not in offline]
        ids = (*offline, *more)
        return put.array(len(ids), self._is_flexible) + struct.pack(f">{len(ids)}i", *ids)
