"""The names of topics that a ProduceRequest names by id, from version 13 on (KIP-516).

Rules and limits need the name of a topic, so a batch is judged only if its topic has a name. A request with
an id whose name is not known yet waits for the name, for at most `NAME_WAIT_MS`. Without a name, the answer
for the topic is UNKNOWN_TOPIC_ID (100), as brokers answer while they do not know a topic yet. Clients then
send the batch again. The other topics of the request are not affected.

A client that was answered so may have sent more batches of the same topic already. If the name came now,
these would overtake the first one. So for `SETTLE_MS` the answer for this id stays the same.

If the proxy's user may not describe topics, clients are offered version 12, in which requests name topics.
If it may not describe a single topic (`View.denied_ids`), only clients at an address that has named this
topic by id are offered version 12 (`NamesOnly`). Their connection ends, since versions are agreed for each
connection.
"""

from collections import ChainMap
from collections.abc import Iterable, Iterator, MutableMapping
from itertools import islice
from typing import Final, cast

from tsproxy.model.addresses import counted_as
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling, Owner
from tsproxy.model.kafka import ApiKey, ErrorCode, is_topic_name
from tsproxy.model.produce import ProduceRequest, TopicKey
from tsproxy.model.verdict import Reason, Reject
from tsproxy.model.view import View
from tsproxy.wire.apis import APIS
from tsproxy.wire.k00_produce import TOPIC_IDS_FROM, TopicNames

NAME_WAIT_MS: Final = 1_000
SETTLE_MS: Final = 250
MAX_WAITED_FOR: Final = 50
"""The most ids, and the most topics, of one request that are worth a question. All topics that exist at the
start are known, so a request has a few new ones at most, or it has invented ones."""
ADDRESSES: Final = Ceiling(
    "addresses of clients that named a topic by an id which the proxy may not describe",
    most=10_000,
    most_bytes=4 << 20,
    when_full="the oldest is offered topic ids again",
    entry_bytes=A_PLACE,
)
GIVEN_UP_IDS: Final = Ceiling(
    "topic ids whose names did not come in time",
    most=1_000,
    most_bytes=1 << 20,
    when_full="a request waits for the oldest again",
    entry_bytes=A_PLACE + 32,
    owner=Owner.CONNECTION,
)
GIVEN_UP_TOPICS: Final = Ceiling(
    "topics whose limits did not come in time",
    most=MAX_WAITED_FOR,
    most_bytes=64 << 10,
    when_full="a request waits for the oldest again",
    entry_bytes=A_PLACE,
    owner=Owner.CONNECTION,
)

UNNAMED: Final = Reject(
    ErrorCode.UNKNOWN_TOPIC_ID,
    None,
    Reason.UNKNOWN_TOPIC_ID,
    detail="the proxy does not know the name of this topic id",
)
"""The verdict on a batch whose topic has no name. Brokers send no text with this error."""


def newest_offered(view: View, *, names_only: bool) -> int:
    """The newest version of Produce that a client is offered. `names_only`: the client's address is in
    `NamesOnly`."""
    needs_names = not view.may_describe or (names_only and bool(view.denied_ids))
    return TOPIC_IDS_FROM - 1 if needs_names else APIS[ApiKey.PRODUCE].max_version


class NamesOnly:
    """The addresses of clients that named a topic by an id which the proxy may not describe."""

    __slots__ = ("_addresses",)

    def __init__(self) -> None:
        self._addresses = Bounded[str, None](ADDRESSES)

    def __contains__(self, client_address: str) -> bool:
        return counted_as(client_address) in self._addresses

    def __len__(self) -> int:
        return len(self._addresses)

    def add(self, client_address: str) -> None:
        self._addresses.put(counted_as(client_address), None)


class IdsGivenUp:
    """The ids of one session whose names did not come in time, until their answers have settled."""

    __slots__ = ("_until_ms",)

    def __init__(self) -> None:
        self._until_ms = Bounded[bytes, int](GIVEN_UP_IDS)

    def __len__(self) -> int:
        return len(self._until_ms)

    @property
    def held_bytes(self) -> int:
        return self._until_ms.room.held_bytes

    def add(self, ids: Iterable[bytes], now_ms: int) -> None:
        """The time of an id that has not settled yet stays, or a client that tries often would never get a
        name."""
        self._forget(now_ms)
        for topic_id in ids:
            if topic_id not in self._until_ms:
                self._until_ms.put(topic_id, now_ms + SETTLE_MS)

    def names(self, view: View, now_ms: int) -> TopicNames:
        """The names by which a request is judged now."""
        self._forget(now_ms)
        names = view.topic_names
        if not self._until_ms:
            return names
        return ChainMap(dict.fromkeys(self._until_ms, ""), cast("MutableMapping[bytes, str]", names))

    def missing(self, request: ProduceRequest, view: View) -> frozenset[bytes]:
        """The ids for whose names this request should wait."""
        return frozenset(islice(self._missing(request, view), MAX_WAITED_FOR))

    def _missing(self, request: ProduceRequest, view: View) -> Iterator[bytes]:
        for topic in request.topics:
            topic_id = topic.topic_id
            if topic_id is not None and topic_id not in self._until_ms and is_awaited(topic_id, view):
                yield topic_id

    def _forget(self, now_ms: int) -> None:
        for topic_id in [topic_id for topic_id, until_ms in self._until_ms.items() if until_ms <= now_ms]:
            self._until_ms.pop(topic_id)


class TopicsGivenUp:
    """The topics of one session whose limits did not come in time. No other request waits for them: perhaps
    they do not exist."""

    __slots__ = ("_topics",)

    def __init__(self) -> None:
        self._topics = Bounded[str, None](GIVEN_UP_TOPICS)

    def __len__(self) -> int:
        return len(self._topics)

    @property
    def held_bytes(self) -> int:
        return self._topics.room.held_bytes

    def add(self, topics: Iterable[str]) -> None:
        for topic in topics:
            self._topics.put(topic, None)

    def missing(self, request: ProduceRequest, view: View) -> frozenset[str]:
        """The topics for whose limits this request should wait."""
        if not _asks_for_limits(view):
            return frozenset()
        names = (topic.name for topic in request.topics)
        missing = (name for name in names if name not in self._topics and is_awaited(name, view))
        return frozenset(islice(missing, MAX_WAITED_FOR))


def is_awaited(key: TopicKey, view: View) -> bool:
    """True if this id has no name yet, or this topic no limits, and may get them."""
    if isinstance(key, str):
        known = key in view.topics or key in view.unreadable_topics
        return not known and _asks_for_limits(view) and is_topic_name(key)
    if key in view.topic_names:
        return False
    return not is_denied(key, view)


def _asks_for_limits(view: View) -> bool:
    return view.reads_limits and view.policy.asks_broker


def is_denied(topic_id: bytes, view: View) -> bool:
    """True if this id has no name, and the proxy may not ask for it."""
    return not view.may_describe or topic_id in view.denied_ids
