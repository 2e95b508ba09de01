"""The bytes that the event loop decompresses for one read, bounded: `DecompressionBudget`.

A few bytes may decompress to a thousand times as many, or to nothing a thousand times over, and neither their
size nor their header tells it before it is done. So the session simply begins. A request that exceeds the
budget is given up (`BudgetExceededError`), and judged again in a thread. Bytes that go into a decompressor
are charged as well as bytes that come out."""

from typing import Final

MOST_BYTES: Final = 4 << 20
"""Input and output of one read: some milliseconds with gzip, the slowest codec."""


class BudgetExceededError(Exception):
    """The budget is spent. Nothing has happened."""


class DecompressionBudget:
    """Made for each read from the client, and shared by all requests that it has brought."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_BYTES

    def charge(self, size: int) -> None:
        """Raises BudgetExceededError where that is more than is left."""
        self.left -= size
        if self.left < 0:
            raise BudgetExceededError
