"""The operations that the proxy's own user may do on topics: `topic_rights` (KIP-430)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from tsproxy.cluster.admin_connection import AdminConnection, ConversationError
from tsproxy.cluster.topic_names import METADATA
from tsproxy.wire.k03_metadata import VERSION, read_topics, write_named_request
from tsproxy.wire.primitives import DecodeError

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


async def topic_rights(connection: AdminConnection, topics: Collection[str]) -> list[TopicRights]:
    """The rights on these topics. No topic is created. Raises ConversationError."""
    answer = await connection.request(METADATA(write_named_request(topics)))
    try:
        found = read_topics(answer.body)
    except DecodeError as error:
        text = f"an answer to Metadata v{VERSION} that cannot be read: {error}"
        raise ConversationError(text) from error
    return [TopicRights(each.name or "", each.error_code, each.operations) for each in found]
