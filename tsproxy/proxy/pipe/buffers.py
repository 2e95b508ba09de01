"""The memory that reads go into. The worker owns it, and lends it to connections with unfinished requests.

All connections read into one shared buffer. Only the beginning of an unfinished request is kept for a
connection, in a buffer of its own, which the next connection uses again. Fresh memory costs a page fault
every 4 KiB. For large requests these page faults cost more than everything else.

All connections together hold at most MAX_READY x READ_BYTES, the SPARE buffers, and for each connection
twice the bytes that it was sent (or 2 KiB, if that is more). The sizes that requests announce do not matter.
Spare buffers still have the bytes of the last large requests.
"""

from bisect import bisect_left, insort_left
from typing import Final

from tsproxy.model.bounded import Ceiling

READ_BYTES: Final = 256 * 1024
"""The most bytes of one read. A higher value has no advantage."""

MAX_READY: Final = 16
"""The number of full-size buffers (READ_BYTES) lent to connections that have received less."""

SPARE: Final = Ceiling(
    "buffers for the next large requests",
    most=64,
    most_bytes=16 << 20,
    when_full="the smallest is freed",
)

_SMALLEST: Final = 2 * 1024


class Buffers:
    """The buffers of all connections of a worker. They belong to one thread."""

    def __init__(self) -> None:
        self.shared = memoryview(bytearray(READ_BYTES))
        self._ready = 0
        self._spare: list[bytearray] = []
        self._spare_bytes = 0

    def borrow(self, received: int, announced: int) -> bytearray:
        """A buffer with room for more than the `received` bytes of a request of `announced` bytes."""
        wanted = max(announced, READ_BYTES)
        if (spare := self.spare(wanted)) is not None:
            return spare
        is_ready = received < READ_BYTES and self._ready < MAX_READY
        size = READ_BYTES if is_ready else max(min(wanted, 2 * received), received + 1, _SMALLEST)
        self._ready += size == READ_BYTES
        return bytearray(size)

    def spare(self, size: int) -> bytearray | None:
        """A kept buffer with space for `size` bytes; None if there is none."""
        at = bisect_left(self._spare, size, key=len)
        if at == len(self._spare):
            return None
        buffer = self._spare.pop(at)
        self._spare_bytes -= len(buffer)
        return buffer

    def free_spare(self) -> None:
        """Free all kept buffers, since memory is short."""
        self._ready -= sum(len(buffer) == READ_BYTES for buffer in self._spare)
        self._spare.clear()
        self._spare_bytes = 0

    def return_buffer(self, buffer: bytearray) -> None:
        """Take back a buffer that a connection no longer uses. Small buffers are not worth keeping, and one
        buffer that is too large must not push out all others."""
        if not READ_BYTES <= len(buffer) <= SPARE.most_bytes // 2:
            return
        insort_left(self._spare, buffer, key=len)  # the buffer that was used last is still in the caches
        self._spare_bytes += len(buffer)
        while self._spare_bytes > SPARE.most_bytes:
            dropped = self._spare.pop(0)
            self._spare_bytes -= len(dropped)
            self._ready -= len(dropped) == READ_BYTES
