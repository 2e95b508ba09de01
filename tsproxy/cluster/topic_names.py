"""The names of topics by their ids, over the proxy's own connection: `topic_names`, `all_topics`."""

import asyncio
from collections.abc import Collection, Sequence
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
    write_request,
)
from tsproxy.wire.primitives import DecodeError

METADATA: Final = raw_api(ApiKey.METADATA, VERSION, f"Metadata v{VERSION} (Kafka 3.1 and newer)")


async def topic_names(connection: AdminConnection, topic_ids: Collection[bytes]) -> TopicNames:
    """The names of the topics that exist and may be seen. Raises ConversationError."""
    answer = await connection.request(METADATA(write_request(topic_ids)))
    try:
        return read_response(answer.body)
    except DecodeError as error:
        raise _unreadable(error) from error


async def all_topics(connection: AdminConnection) -> Sequence[Topic]:
    """All topics that the user of the connection may describe. Raises ConversationError.

    The answer lists all partitions, too: 25 MB for 600,000. A thread reads it.
    """
    answer = await connection.request(METADATA(write_request(None)))
    try:
        return await asyncio.to_thread(read_topics, answer.body)
    except DecodeError as error:
        raise _unreadable(error) from error


def _unreadable(error: DecodeError) -> ConversationError:
    return ConversationError(f"an answer to Metadata v{VERSION} that cannot be read: {error}")
