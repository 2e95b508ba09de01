"""Which rejected batches get a line of their own: a few a key, and a ceiling for all keys together.

Two token buckets (`model.token_bucket`): a line costs one from its key's bucket and one from the common one.
"""

from collections.abc import Hashable
from typing import Final

from tsproxy.model.token_bucket import Bucket, Rate

PER_KEY: Final = Rate(burst=5, refill_ms=30_000)
TOGETHER: Final = Rate(burst=200, refill_ms=100)
"""Ten lines a second: under a storm about 8 KB/s of log, whatever the number of clients."""


class Examples:
    """Admits or suppresses one line at a time, by key."""

    def __init__(self, now_ms: int, per_key: Rate = PER_KEY, together: Rate = TOGETHER) -> None:
        self._per_key = per_key
        self._together = Bucket.full(together, now_ms)
        self._buckets: dict[Hashable, Bucket] = {}

    def admit(self, key: Hashable, now_ms: int) -> int | None:
        """How many like it were suppressed since the last one, or None where this one is too."""
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
        """So many were not even asked for. Told with the next one, unless the key is idle till then."""
        if (bucket := self._buckets.get(key)) is not None:
            bucket.suppressed += lines

    def forget_idle(self, now_ms: int) -> None:
        """Drop the buckets that would be full again: a new one is worth the same.

        What such a bucket suppressed is in the counters all the same, and in the heartbeat's sum.
        """
        idle = [
            key
            for key, bucket in self._buckets.items()
            if bucket.credit_ms + max(0, now_ms - bucket.at_ms) >= bucket.rate.full_ms
        ]
        for key in idle:
            del self._buckets[key]
