"""ListOffsets v7 over aiokafka's connection. aiokafka itself has no version that supports MAX_TIMESTAMP.

aiokafka only builds the frame. `wire` defines the layout.
"""

from collections import defaultdict
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Self

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Schema

from tsproxy.cluster.admin_connection import AdminConnection, ConversationError
from tsproxy.model.kafka import ApiKey
from tsproxy.wire.k02_list_offsets import VERSION, PartitionOffset, read_response, write_request
from tsproxy.wire.primitives import DecodeError


async def newest_timestamps(
    connection: AdminConnection, partitions: Sequence[tuple[str, int]]
) -> list[PartitionOffset]:
    """The broker's answer for each partition that it leads. Raises ConversationError."""
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic, partition in partitions:
        by_topic[topic].append(partition)
    answer = await connection.ask(_ListOffsets(write_request(by_topic)))
    try:
        found = read_response(answer.body)
    except DecodeError as error:
        raise ConversationError(
            f"an answer to ListOffsets v{VERSION} that cannot be read: {error}"
        ) from error
    if {(one.topic, one.partition) for one in found} != set(partitions):
        raise ConversationError(f"an answer to ListOffsets v{VERSION} about other partitions than asked for")
    return found


class _Answer(Response):  # type: ignore[misc]  # aiokafka carries no types
    API_KEY = ApiKey.LIST_OFFSETS
    API_VERSION = VERSION
    SCHEMA = Schema()

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body

    @classmethod
    def decode(cls, data: BytesIO) -> Self:
        return cls(data.read())


class _Struct(RequestStruct):  # type: ignore[misc]  # the same
    API_KEY = ApiKey.LIST_OFFSETS
    API_VERSION = VERSION
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _Answer
    SCHEMA = Schema()

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._body = body

    def encode(self) -> bytes:
        return self._body


class _ListOffsets(Request[_Struct]):  # type: ignore[misc]  # the same
    API_KEY = ApiKey.LIST_OFFSETS

    def __init__(self, body: bytes) -> None:
        self._body = body

    def build(self, request_struct_class: type[_Struct]) -> Any:
        return request_struct_class(self._body)

    def __str__(self) -> str:
        return f"ListOffsets v{VERSION} (Kafka 3.0 and newer)"
