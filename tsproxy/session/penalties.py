"""Until when every compressed batch of a client is read after a bad one: `Penalties`.

With `inspect.compressed: adaptive`, most compressed batches of a trusted client stay unread. After a bad
batch of a topic, every compressed batch of this topic is read for `READ_ALL_MS`. The penalty belongs to an
address (for IPv6, to a /64) and a topic. A new connection, another client id, another library or a new view
do not change it, because a client can have all of these when it likes.

All penalties of a process are kept here, in bounded memory. No penalty is ever dropped early: an address with
bad batches of more than `MOST_TOPICS` topics has all of its topics read, and if more than `MOST_ADDRESSES`
addresses have penalties, the oldest ones become a penalty for every address that comes anew.
"""

from collections.abc import Collection
from itertools import islice
from typing import Final
from weakref import WeakValueDictionary

from tsproxy.fastpath.adaptive import READ_ALL_MS
from tsproxy.model.addresses import counted_as
from tsproxy.model.kafka import is_topic_name

MOST_TOPICS: Final = 16
MOST_ADDRESSES: Final = 4_096

_ANY_TOPIC: Final = ""
"""Stands for all topics. No topic has this name."""


class AddressPenalties(dict[str, int]):
    """The penalties of one address, by topic: until when every compressed batch is read, in Unix ms. All
    connections of the address share it, and the fast path asks it only if it is not empty."""

    __slots__ = ("__weakref__",)

    def until_ms(self, topic: str) -> int:
        """Until when every compressed batch of the topic is read."""
        return max(self.get(topic, 0), self.get(_ANY_TOPIC, 0))

    def add(self, topics: Collection[str], now_ms: int) -> None:
        """Batches of these topics were bad."""
        for over in [topic for topic, until_ms in self.items() if until_ms <= now_ms]:
            del self[over]
        self.update(dict.fromkeys(topics, now_ms + READ_ALL_MS))
        if len(self) > MOST_TOPICS:
            longest = max(self.values())
            self.clear()
            self[_ANY_TOPIC] = longest


class Penalties:
    """The penalties of all addresses of one process."""

    __slots__ = ("_dropped_until_ms", "_in_use", "_kept")

    def __init__(self) -> None:
        self._in_use: WeakValueDictionary[str, AddressPenalties] = WeakValueDictionary()
        """Connections hold these, or `_kept` does."""
        self._kept: dict[str, AddressPenalties] = {}
        """Addresses with penalties. The one whose last bad batch is the oldest comes first."""
        self._dropped_until_ms = 0

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, client_address: str) -> AddressPenalties:
        """The penalties of the address. They stay the same object as long as the caller holds it."""
        address = counted_as(client_address)
        found = self._in_use.get(address)
        if found is None:
            found = self._in_use[address] = AddressPenalties()
            if self._dropped_until_ms:
                found[_ANY_TOPIC] = self._dropped_until_ms
        return found

    def add(self, client_address: str, topics: Collection[str], now_ms: int) -> None:
        """Batches of these topics were bad. A name that no topic can have needs no penalty, because its
        batches are always read. More topics than MOST_TOPICS stand for all."""
        topics = list(islice(filter(is_topic_name, topics), MOST_TOPICS + 1))
        if not topics:
            return
        address, penalties = counted_as(client_address), self.of(client_address)
        penalties.add(topics, now_ms)
        self._kept.pop(address, None)
        self._kept[address] = penalties
        self._drop_oldest(now_ms)

    def _drop_oldest(self, now_ms: int) -> None:
        """Remove addresses from the beginning of `_kept` until the first one left has a penalty, and at most
        MOST_ADDRESSES are left."""
        while True:
            oldest = next(iter(self._kept))
            until_ms = max(self._kept[oldest].values())
            if until_ms > now_ms and len(self._kept) <= MOST_ADDRESSES:
                return
            if until_ms > now_ms:
                self._dropped_until_ms = max(self._dropped_until_ms, until_ms)
            del self._kept[oldest]
