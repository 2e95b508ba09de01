"""What is rejected of one topic without a look: by which limits, for which times, and how much was."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.outcome import Peer, Totals
from tsproxy.model.records import BatchFacts, Outside
from tsproxy.model.verdict import TopicLimits
from tsproxy.wire.kernel._twin.counts import Counts
from tsproxy.wire.kernel.rejection import Rejection

MOST_WAYS: Final = 8
"""Sides and units that one client mixes up in one topic; any beyond them are the session's to reject."""


class Way:
    """One rejection, and what was rejected likewise since the last drain."""

    __slots__ = ("bad_records", "counts", "culprit_ms", "rejection")

    def __init__(self, rejection: Rejection, edges: Sequence[int]) -> None:
        self.rejection = rejection
        self.counts = Counts(edges)
        self.bad_records = self.culprit_ms = 0

    def fits(self, first_ms: int, now_ms: int) -> bool:
        rejection = self.rejection
        is_its_time = rejection.from_ms <= now_ms < rejection.until_ms
        return is_its_time and rejection.lowest_ms <= first_ms <= rejection.highest_ms

    def book(self, batch: BatchFacts, outside: Outside, correlation_id: int, now_ms: int) -> None:
        times = outside.timestamps_ms
        self.counts.add(batch, correlation_id, now_ms, (min(times), max(times)))
        self.bad_records += outside.count
        self.culprit_ms = times[0]

    def take(self, peer: Peer) -> Totals:
        rejection = self.rejection
        blame = replace(rejection.blame, bad_records=self.bad_records, culprit_ms=self.culprit_ms)
        self.bad_records = 0
        return self.counts.take(peer, rejection.topic, rejection.limits, blame)


class Rejections:
    """All ways of one topic, whose times are limited by the same `limits`."""

    def __init__(self, limits: TopicLimits, edges: Sequence[int]) -> None:
        self.limits = limits
        self._edges = edges
        self._ways: list[Way] = []

    def learn(self, rejection: Rejection) -> None:
        if rejection.limits != self.limits:
            return
        for way in self._ways:
            if way.rejection.blame == rejection.blame:
                way.rejection = rejection
                return
        if len(self._ways) < MOST_WAYS:
            self._ways.append(Way(rejection, self._edges))

    def way_of(self, first_ms: int, now_ms: int) -> Way | None:
        """How a batch is rejected whose first culprit has that time; None where it is to be looked at."""
        return next((way for way in self._ways if way.fits(first_ms, now_ms)), None)

    def bounds_ms(self, now_ms: int) -> tuple[int, int]:
        """The lowest and the highest time that is in range, as `policy.timestamps.bounds`."""
        before_max_ms, after_max_ms = self.limits.before_max_ms, self.limits.after_max_ms
        wrapping = LONG_MIN + now_ms + 1
        lowest = wrapping if before_max_ms is None else max(now_ms - before_max_ms, wrapping)
        return lowest, LONG_MAX if after_max_ms is None else min(now_ms + after_max_ms, LONG_MAX)

    def drain(self, peer: Peer) -> list[Totals]:
        return [way.take(peer) for way in self._ways if way.counts.batches]
