"""The bytes that the event loop decompresses for one read, bounded: `DecompressionBudget`.

A few bytes may decompress to a thousand times as many bytes, or to a thousand empty pieces. Neither their
size nor their header shows this before they are decompressed. So the session simply begins. If a request
exceeds the budget, the session stops (`BudgetExceededError`), and a thread judges the request from the
beginning. Bytes that go into a decompressor are charged as well as bytes that come out."""

from typing import Final

MAX_BYTES: Final = 4 << 20
"""The maximum of input and output bytes for one read: some milliseconds. A byte of gzip weighs as
much as many others (`one_shot.input_weight`)."""


class BudgetExceededError(Exception):
    """The budget is spent. The request has had no effect yet."""


class DecompressionBudget:
    """The budget of one read from the client. All requests of that read share it."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_BYTES

    def charge(self, size: int, weight: int = 1) -> None:
        """Take `size` bytes of that weight from the budget. Raises BudgetExceededError if less is left."""
        self.left -= size * weight
        if self.left < 0:
            raise BudgetExceededError
