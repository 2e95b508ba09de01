"""One row a topic: the bounds that a batch must keep to pass, and what passed and was accepted."""

from collections.abc import Sequence
from typing import Final

from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.outcome import Peer, Totals
from tsproxy.model.verdict import TopicLimits
from tsproxy.wire.kernel._twin.counts import Counts
from tsproxy.wire.kernel._twin.rejections import Rejections
from tsproxy.wire.kernel.passed import PassedProduce
from tsproxy.wire.kernel.rejection import Rejection

MAX_ROWS: Final = 256
"""Topics of one connection beyond this one take the way through the session."""


class Row:
    """What one topic allows, and its counts since the last drain."""

    __slots__ = ("after_max_ms", "before_max_ms", "counts", "limits")

    def __init__(
        self, limits: TopicLimits | None, before_max_ms: int | None, after_max_ms: int | None, counts: Counts
    ) -> None:
        self.limits = limits
        self.before_max_ms = before_max_ms
        self.after_max_ms = after_max_ms
        self.counts = counts

    def allows(self, lowest_ms: int | None, highest_ms: int | None, now_ms: int) -> bool:
        """True for a span inside the bounds, and for records without a time (KIP-32).

        The lowest bound stays above Long.MIN_VALUE + now, where Kafka's arithmetic begins to wrap.
        """
        if (
            lowest_ms is None
            or highest_ms is None
            or (self.before_max_ms is None and self.after_max_ms is None)
        ):
            return True
        wrapping = LONG_MIN + now_ms + 1
        lowest = wrapping if self.before_max_ms is None else max(now_ms - self.before_max_ms, wrapping)
        highest = LONG_MAX if self.after_max_ms is None else now_ms + self.after_max_ms
        return lowest <= lowest_ms and highest_ms <= highest


class Table:
    """The rows of one connection, made for one `peer` and `transactional_id`.

    Batches of more than `records_per_batch` do not pass. `edges` are the magnitudes of `drift-v1`,
    ascending. `in_flight` requests that passed by this table are not answered yet. What is rejected
    without a look stands beside the rows, by topic.
    """

    def __init__(
        self, peer: Peer, transactional_id: str | None, records_per_batch: int, edges: Sequence[int]
    ) -> None:
        self.peer = peer
        self.records_per_batch = records_per_batch
        self.transactional_id = transactional_id
        self.in_flight = 0
        self.rows: dict[str, Row] = {}
        self.rejections: dict[str, Rejections] = {}
        self._edges = edges

    def __contains__(self, topic: str) -> bool:
        return topic in self.rows

    @property
    def kept(self) -> int:
        """How many topics stand here, those that are rejected included."""
        return len(self.rows) + len(self.rejections)

    def add(
        self, topic: str, limits: TopicLimits | None, before_max_ms: int | None, after_max_ms: int | None
    ) -> None:
        """Let batches of `topic` pass: within the two limits, or at any time where both are None."""
        if topic not in self.rows and len(self.rows) < MAX_ROWS:
            self.rows[topic] = Row(limits, before_max_ms, after_max_ms, Counts(self._edges))

    def reject(self, rejection: Rejection) -> None:
        """Let others be rejected likewise; in place of what was said before with the same blame."""
        known = self.rejections.get(rejection.topic)
        if known is None and len(self.rejections) < MAX_ROWS:
            known = self.rejections[rejection.topic] = Rejections(rejection.limits, self._edges)
        if known is not None:
            known.learn(rejection)

    def drain(self) -> list[Totals]:
        """What was accepted and what was rejected since the last drain, topics in the order in which they
        were added."""
        accepted = [
            row.counts.take(self.peer, topic, row.limits)
            for topic, row in self.rows.items()
            if row.counts.batches
        ]
        rejected = [totals for each in self.rejections.values() for totals in each.drain(self.peer)]
        return accepted + rejected

    def book(self, request: PassedProduce) -> None:
        """The broker has accepted all of it."""
        for passed in request.batches:
            counts = self.rows[passed.topic].counts
            counts.add(passed.batch, request.correlation_id, request.now_ms)
