"""Rewrites broker addresses in answers, by one table of layouts and one walk over the bytes.

Source: the message schemas of Kafka 4.4.0. In the versions that the proxy offers, these answers name
brokers: Metadata, FindCoordinator, DescribeCluster and ShareAcknowledge (all here), Produce from v10
(`k00_produce` decodes it anyway), Fetch from v16 and ShareFetch (`k01_k78_fetch` blanks the names,
because these answers stream). DescribeQuorum from v2 names controllers (`k55_describe_quorum` leaves the
addresses out). DescribeTopicPartitions has no address, but ids of leaders (`left_out`).

A layout lists a message's fields up to the last address. The bytes after it are copied. A struct with a
`host` names its node first, so one pass can replace host and port. Unknown tagged fields are kept. Node ids
never change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from tsproxy.model.kafka import ApiKey, ErrorCode
from tsproxy.model.view import Endpoint
from tsproxy.wire import primitives as put
from tsproxy.wire.apis import APIS, NEVER
from tsproxy.wire.primitives import DecodeError, Reader

MapEndpoint = Callable[[int, str, int], Endpoint]
"""Maps (node_id, host, port) as the broker sent them to the address that the client gets. It may raise."""


class Kind(Enum):
    """The layout of a field. NODE_ID, HOST and PORT are an int32, a string and an int32. BROKER_ID is the id
    of a broker without its address. `left_out` alone uses the arrays of broker ids."""

    INT8 = auto()
    INT16 = auto()
    INT32 = auto()
    UUID = auto()
    STRING = auto()
    BROKER_ID = auto()
    INT32_ARRAY = auto()
    REPLICAS = auto()
    OFFLINE_REPLICAS = auto()
    NODE_ID = auto()
    HOST = auto()
    PORT = auto()
    STRUCT = auto()
    ARRAY = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """One field. It is present from version `since` up to and including `until`.

    `if_left_out`: the error code in this field if the broker that its struct names is left out (`left_out`).
    """

    name: str
    kind: Kind
    since: int = 0
    until: int = NEVER
    fields: tuple["Field", ...] = ()
    if_left_out: int | None = None


def _endpoint(node_id: str, *more: Field) -> tuple[Field, ...]:
    return (Field(node_id, Kind.NODE_ID), Field("host", Kind.HOST), Field("port", Kind.PORT), *more)


_RACK: Final = Field("rack", Kind.STRING)

_NODE_ENDPOINTS: Final = Field("node_endpoints", Kind.ARRAY, fields=_endpoint("node_id", _RACK))

_CURRENT_LEADER: Final = Field(
    "current_leader", Kind.STRUCT, fields=(Field("leader_id", Kind.INT32), Field("leader_epoch", Kind.INT32))
)

LAYOUTS: Final[dict[int, tuple[Field, ...]]] = {
    ApiKey.METADATA: (
        Field("throttle_time_ms", Kind.INT32, since=3),
        Field("brokers", Kind.ARRAY, fields=_endpoint("node_id", Field("rack", Kind.STRING, since=1))),
    ),
    ApiKey.FIND_COORDINATOR: (
        Field("throttle_time_ms", Kind.INT32, since=1),
        Field("error_code", Kind.INT16, until=3, if_left_out=ErrorCode.COORDINATOR_NOT_AVAILABLE),
        Field("error_message", Kind.STRING, since=1, until=3),
        Field("node_id", Kind.NODE_ID, until=3),
        Field("host", Kind.HOST, until=3),
        Field("port", Kind.PORT, until=3),
        Field(
            "coordinators",
            Kind.ARRAY,
            since=4,
            fields=(
                Field("key", Kind.STRING),
                *_endpoint("node_id"),
                Field("error_code", Kind.INT16, if_left_out=ErrorCode.COORDINATOR_NOT_AVAILABLE),
                Field("error_message", Kind.STRING),
            ),
        ),
    ),
    ApiKey.DESCRIBE_CLUSTER: (
        Field("throttle_time_ms", Kind.INT32),
        Field("error_code", Kind.INT16),
        Field("error_message", Kind.STRING),
        Field("endpoint_type", Kind.INT8, since=1),
        Field("cluster_id", Kind.STRING),
        Field("controller_id", Kind.BROKER_ID),
        Field(
            "brokers",
            Kind.ARRAY,
            fields=_endpoint("broker_id", _RACK, Field("is_fenced", Kind.INT8, since=2)),
        ),
    ),
    ApiKey.SHARE_ACKNOWLEDGE: (
        Field("throttle_time_ms", Kind.INT32),
        Field("error_code", Kind.INT16),
        Field("error_message", Kind.STRING),
        Field("acquisition_lock_timeout_ms", Kind.INT32, since=2),
        Field(
            "responses",
            Kind.ARRAY,
            fields=(
                Field("topic_id", Kind.UUID),
                Field(
                    "partitions",
                    Kind.ARRAY,
                    fields=(
                        Field("partition_index", Kind.INT32),
                        Field("error_code", Kind.INT16),
                        Field("error_message", Kind.STRING),
                        _CURRENT_LEADER,
                    ),
                ),
            ),
        ),
        _NODE_ENDPOINTS,
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (),
}

NO_NODE: Final = -1
"""The node id of an address without a node, for example if there is no coordinator. An answer then has (-1,
"", -1), and this address is not rewritten."""

SIZES: Final = {
    Kind.INT8: 1,
    Kind.INT16: 2,
    Kind.INT32: 4,
    Kind.UUID: 16,
    Kind.BROKER_ID: 4,
    Kind.NODE_ID: 4,
    Kind.PORT: 4,
}
"""The sizes of fields that always have the same size, in bytes."""


def rewrite(api_key: int, version: int, reader: Reader, endpoint_of: MapEndpoint) -> bytes:
    """The reader's body with each broker's host and port replaced by the result of `endpoint_of`.

    Raises DecodeError if the body does not fit its layout, and any error that the reader or `endpoint_of`
    raises.
    """
    walk = _Walk(reader, version, APIS[api_key].is_flexible(version), endpoint_of)
    walk.fields(LAYOUTS[api_key])
    return walk.finish()


class _Walk:
    """One pass over one body. It copies the bytes between addresses and replaces addresses."""

    __slots__ = ("_copied", "_endpoint_of", "_flexible", "_out", "_reader", "_version")

    def __init__(self, reader: Reader, version: int, flexible: bool, endpoint_of: MapEndpoint) -> None:
        self._reader = reader
        self._version = version
        self._flexible = flexible
        self._endpoint_of = endpoint_of
        self._out: list[bytes | memoryview] = []
        self._copied = 0

    def finish(self) -> bytes:
        self._out.append(self._reader.data[self._copied :])
        return b"".join(self._out)

    def fields(self, fields: tuple[Field, ...]) -> None:
        node_id = NO_NODE
        for field in fields:
            if not field.since <= self._version <= field.until:
                continue
            if field.kind is Kind.NODE_ID:
                node_id = self._reader.int32()
            elif field.kind is Kind.HOST:
                self._address(node_id)
            else:
                self._plain(field)

    def _plain(self, field: Field) -> None:
        reader = self._reader
        match field.kind:
            case Kind.STRING:
                reader.skip_nullable_string(self._flexible)
            case Kind.ARRAY:
                for _ in range(reader.nullable_array(self._flexible) or 0):
                    self._struct(field.fields)
            case Kind.STRUCT:
                self._struct(field.fields)
            case Kind.PORT:
                pass  # read together with its host
            case kind:
                reader.skip(SIZES[kind])

    def _struct(self, fields: tuple[Field, ...]) -> None:
        self.fields(fields)
        self._reader.tags(self._flexible)

    def _address(self, node_id: int) -> None:
        reader = self._reader
        start = reader.pos
        host, port = reader.string(self._flexible), reader.int32()
        if node_id == NO_NODE:
            if host:
                raise DecodeError("an address without a node id")
            return
        endpoint = self._endpoint_of(node_id, host, port)
        self._out += [
            reader.data[self._copied : start],
            put.string(endpoint.host, self._flexible),
            put.int32(endpoint.port),
        ]
        self._copied = reader.pos
