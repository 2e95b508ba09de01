"""Rejected batches that wait to be copied, first come, first served: bounded in bytes and in records."""

from collections import deque

from tsproxy.model.dead_letter import DeadBatch


class Waiting:
    """The first one stays, and counts, until it is `done`."""

    def __init__(self) -> None:
        self.bytes = 0
        self.records = 0
        self._batches: deque[DeadBatch] = deque()

    @property
    def first(self) -> DeadBatch | None:
        return self._batches[0] if self._batches else None

    def put(self, batch: DeadBatch, most_bytes: int, most_records: int) -> bool:
        """False where there is no room for it."""
        size, records = len(batch.records), len(batch.rejection.violations)
        if self.bytes + size > most_bytes or self.records + records > most_records:
            return False
        self.bytes += size
        self.records += records
        self._batches.append(batch)
        return True

    def done(self) -> None:
        """The first has been dealt with."""
        batch = self._batches.popleft()
        self.bytes -= len(batch.records)
        self.records -= len(batch.rejection.violations)
