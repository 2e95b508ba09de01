"""The trust by which compressed batches may stay unread, and the penalties after bad ones: `Trust`.

With adaptive inspection (`fastpath.adaptive`), most compressed batches of a trusted client stay unread. Trust
belongs to a client and a topic, and survives a connection: a short producer that comes back does not begin
at 0. It holds for one policy of the topic: other limits take it away, a new view with equal ones does not.

After a bad batch of a topic, every compressed batch of this topic is read for `READ_ALL_MS`. The penalty
belongs to an address (for IPv6, to a /64) and a topic. A new connection, another client id, another library
or a new view do not change it, because a client can have all of these when it likes.

All of this is kept for a process, in bounded memory. Trust may be lost early: then more is read. No penalty
is ever dropped early: an address with bad batches of more than `MAX_TOPICS` topics has all of its topics
read, and beyond `KEPT`, the oldest penalties become a penalty for every address that comes anew.
"""

from collections.abc import Collection
from itertools import islice
from typing import Final
from weakref import WeakValueDictionary

from tsproxy.fastpath import TopicTrust
from tsproxy.fastpath.adaptive import READ_ALL_MS
from tsproxy.model.addresses import counted_as
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling, bytes_of
from tsproxy.model.kafka import is_topic_name
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import TopicPolicy

MAX_TOPICS: Final = 16
KEPT: Final = Ceiling(
    f"addresses with bad batches of adaptive inspection, each with {MAX_TOPICS} topics",
    most=4_096,
    most_bytes=16 << 20,
    when_full="the oldest penalty holds for every address that comes anew",
    entry_bytes=A_PLACE + 400,
)
TRUSTED: Final = Ceiling(
    "clients and topics whose compressed batches may stay unread",
    most=4_096,
    most_bytes=8 << 20,
    when_full="the oldest loses its trust when it connects again",
    entry_bytes=A_PLACE + 1_200,
)

_AN_INT: Final = 32
_ANY_TOPIC: Final = ""
"""Stands for all topics. No topic has this name."""


_Client = tuple[str | None, ...]
"""All that is known of a client and stays when it connects again, its transactional id, and a topic."""


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


class Trust:
    """The trust and the penalties of all clients of one process."""

    __slots__ = ("_dropped_until_ms", "_in_use", "_kept", "_trusted")

    def __init__(self) -> None:
        self._in_use: WeakValueDictionary[str, AddressPenalties] = WeakValueDictionary()
        """Connections hold these, or `_kept` does."""
        self._kept = Bounded[str, AddressPenalties](KEPT, _bytes_of_penalties)
        """Addresses with penalties. The one whose last bad batch is the oldest comes first."""
        self._dropped_until_ms = 0
        self._trusted = Bounded[_Client, tuple[TopicPolicy, TopicTrust]](TRUSTED)

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, peer: Peer, transactional_id: str | None, topic: str, policy: TopicPolicy) -> TopicTrust:
        """The trust of the client for the topic. All connections with the same facts share it. Only for a
        topic whose brokers reject all that the policy would: a client may claim another one's id."""
        client = (
            *(peer.listener, peer.client_address, peer.client_id, peer.principal, peer.client_software),
            *(transactional_id, topic),
        )
        kept = self._trusted.get(client)
        trust = kept[1] if kept is not None and kept[0] == policy else TopicTrust()
        self._trusted.put(client, (policy, trust))
        return trust

    def penalties_of(self, client_address: str) -> AddressPenalties:
        """The penalties of the address. They stay the same object as long as the caller holds it."""
        address = counted_as(client_address)
        penalties = self._in_use.get(address)
        if penalties is None:
            penalties = self._in_use[address] = AddressPenalties()
            if self._dropped_until_ms:
                penalties[_ANY_TOPIC] = self._dropped_until_ms
        return penalties

    def punish(self, client_address: str, topics: Collection[str], now_ms: int) -> None:
        """Batches of these topics were bad. A name that no topic can have needs no penalty, because its
        batches are always read. More topics than MAX_TOPICS stand for all."""
        topics = list(islice(filter(is_topic_name, topics), MAX_TOPICS + 1))
        if not topics:
            return
        address, penalties = counted_as(client_address), self.penalties_of(client_address)
        self._kept.pop(address)  # its size changes
        penalties.add(topics, now_ms)
        while (oldest := self._kept.oldest) is not None and oldest[1].longest_ms <= now_ms:
            self._kept.pop(oldest[0])
        for _, dropped in self._kept.put(address, penalties):
            self._dropped_until_ms = max(self._dropped_until_ms, dropped.longest_ms)


def _bytes_of_penalties(address: str, penalties: AddressPenalties) -> int:
    topics = sum(A_PLACE + bytes_of(topic) + _AN_INT for topic in penalties)
    return bytes_of(address) + KEPT.entry_bytes + topics
