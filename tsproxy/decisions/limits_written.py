"""The limits of topics that were written today: `LimitsWritten`.

The line is written at the first batch of a topic, so a client brings the names. A batch that was rejected
may name a topic that does not exist. Such names have little room, and each address only a part of it: the
lines of topics that exist are written whatever a client invents.
"""

from collections import Counter
from typing import Final

from tsproxy.model.addresses import counted_as
from tsproxy.model.kafka import is_topic_name
from tsproxy.model.verdict import TopicLimits

MOST_TOPICS: Final = 5_000
MOST_UNPROVEN: Final = 500
"""The most topics that no broker has accepted a batch for."""
MOST_UNPROVEN_OF_ADDRESS: Final = 100


class LimitsWritten:
    """Topics by name, with the limits of the newest line. All are forgotten when a day ends. A topic has 249
    ASCII characters at most, so all of them take 4 MiB at most."""

    __slots__ = ("_limits", "_proven", "_unproven_of")

    def __init__(self) -> None:
        self._limits: dict[str, TopicLimits] = {}
        self._proven = 0
        self._unproven_of: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._limits)

    def must_write(self, topic: str, limits: TopicLimits, client_address: str, *, exists: bool) -> bool:
        """True if a line is due. `exists`: a broker has accepted the batch."""
        known = self._limits.get(topic)
        if known is None and not self._takes(topic, client_address, exists=exists):
            return False
        self._limits[topic] = limits
        return known != limits

    def _takes(self, topic: str, client_address: str, *, exists: bool) -> bool:
        if not is_topic_name(topic):
            return False
        if exists:
            has_room = self._proven < MOST_TOPICS
            self._proven += has_room
            return has_room
        address = counted_as(client_address)
        if len(self._limits) - self._proven >= MOST_UNPROVEN:
            return False
        if self._unproven_of[address] >= MOST_UNPROVEN_OF_ADDRESS:
            return False
        self._unproven_of[address] += 1
        return True

    def clear(self) -> None:
        """A day is over: each topic is written again, so that a day's log is complete by itself."""
        self._limits.clear()
        self._unproven_of.clear()
        self._proven = 0
