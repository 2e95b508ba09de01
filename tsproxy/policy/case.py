"""All that a verdict depends on, in one frozen value."""

from collections.abc import Callable
from dataclasses import dataclass

from tsproxy.model.records import RecordBatch, Records, RecordSet
from tsproxy.model.verdict import Reject, TopicLimits


@dataclass(frozen=True, slots=True)
class Case:
    """One partition's records as read, and what to judge them by.

    `records` is None where the set has no batch to read. `limits` is None where they are not known:
    then times are left to the broker. `crc_is_valid` is asked only on the way to a rejection.
    `culprits_listed` bounds how many violations a rejection names; all are counted.
    """

    api_version: int
    acks: int
    has_transactional_id: bool
    topic_partition: str
    record_set: RecordSet
    records: Records | None
    limits: TopicLimits | None
    now_ms: int
    crc_is_valid: Callable[[], bool]
    culprits_listed: int = 10_000

    @property
    def batch(self) -> RecordBatch:
        return self.record_set.batches[0]


Check = Callable[[Case], Reject | None]
"""The broker's rejection, or None where the records pass."""
