"""The messages of magic 0 and 1 behind the first batch of a set: the ones that matter, and the facts of all.

A Produce request below v3 may contain millions of such messages in a partition. Native code skips the
messages with nothing odd about them (`readers.messages`), and makes no objects for these.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from tsproxy.model.kafka import LONG_MAX
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.records import RecordBatch, RecordFacts, RecordSet
from tsproxy.policy.fast_path import only_limits_matter
from tsproxy.session.job import Work
from tsproxy.wire import readers, record_set
from tsproxy.wire.readers import Bounds

_COUNTED_AT_ONCE: Final = 10_000
"""Batches between two looks at whether the verdict is still needed: some milliseconds."""


@dataclass(frozen=True, slots=True)
class BareMessages:
    """The batches behind the first batch in `records`, of which `scanned` is the scan. If the scan has one
    batch, there is nothing behind the first."""

    records: memoryview | None
    scanned: RecordSet

    def others(self, bounds: Bounds | None) -> Iterator[RecordBatch]:
        """All batches behind the first, except the bare messages within `bounds`. If `bounds` is None, none
        is skipped."""
        for one in self._walk(bounds):
            if isinstance(one, RecordBatch):
                yield one

    def facts(self, facts_of: Callable[[RecordBatch], RecordFacts], work: Work) -> list[RecordFacts]:
        """The facts of all batches behind the first; `facts_of` reads those that are not bare messages. Once
        the request's records are spent, the rest is counted and not read. Raises StoppedError."""
        walked = self._walk(readers.ANY, work)
        return [facts_of(one) if isinstance(one, RecordBatch) else one for one in walked]

    def _walk(self, bounds: Bounds | None, work: Work | None = None) -> Iterator[RecordBatch | RecordFacts]:
        data, batches = self.records, self.scanned.batches
        if data is None or len(batches) < 2:
            return
        pos, magic = batches[0].size_in_bytes, batches[0].magic
        while True:
            if work is not None and work.is_spent:
                yield from _counted(data, pos, work)
                return
            if bounds is not None and magic < 2:
                run = readers.messages(data, pos, magic, bounds)
                pos = run.end
                if run.facts.records:
                    yield run.facts
            one = record_set.batch_at(data, pos)
            if one is None:
                return
            yield one
            pos += one.size_in_bytes


def _counted(data: memoryview, pos: int, work: Work) -> Iterator[RecordFacts]:
    """The number of records from `pos` on, as facts without times."""
    while True:
        count, end = record_set.count_records(data, pos, _COUNTED_AT_ONCE)
        if end == pos:
            return
        work.look()
        yield RecordFacts(count, None, None, 0)
        pos = end


def odd_only(policy: TopicPolicy) -> Bounds:
    """Bounds that skip all messages but damaged and too large ones, whatever their timestamp and key."""
    return Bounds(largest=_largest(policy))


def rejected_by_none(policy: TopicPolicy, now_ms: int) -> Bounds | None:
    """Bounds that skip messages that neither the limits nor the candidate limits reject. None if another
    check may reject these messages."""
    if not only_limits_matter(policy):
        return None
    known = [limits for limits in (policy.limits, policy.candidate) if limits is not None]
    allowed = [bounds for limits in known if (bounds := limits.bounds(now_ms)) is not None]
    return Bounds(
        lowest_ms=max((0, *(bounds.lowest for bounds in allowed))),
        highest_ms=min((LONG_MAX, *(bounds.highest for bounds in allowed))),
        largest=_largest(policy),
        needs_key=policy.limits is not None and policy.limits.is_compacted,
    )


def _largest(policy: TopicPolicy) -> int:
    return LONG_MAX if policy.limits is None else policy.limits.max_message_bytes
