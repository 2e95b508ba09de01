"""All that a verdict depends on, in one frozen value."""

from collections.abc import Callable
from dataclasses import dataclass

from tsproxy.model.records import RecordBatch, RecordFacts, Records, RecordSet
from tsproxy.model.verdict import Reject, TopicLimits


@dataclass(frozen=True, slots=True)
class Case:
    """One partition's records as read, and what to judge them by.

    `facts` is None where the set has no batch to read. `limits` is None where they are not known:
    then times are left to the broker. `crc_is_valid` and `read_records`, which reads the first batch
    as columns, are asked only on the way to a rejection.
    `culprits_listed` bounds how many violations a rejection names; all are counted.
    """

    api_version: int
    acks: int
    has_transactional_id: bool
    topic_partition: str
    record_set: RecordSet
    facts: RecordFacts | None
    limits: TopicLimits | None
    now_ms: int
    crc_is_valid: Callable[[], bool]
    read_records: Callable[[], Records]
    culprits_listed: int = 10_000

    @property
    def batch(self) -> RecordBatch:
        return self.record_set.batches[0]


Check = Callable[[Case], Reject | None]
"""The broker's rejection, or None where the records pass."""
