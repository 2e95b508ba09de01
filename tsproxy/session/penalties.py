"""Until when every compressed batch of a client is read after a bad one: `Penalties`.

With `inspect.compressed: adaptive`, most compressed batches of a trusted client stay unread. After a bad
batch of a topic, every compressed batch of this topic is read for `READ_ALL_MS`. The penalty belongs to an
address (for IPv6, to a /64) and a topic. A new connection, another client id, another library or a new view
do not change it, because a client can have all of these when it likes.

All penalties of a process are kept here, in bounded memory. No penalty is ever dropped early: an address with
bad batches of more than `MAX_TOPICS` topics has all of its topics read, and beyond `KEPT`, the oldest
penalties become a penalty for every address that comes anew.
"""

from collections.abc import Collection
from itertools import islice
from typing import Final
from weakref import WeakValueDictionary

from tsproxy.fastpath.adaptive import READ_ALL_MS
from tsproxy.model.addresses import counted_as
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling, bytes_of
from tsproxy.model.kafka import is_topic_name

MAX_TOPICS: Final = 16
KEPT: Final = Ceiling(
    f"addresses with bad batches of adaptive inspection, each with {MAX_TOPICS} topics",
    most=4_096,
    most_bytes=16 << 20,
    when_full="the oldest penalty holds for every address that comes anew",
    entry_bytes=A_PLACE + 400,
)

_AN_INT: Final = 32
_ANY_TOPIC: Final = ""
"""Stands for all topics. No topic has this name."""


class AddressPenalties(dict[str, int]):
    """The penalties of one address, by topic: until when every compressed batch is read, in Unix ms. All
    connections of the address share it, and the fast path asks it only if it is not empty."""

    __slots__ = ("__weakref__",)

    def until_ms(self, topic: str) -> int:
        return max(self.get(topic, 0), self.get(_ANY_TOPIC, 0))

    @property
    def longest_ms(self) -> int:
        return max(self.values(), default=0)

    def add(self, topics: Collection[str], now_ms: int) -> None:
        for over in [topic for topic, until_ms in self.items() if until_ms <= now_ms]:
            del self[over]
        self.update(dict.fromkeys(topics, now_ms + READ_ALL_MS))
        if len(self) > MAX_TOPICS:
            longest_ms = self.longest_ms
            self.clear()
            self[_ANY_TOPIC] = longest_ms


class Penalties:
    """The penalties of all addresses of one process."""

    __slots__ = ("_dropped_until_ms", "_in_use", "_kept")

    def __init__(self) -> None:
        self._in_use: WeakValueDictionary[str, AddressPenalties] = WeakValueDictionary()
        """Connections hold these, or `_kept` does."""
        self._kept = Bounded[str, AddressPenalties](KEPT, _bytes_of_penalties)
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
        batches are always read. More topics than MAX_TOPICS stand for all."""
        topics = list(islice(filter(is_topic_name, topics), MAX_TOPICS + 1))
        if not topics:
            return
        address, penalties = counted_as(client_address), self.of(client_address)
        self._kept.pop(address)  # its size changes
        penalties.add(topics, now_ms)
        while (oldest := self._kept.oldest) is not None and oldest[1].longest_ms <= now_ms:
            self._kept.pop(oldest[0])
        for _, dropped in self._kept.put(address, penalties):
            self._dropped_until_ms = max(self._dropped_until_ms, dropped.longest_ms)


def _bytes_of_penalties(address: str, penalties: AddressPenalties) -> int:
    topics = sum(A_PLACE + bytes_of(topic) + _AN_INT for topic in penalties)
    return bytes_of(address) + KEPT.entry_bytes + topics
