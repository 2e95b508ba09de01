"""Which topics have fresh limits, for all sessions of a process: `FreshLimits`.

A broker checks a topic's own limits anyway. So no batch is rejected or repaired by them unless brokers were
asked for them within the last `FRESH_MS`. If they are older, the request waits for an answer, as the first
one to a topic does. Without an answer, its broker judges the batch. Limits of the file and presets hold then,
but wait as well: the topic may have another type of timestamps by now, or a preset another limit. Limits that
were fresh when the judging of a request began hold for it if nothing has changed them since: otherwise
a request that takes long would be judged again and again.

One question serves all requests that wait, and a topic is asked about once in `FRESH_MS` at most, unless its
limits were changed in front of our eyes. Fresh is what was asked for after the change, so the time of the
question counts. Times are Unix ms: after a step of the clock, limits are old.
"""

from collections.abc import Callable, Iterable
from typing import Final

from tsproxy.fastpath import Freshness
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling

FRESH_MS: Final = 1_000
ASKED: Final = Ceiling(
    "topics whose limits brokers were asked for before a rejection",
    most=10_000,
    most_bytes=4 << 20,
    when_full="limits of the oldest are old: brokers are asked again, or judge its batches",
    entry_bytes=A_PLACE + 100,
)


class FreshLimits:
    __slots__ = ("_asked", "_pending", "is_answered", "waiting")

    def __init__(self) -> None:
        self.is_answered = True
        """False while no broker answers our questions: then no request waits for an answer."""
        self.waiting = set[Callable[[], None]]()
        """Called once, when the next question has its answer."""
        self._asked = Bounded[str, Freshness](ASKED)
        self._pending = frozenset[str]()

    def of(self, topic: str) -> Freshness | None:
        return self._asked.get(topic)

    def is_fresh(self, topic: str, now_ms: int, since_ms: int | None = None) -> bool:
        """True if the limits are fresh, or were at some time since `since_ms`."""
        known = self._asked.get(topic)
        if known is None or known.asked_ms > now_ms:
            return False
        return (now_ms if since_ms is None else min(since_ms, now_ms)) < known.until_ms

    def may_be_asked(self, topic: str, now_ms: int) -> bool:
        known = self._asked.get(topic)
        return known is None or not known.asked_ms <= now_ms < known.asked_ms + FRESH_MS

    def is_awaited(self, topic: str, now_ms: int) -> bool:
        """True if the limits are old, and an answer may make them fresh."""
        if not self.is_answered or self.is_fresh(topic, now_ms):
            return False
        return topic in self._pending or self.may_be_asked(topic, now_ms)

    def asked(self, topics: Iterable[str], now_ms: int) -> None:
        """A question about these topics is under way; there is one at a time."""
        self._pending = frozenset(topics)
        for topic in self._pending:
            known = self._asked.get(topic) or Freshness()
            if known.asked_ms > now_ms:  # the clock has stepped back: `until_ms` is far ahead
                known.until_ms = 0
            known.asked_ms = now_ms
            for _, dropped in self._asked.put(topic, known):
                dropped.until_ms = 0

    def answered(self, read: Iterable[str]) -> None:
        """The question has its answer. `read` are the topics whose limits are in force as they were told."""
        self._pending = frozenset()
        for topic in read:
            if (known := self._asked.get(topic)) is not None:  # None: they were changed meanwhile
                known.until_ms = known.asked_ms + FRESH_MS

    def expire(self, topics: Iterable[str]) -> None:
        """The configuration of these topics has changed."""
        for topic in topics:
            if (known := self._asked.pop(topic)) is not None:
                known.until_ms = 0

    def wake(self) -> None:
        waiting, self.waiting = self.waiting, set()
        for wake in waiting:
            wake()
