"""The names of topics by their ids, over the proxy's own connection: `topic_names`."""

from collections.abc import Collection
from typing import Final

from tsproxy.cluster.admin_connection import AdminConnection, ConversationError
from tsproxy.cluster.raw_request import raw_api
from tsproxy.model.kafka import ApiKey
from tsproxy.wire.k03_metadata import VERSION, TopicNames, read_response, write_request
from tsproxy.wire.primitives import DecodeError

METADATA: Final = raw_api(ApiKey.METADATA, VERSION, f"Metadata v{VERSION} (Kafka 3.1 and newer)")


async def topic_names(connection: AdminConnection, topic_ids: Collection[bytes]) -> TopicNames:
    """The names of the topics that exist and may be seen. Raises ConversationError."""
    answer = await connection.request(METADATA(write_request(topic_ids)))
    try:
        return read_response(answer.body)
    except DecodeError as error:
        text = f"an answer to Metadata v{VERSION} that cannot be read: {error}"
        raise ConversationError(text) from error
