"""ListOffsets v7 over aiokafka's connection. aiokafka itself has no version that supports MAX_TIMESTAMP."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from tsproxy.cluster.admin_connection import AdminConnection, ConversationError
from tsproxy.cluster.raw_request import raw_api
from tsproxy.model.kafka import ApiKey
from tsproxy.wire.k02_list_offsets import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    VERSION,
    PartitionOffset,
    read_response,
    write_request,
)
from tsproxy.wire.primitives import DecodeError

_LIST_OFFSETS: Final = raw_api(ApiKey.LIST_OFFSETS, VERSION, f"ListOffsets v{VERSION} (Kafka 3.0 and newer)")


async def newest_timestamps(
    connection: AdminConnection, partitions: Sequence[tuple[str, int]], wanted: int = MAX_TIMESTAMP
) -> list[PartitionOffset]:
    """The broker's answer for each partition that it leads. `wanted` may be another offset than that of the
    newest timestamp. Raises ConversationError."""
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic, partition in partitions:
        by_topic[topic].append(partition)
    answer = await connection.request(_LIST_OFFSETS(write_request(by_topic, wanted)))
    try:
        offsets = read_response(answer.body)
    except DecodeError as error:
        raise ConversationError(
            f"an answer to ListOffsets v{VERSION} that cannot be read: {error}"
        ) from error
    if {(one.topic, one.partition) for one in offsets} != set(partitions):
        raise ConversationError(f"an answer to ListOffsets v{VERSION} about other partitions than asked for")
    return offsets


async def without_records(
    connection: AdminConnection, partitions: Sequence[tuple[str, int]]
) -> set[tuple[str, int]]:
    """The partitions among these that hold no record. Raises ConversationError."""
    first, end = [await newest_timestamps(connection, partitions, wanted) for wanted in (EARLIEST, LATEST)]
    starts = {(one.topic, one.partition): one.offset for one in first}
    return {
        (one.topic, one.partition) for one in end if starts[one.topic, one.partition] == one.offset >= 0
    }  # after an error the offset is -1
