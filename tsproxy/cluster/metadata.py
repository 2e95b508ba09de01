"""Questions about topics that Metadata answers: the names of ids, all topics, and the operations that the
proxy's own user may do (KIP-430)."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from tsproxy.cluster.admin_connection import AdminConnection, ConversationError
from tsproxy.cluster.raw_request import raw_api
from tsproxy.model.kafka import ApiKey
from tsproxy.wire.k03_metadata import (
    VERSION,
    Topic,
    TopicNames,
    read_response,
    read_topics,
    write_named_request,
    write_request,
)
from tsproxy.wire.primitives import DecodeError

_METADATA: Final = raw_api(ApiKey.METADATA, VERSION, f"Metadata v{VERSION} (Kafka 3.1 and newer)")

WRITE: Final = 4
"""`AclOperation.WRITE`: its code is the number of its bit."""


@dataclass(frozen=True, slots=True)
class TopicRights:
    """The operations that are allowed on one topic. `operations` is a bit field by the codes of
    `AclOperation`."""

    topic: str
    error_code: int
    operations: int

    def may(self, operation: int) -> bool:
        return bool(self.operations & 1 << operation)


async def topic_names(connection: AdminConnection, topic_ids: Collection[bytes]) -> TopicNames:
    """The names of the topics that exist and may be seen. Raises ConversationError."""
    answer = await connection.request(_METADATA(write_request(topic_ids)))
    try:
        return read_response(answer.body)
    except DecodeError as error:
        raise _unreadable(error) from error


async def all_topics(connection: AdminConnection) -> Sequence[Topic]:
    """All topics that the user of the connection may describe. Raises ConversationError."""
    return await _topics(connection, write_request(None))


async def topic_rights(connection: AdminConnection, topics: Collection[str]) -> list[TopicRights]:
    """The rights on these topics. No topic is created. Raises ConversationError."""
    answers = await _topics(connection, write_named_request(topics))
    return [TopicRights(topic.name or "", topic.error_code, topic.operations) for topic in answers]


async def _topics(connection: AdminConnection, request: bytes) -> Sequence[Topic]:
    """The answer lists all partitions, too: 25 MB for 600,000. A thread reads it."""
    answer = await connection.request(_METADATA(request))
    try:
        return await asyncio.to_thread(read_topics, answer.body)
    except DecodeError as error:
        raise _unreadable(error) from error


def _unreadable(error: DecodeError) -> ConversationError:
    return ConversationError(f"an answer to Metadata v{VERSION} that cannot be read: {error}")
