"""The names of the topics that producers name by id (Produce 13 and later): `TopicIds`.

The topics that exist are listed at the start. The name of another id is requested when a client names it
(`wanted` says in which turn). The names of more ids that come within `EVERY_MS` are requested together, so
that clients that invent ids cause ten requests a second at most. An id belongs to one topic for ever, so a
known name is not requested again.

Rules are by name. If brokers do not show the proxy's user every topic, clients are offered versions in which
requests name topics (`may_describe`). The proxy finds this out at the start and at each refresh, by a topic
that need not exist, so no client can change it. If a single topic is hidden, this concerns its id alone
(`denied`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tsproxy.cluster.admin_connection import AdminConnection
from tsproxy.cluster.metadata import topic_names
from tsproxy.log_events.catalogue import TOPIC_ID_DENIED, TOPIC_NAMES_DENIED
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling, bytes_of
from tsproxy.proxy.brokers.wanted import Wanted

EVERY_MS: Final = 100
MAX_ASKED: Final = 500
"""The most ids in one request. The others are in the next one."""
NAMES: Final = Ceiling(
    "topic ids with their names",
    most=100_000,
    most_bytes=48 << 20,
    when_full="the oldest is asked for again when a client names it",
    entry_bytes=2 * A_PLACE,  # they are published as a copy
)
DENIED: Final = Ceiling(
    "topic ids that the proxy may not describe",
    most=1_000,
    most_bytes=1 << 20,
    when_full="the oldest is asked for again when a client names it",
    entry_bytes=2 * A_PLACE,  # they are published as a copy
)
TOPIC_PROBED: Final = "is-every-topic-described-to-tsproxy"
"""A topic that need not exist. Nobody is allowed to describe it, unless they may describe every topic."""
_ADVICE: Final = (
    "clients are offered Produce 12 at most, where requests name topics; grant the operation Describe on all "
    "topics ('*') to the user of upstream.admin if they should use topic ids"
)


class TopicIds:
    def __init__(self) -> None:
        self.may_describe = True
        """True if the proxy's user may describe any topic."""
        self._asked_ms = -EVERY_MS
        self._denied = Bounded[bytes, None](DENIED)
        self._names = Bounded[bytes, str](NAMES, _bytes_of_name)
        self._published: Mapping[bytes, str] = MappingProxyType({})
        self._wanted = Wanted[bytes]()

    @property
    def names(self) -> Mapping[bytes, str]:
        """Topic id -> name: all names that are known now. The object is a new one after each change."""
        return self._published

    @property
    def denied(self) -> frozenset[bytes]:
        """The ids of topics that the proxy's user may not describe."""
        return frozenset(self._denied)

    def want(self, topic_id: bytes, address: str, now_ms: int) -> bool:
        """A producer at `address` names a topic by this id. Returns whether the topic's name will be
        requested."""
        if not self.may_describe or topic_id in self._names or topic_id in self._denied:
            return False
        return self._wanted.add(topic_id, address, now_ms)

    @property
    def due_ms(self) -> int | None:
        """When to call `read` next (monotonic ms); None if no id is wanted."""
        due_ms = self._wanted.due_ms
        return None if due_ms is None else max(due_ms, self._asked_ms + EVERY_MS)

    async def read_rights(self, connection: AdminConnection) -> None:
        """Find out whether the user may describe any topic, and whether it may describe the denied ones now.
        Raises ConversationError."""
        could, self.may_describe = self.may_describe, await connection.may_describe(TOPIC_PROBED)
        if could and not self.may_describe:
            TOPIC_NAMES_DENIED(needs="Describe on all topics", advice=_ADVICE)
        if not self.may_describe:
            self._denied.clear()
        elif denied := list(self._denied):
            answer = await topic_names(connection, denied)
            for topic_id in denied:
                if topic_id not in answer.denied:
                    self._denied.pop(topic_id)
            self.add(answer.names)

    async def read(self, connection: AdminConnection, now_ms: int) -> Mapping[bytes, str]:
        """Request the names of wanted ids, and return those that were found. Raises ConversationError."""
        self._asked_ms, asked = now_ms, self._wanted.take(now_ms, MAX_ASKED)
        answer = await topic_names(connection, asked)
        if denied := [topic_id for topic_id in asked if topic_id in answer.denied]:
            self._deny(denied)
        names = {topic_id: answer.names[topic_id] for topic_id in asked if topic_id in answer.names}
        self._wanted.known({*names, *denied})
        self._wanted.missed([topic_id for topic_id in asked if topic_id not in names], now_ms)
        return names

    def _deny(self, ids: list[bytes]) -> None:
        if not self._denied:
            TOPIC_ID_DENIED(
                needs="Describe on the topic",
                advice="clients that name it are offered Produce 12 at most, where requests name topics",
            )
        for topic_id in ids:
            self._denied.put(topic_id, None)

    def add(self, names: Mapping[bytes, str]) -> None:
        if not names:
            return
        for topic_id, name in names.items():
            self._names.put(topic_id, name)
        self._published = MappingProxyType(dict(self._names))


def _bytes_of_name(topic_id: bytes, name: str) -> int:
    return bytes_of(topic_id) + bytes_of(name) + NAMES.entry_bytes
