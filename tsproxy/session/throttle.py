"""How long a client whose batches are refused here is kept waiting.

A producer whose batches no broker sees escapes the brokers' quotas, and may try again as fast as it can.
So each refused batch costs A_BATCH_MS and a millisecond for each BYTES_A_MS of it, which the clock pays back.
What is owed beyond FREE_MS the client is told as `throttle_time_ms` and is not read for, as KIP-219 has it:
the answer first, the silence behind it. So it is slowed down to what the clock pays back, the sooner the
more it sends; one that is refused now and then notices nothing.
"""

from typing import Final

A_BATCH_MS: Final = 1.0
BYTES_A_MS: Final = 64 * 1024
FREE_MS: Final = 1_000.0


class Throttle:
    """Of one connection."""

    __slots__ = ("_at_ms", "_owed_ms")

    def __init__(self) -> None:
        self._at_ms = 0
        self._owed_ms = 0.0

    def refused(self, batches: int, size_bytes: int, now_ms: int, most_ms: int) -> int:
        """So much has been refused at once. Returns how long to be silent, 0 to `most_ms`."""
        owed_ms = max(0.0, self._owed_ms - max(0, now_ms - self._at_ms))
        owed_ms += batches * A_BATCH_MS + size_bytes / BYTES_A_MS
        self._at_ms, self._owed_ms = now_ms, min(owed_ms, FREE_MS + most_ms)
        return int(max(0.0, self._owed_ms - FREE_MS))
