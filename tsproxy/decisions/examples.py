"""Limits the rate of decision lines: a few for each key, and a limit for all keys together.

Each limit is a token bucket (`model.token_bucket`). A line costs one token of its key's bucket and one of the
common bucket.
"""

from collections.abc import Hashable
from typing import Final

from tsproxy.model.token_bucket import Bucket, Rate

PER_KEY: Final = Rate(burst=5, refill_ms=30_000)
TOGETHER: Final = Rate(burst=200, refill_ms=100)
"""Ten lines a second: in a storm of rejections about 8 KB/s of log, whatever the number of clients."""


class Examples:
    """Admits or suppresses one line at a time, by key."""

    def __init__(self, now_ms: int, per_key: Rate = PER_KEY, together: Rate = TOGETHER) -> None:
        self._per_key = per_key
        self._together = Bucket.full(together, now_ms)
        self._buckets: dict[Hashable, Bucket] = {}

    def admit(self, key: Hashable, now_ms: int) -> int | None:
        """Number of lines suppressed since the key's last line, or None if this line is suppressed, too."""
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = Bucket.full(self._per_key, now_ms)
        bucket.earn(now_ms)
        self._together.earn(now_ms)
        if not (bucket.has_one and self._together.has_one):
            bucket.suppressed += 1
            return None
        bucket.spend()
        self._together.spend()
        suppressed, bucket.suppressed = bucket.suppressed, 0
        return suppressed

    def suppress(self, key: Hashable, lines: int) -> None:
        """Count lines that were never requested as suppressed. The key's next line reports them, unless the
        bucket is dropped before (`forget_idle`)."""
        if (bucket := self._buckets.get(key)) is not None:
            bucket.suppressed += lines

    def forget_idle(self, now_ms: int) -> None:
        """Drop the buckets that would be full again. A new bucket is full as well.

        The lines that such a bucket suppressed are still in the counters and in the heartbeat's sum.
        """
        for key, bucket in list(self._buckets.items()):
            if bucket.credit_ms + max(0, now_ms - bucket.at_ms) >= bucket.rate.full_ms:
                del self._buckets[key]
