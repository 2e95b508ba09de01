"""Limits the rate of decision lines: a few for each key, and a limit for all keys together.

Each limit is a token bucket (`model.token_bucket`). A line costs one token of its key's bucket, one of its
address's bucket and one of the common bucket. The second half of the common bucket is for addresses that have
written few lines lately. So a client that is rejected all the time leaves room for the others.
"""

from collections.abc import Hashable
from typing import Final, TypeVar

from tsproxy.model.token_bucket import Bucket, Rate

K = TypeVar("K", bound=Hashable)

PER_KEY: Final = Rate(burst=5, refill_ms=30_000)
TOGETHER: Final = Rate(burst=200, refill_ms=100)
"""Ten lines a second: in a storm of rejections about 8 KB/s of log, whatever the number of clients."""

MOST_ADDRESSES: Final = 5_000
"""More addresses share one bucket."""


class Examples:
    """Admits or suppresses one line at a time, by key and by the client's address."""

    def __init__(self, now_ms: int, per_key: Rate = PER_KEY, together: Rate = TOGETHER) -> None:
        self._per_key = per_key
        self._together = Bucket.full(together, now_ms)
        self._buckets: dict[Hashable, Bucket] = {}
        self._addresses: dict[str, Bucket] = {}

    def admit(self, key: Hashable, address: str, now_ms: int) -> int | None:
        """Number of lines suppressed since the key's last line, or None if this line is suppressed, too.
        `address` is the client's (`counted_as`)."""
        bucket = _bucket_of(self._buckets, key, self._per_key, now_ms)
        of_address = self._of_address(address, now_ms)
        self._together.earn(now_ms)
        has_room = self._together.is_half_full or of_address.is_half_full
        if not (bucket.has_one and self._together.has_one and has_room):
            bucket.suppressed += 1
            return None
        bucket.spend()
        of_address.spend()
        self._together.spend()
        suppressed, bucket.suppressed = bucket.suppressed, 0
        return suppressed

    def _of_address(self, address: str, now_ms: int) -> Bucket:
        is_new = address not in self._addresses
        shared = "" if is_new and len(self._addresses) >= MOST_ADDRESSES else address
        return _bucket_of(self._addresses, shared, self._together.rate, now_ms)

    def suppress(self, key: Hashable, lines: int) -> None:
        """Count lines that were never requested as suppressed. The key's next line reports them, unless the
        bucket is dropped before (`forget_idle`)."""
        if (bucket := self._buckets.get(key)) is not None:
            bucket.suppressed += lines

    def forget_idle(self, now_ms: int) -> None:
        """Drop the buckets that would be full again. A new bucket is full as well.

        The lines that such a bucket suppressed are still in the counters and in the heartbeat's sum.
        """
        _forget_full(self._buckets, now_ms)
        _forget_full(self._addresses, now_ms)


def _bucket_of(buckets: dict[K, Bucket], key: K, rate: Rate, now_ms: int) -> Bucket:
    bucket = buckets.get(key)
    if bucket is None:
        bucket = buckets[key] = Bucket.full(rate, now_ms)
    bucket.earn(now_ms)
    return bucket


def _forget_full(buckets: dict[K, Bucket], now_ms: int) -> None:
    for key, bucket in list(buckets.items()):
        if bucket.credit_ms + max(0, now_ms - bucket.at_ms) >= bucket.rate.full_ms:
            del buckets[key]
