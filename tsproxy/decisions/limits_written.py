"""The limits of topics that were written today: `LimitsWritten`.

The line is written at the first batch of a topic, so a client brings the names. A batch that was rejected
may name a topic that does not exist. Such names have little room, and each address only a part of it: the
lines of topics that exist are written whatever a client invents.

Rules for some clients give a topic several sets of limits. Each set is written once a day, and not when the
next batch comes by another rule: a client would choose then how many lines there are.
"""

from collections import Counter
from typing import Final

from tsproxy.model.addresses import counted_as
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling, bytes_of
from tsproxy.model.kafka import is_topic_name
from tsproxy.model.verdict import TopicLimits

_A_SET: Final = 200
"""The memory of one set of limits."""
PROVEN: Final = Ceiling(
    "topics whose limits were written today, and that a broker has accepted a batch for",
    most=5_000,
    most_bytes=4 << 20,
    when_full="the limits of further topics are not written today",
    entry_bytes=A_PLACE,
)
UNPROVEN: Final = Ceiling(
    "topics whose limits were written today, and that perhaps do not exist",
    most=500,
    most_bytes=1 << 20,
    when_full="the limits of further topics are not written before a broker accepts a batch",
    entry_bytes=2 * A_PLACE,  # `_unproven_of` has its address
)
MAX_UNPROVEN_OF_ADDRESS: Final = 100


MAX_OF_TOPIC: Final = 16
"""The most sets of limits of a topic that are written in a day."""

_Sets = tuple[TopicLimits, ...]


def _topics_under(ceiling: Ceiling) -> Bounded[str, _Sets]:
    return Bounded(
        ceiling, lambda topic, written: bytes_of(topic) + ceiling.entry_bytes + _A_SET * len(written)
    )


class LimitsWritten:
    """Topics by name, with the sets of limits that have a line. All are forgotten when a day ends."""

    __slots__ = ("_proven", "_unproven", "_unproven_of")

    def __init__(self) -> None:
        self._proven = _topics_under(PROVEN)
        self._unproven = _topics_under(UNPROVEN)
        self._unproven_of: Counter[str] = Counter()
        """By address: its topics that were not proven when they came."""

    def __len__(self) -> int:
        return len(self._proven) + len(self._unproven)

    def must_write(self, topic: str, limits: TopicLimits, client_address: str, *, exists: bool) -> bool:
        """True if a line is due. `exists`: a broker has accepted the batch."""
        known = self._proven.get(topic) or self._unproven.get(topic)
        if known is None and not is_topic_name(topic):
            return False
        written = known or ()
        is_new = limits not in written and len(written) < MAX_OF_TOPIC
        if is_new:
            written += (limits,)
        if exists or topic in self._proven:
            if not self._proven.add(topic, written):
                return False
            self._unproven.pop(topic)
        elif known is not None:
            return self._unproven.add(topic, written) and is_new
        elif not self._takes_unproven(topic, written, counted_as(client_address)):
            return False
        return is_new

    def _takes_unproven(self, topic: str, written: _Sets, address: str) -> bool:
        if self._unproven_of[address] >= MAX_UNPROVEN_OF_ADDRESS or not self._unproven.add(topic, written):
            return False
        self._unproven_of[address] += 1
        return True

    def clear(self) -> None:
        """A day is over: each topic is written again, so that a day's log is complete by itself."""
        self._proven.clear()
        self._unproven.clear()
        self._unproven_of.clear()
