"""The names of the topics that producers name by id (Produce 13 and later): `TopicIds`.

The name of an id is requested at once. The names of more ids that come within `EVERY_MS` are requested
together, so that a client that invents ids causes ten requests a second at most. An id belongs to one topic
for ever, so a known name is not requested again. If an id has no name, the name may be requested again after
`ABSENT_MS`.

Rules are by name. If brokers do not show the proxy's user a name that a producer's request needs, `names` is
None until the next reload. Clients are then offered versions in which requests name topics.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import structlog

from tsproxy.cluster.admin_connection import AdminConnection
from tsproxy.cluster.topic_names import topic_names

log = structlog.get_logger()

EVERY_MS: Final = 100
ABSENT_MS: Final = 5_000
MOST_ABSENT: Final = 10_000
MOST_IDS: Final = 50_000
"""The most ids whose names are kept. Beyond this, the oldest ones are forgotten."""
MOST_WANTED: Final = 1_000
"""The most ids in one request. Beyond this, the name of an id is not requested until it is wanted again."""
_ADVICE: Final = (
    "clients are offered Produce 12 at most, where requests name topics; grant the operation Describe to the "
    "user of upstream.admin, and reload"
)


class TopicIds:
    def __init__(self) -> None:
        self._absent_ms: dict[bytes, int] = {}
        """The ids without a name, and when their names were requested."""
        self._asked_ms = -EVERY_MS
        self._is_denied = False
        self._names: dict[bytes, str] = {}
        self._wanted: dict[bytes, None] = {}

    @property
    def names(self) -> Mapping[bytes, str] | None:
        """Topic id -> name, a copy of all names that are known now. None if names are denied."""
        return None if self._is_denied else MappingProxyType(dict(self._names))

    def try_again(self) -> None:
        """Request names again: the proxy may have another user, or its user may have other permissions."""
        self._is_denied = False

    def want(self, topic_id: bytes, now_ms: int) -> bool:
        """A producer names a topic by this id. Returns whether the topic's name will be requested."""
        if self._is_denied or topic_id in self._names or len(self._wanted) >= MOST_WANTED:
            return False
        if now_ms < self._absent_ms.get(topic_id, now_ms - ABSENT_MS) + ABSENT_MS:
            return False
        self._wanted[topic_id] = None
        return True

    @property
    def due_ms(self) -> int | None:
        """When to call `read` next (monotonic ms); None if no id is wanted."""
        return self._asked_ms + EVERY_MS if self._wanted else None

    async def read(self, connection: AdminConnection, now_ms: int) -> Mapping[bytes, str]:
        """Request the names of the wanted ids, and return those that were found. Raises ConversationError."""
        self._asked_ms, wanted = now_ms, tuple(self._wanted)
        answer = await topic_names(connection, wanted)
        if answer.is_denied:
            self._is_denied = True
            log.warning("topic_names_denied", needs="Describe on the topics", advice=_ADVICE)
        found = answer.names
        for topic_id in wanted:
            del self._wanted[topic_id]
            self._absent_ms.pop(topic_id, None)
        self._absent_ms |= dict.fromkeys((each for each in wanted if each not in found), now_ms)
        while len(self._absent_ms) > MOST_ABSENT:
            del self._absent_ms[next(iter(self._absent_ms))]
        return {topic_id: found[topic_id] for topic_id in wanted if topic_id in found}

    def add(self, names: Mapping[bytes, str]) -> None:
        self._names.update(names)
        while len(self._names) > MOST_IDS:
            del self._names[next(iter(self._names))]
