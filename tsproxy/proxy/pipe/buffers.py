"""The memory that reads go into: the worker's, lent to a connection while a request is unfinished.

All connections read into one shared buffer. Only the beginning of a request whose end is not there yet is
kept for a connection, in a buffer of its own, which the next connection uses again.
Fresh memory costs a page fault every 4 KiB, which for large requests was more than all the rest.

All that connections hold together is at most MOST_READY x READ_BYTES, MOST_SPARE_BYTES, and twice what
they were sent (2 KiB where that was less): never what they announced.
"""

from bisect import bisect_left, insort_left
from typing import Final

READ_BYTES: Final = 256 * 1024
"""The most that one read may bring; more gains nothing."""

MOST_READY: Final = 16
"""So many connections may hold a buffer of READ_BYTES, however little they were sent."""

MOST_SPARE_BYTES: Final = 16 * 1024 * 1024
"""The most that is kept ready for the next large requests."""

_SMALLEST: Final = 2 * 1024


class Buffers:
    """One for all connections of a worker; belongs to one thread."""

    def __init__(self) -> None:
        self.shared = memoryview(bytearray(READ_BYTES))
        self._ready = 0
        self._spare: list[bytearray] = []
        self._spare_bytes = 0

    def lend(self, received: int, announced: int) -> bytearray:
        """A buffer with room for more than the `received` bytes of a request of `announced` bytes."""
        wanted = max(announced, READ_BYTES)
        if (spare := self.spare(wanted)) is not None:
            return spare
        is_ready = received < READ_BYTES and self._ready < MOST_READY
        size = READ_BYTES if is_ready else max(min(wanted, 2 * received), received + 1, _SMALLEST)
        self._ready += size == READ_BYTES
        return bytearray(size)

    def spare(self, size: int) -> bytearray | None:
        """One that is there anyway and holds `size` bytes, None where there is none."""
        at = bisect_left(self._spare, size, key=len)
        if at == len(self._spare):
            return None
        found = self._spare.pop(at)
        self._spare_bytes -= len(found)
        return found

    def give_back(self, buffer: bytearray) -> None:
        """The connection holds nothing any more. Small ones are not worth keeping, and one that is too
        large must not push out all others."""
        if not READ_BYTES <= len(buffer) <= MOST_SPARE_BYTES // 2:
            return
        insort_left(self._spare, buffer, key=len)  # the one that was used last is in the caches still
        self._spare_bytes += len(buffer)
        while self._spare_bytes > MOST_SPARE_BYTES:
            dropped = self._spare.pop(0)
            self._spare_bytes -= len(dropped)
            self._ready -= len(dropped) == READ_BYTES
