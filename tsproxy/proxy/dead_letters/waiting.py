"""The queue of rejected batches to copy, first in, first out, bounded in bytes and in records."""

from collections import deque

from tsproxy.model.dead_letter import RejectedBatch


class Waiting:
    """A bounded queue. The first batch stays, and counts, until `done`."""

    def __init__(self) -> None:
        self.bytes = 0
        self.records = 0
        self._batches: deque[RejectedBatch] = deque()

    @property
    def first(self) -> RejectedBatch | None:
        return self._batches[0] if self._batches else None

    def put(self, batch: RejectedBatch, most_bytes: int, most_records: int) -> bool:
        """Add a batch. False if the queue is full."""
        size, records = len(batch.records), len(batch.rejection.violations)
        if self.bytes + size > most_bytes or self.records + records > most_records:
            return False
        self.bytes += size
        self.records += records
        self._batches.append(batch)
        return True

    def done(self) -> None:
        batch = self._batches.popleft()
        self.bytes -= len(batch.records)
        self.records -= len(batch.rejection.violations)
