"""A batch that no client has sent, and whose only faults are in its timestamps: `batch_of_times`.

`explain` judges such a batch, since it has only timestamps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tsproxy.model.outcome import Peer
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.records import Culprits, Outside, RecordBatch, Records, RecordSet, Suspects
from tsproxy.policy import extended
from tsproxy.policy.context import BatchContext, RequestContext

_API_VERSION: Final = 9
_RECORD_BYTES: Final = 9


def batch_of_times(
    timestamps_ms: Sequence[int],
    topic: str,
    partition: int,
    peer: Peer,
    *,
    policy: TopicPolicy,
    now_ms: int,
    attributes: int = 0,
) -> BatchContext:
    """The context of the batch, with one record for each timestamp. `attributes` are the batch's."""
    count = len(timestamps_ms)
    batch = _batch(timestamps_ms, attributes)
    records = Records(timestamps_ms, range(count), [1] * count, [1] * count)
    is_extended = extended.is_kip_228(batch, policy)
    if is_extended:
        records = extended.as_kip_228(records, policy.limits)
    request = RequestContext(_API_VERSION, acks=-1, has_transactional_id=False, now_ms=now_ms, peer=peer)
    return BatchContext(
        request=request,
        topic=topic,
        partition=partition,
        policy=policy,
        record_set=RecordSet(is_null=False, batches=(batch,)),
        reader=_Columns(records),
        facts=extended.facts_of(records),
        culprits_listed=count,
        is_extended=is_extended,
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """Reads the batch (`BatchReader`)."""

    records: Records

    def crc_is_valid(self) -> bool:
        return True

    def read_records(self) -> Records:
        return self.records

    def find_outside(self, lowest_ms: int, highest_ms: int, most: int) -> Outside:
        times_ms, deltas = self.records.timestamps_ms, self.records.offset_deltas
        return Outside.among(times_ms, deltas, lowest_ms=lowest_ms, highest_ms=highest_ms, most=most)

    def find_culprits(self, suspects: Suspects, most: int) -> Culprits | None:  # noqa: ARG002 # BatchReader's
        return None


def _batch(timestamps_ms: Sequence[int], attributes: int) -> RecordBatch:
    count = len(timestamps_ms)
    return RecordBatch(
        base_offset=0,
        size_in_bytes=61 + _RECORD_BYTES * count,
        magic=2,
        crc=0,
        attributes=attributes,
        last_offset_delta=count - 1,
        base_timestamp=timestamps_ms[0],
        max_timestamp=max(timestamps_ms),
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records_count=count,
        data=memoryview(b""),
    )
