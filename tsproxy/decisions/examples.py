"""Limits the rate of decision lines: a few for each key, and a limit for all keys together.

Each limit is a token bucket (`model.token_bucket`). A line costs one token of its key's bucket, one of its
address's bucket and one of the common bucket. The second half of the common bucket is for addresses that have
written few lines lately. So a client that is rejected all the time leaves room for the others.
"""

from collections.abc import Hashable
from typing import Final, TypeVar

from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.model.token_bucket import Bucket, Rate

K = TypeVar("K", bound=Hashable)

_A_BUCKET: Final = A_PLACE + 160
BY_KEY: Final = Ceiling(
    "the rate of decision lines by key of the ledger; no names, but hashes",
    most=20_000,
    most_bytes=8 << 20,
    when_full="a new key gets no line until others are idle; the counters have its batches",
    entry_bytes=_A_BUCKET,
)
BY_ADDRESS: Final = Ceiling(
    "the rate of decision lines by address",
    most=5_000,
    most_bytes=2 << 20,
    when_full="new addresses share one rate",
    entry_bytes=_A_BUCKET,
)
PER_KEY: Final = Rate(burst=5, refill_ms=30_000)
TOGETHER: Final = Rate(burst=200, refill_ms=100)
"""Ten lines a second: in a storm of rejections about 8 KB/s of log, whatever the number of clients."""


class Examples:
    """Admits or suppresses one line at a time, by key and by the client's address."""

    def __init__(self, now_ms: int, per_key: Rate = PER_KEY, together: Rate = TOGETHER) -> None:
        self._per_key = per_key
        self._together = Bucket.full(together, now_ms)
        self._buckets = Bounded[int, Bucket](BY_KEY)
        self._addresses = Bounded[str, Bucket](BY_ADDRESS)
        self._other_addresses = Bucket.full(together, now_ms)

    def admit(self, key: Hashable, address: str, now_ms: int) -> int | None:
        """Number of lines suppressed since the key's last line, or None if this line is suppressed, too.
        `address` is the client's (`counted_as`)."""
        bucket = _bucket_of(self._buckets, hash(key), self._per_key, now_ms)
        of_address = _bucket_of(self._addresses, address, self._together.rate, now_ms)
        if bucket is None:
            return None
        if of_address is None:
            of_address = self._other_addresses
            of_address.earn(now_ms)
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

    def suppress(self, key: Hashable, lines: int) -> None:
        """Count lines that were never requested as suppressed. The key's next line reports them, unless the
        bucket is dropped before (`forget_idle`)."""
        if (bucket := self._buckets.get(hash(key))) is not None:
            bucket.suppressed += lines

    def forget_idle(self, now_ms: int) -> None:
        """Drop the buckets that would be full again. A new bucket is full as well.

        The lines that such a bucket suppressed are still in the counters and in the heartbeat's sum.
        """
        _forget_full(self._buckets, now_ms)
        _forget_full(self._addresses, now_ms)


def _bucket_of(buckets: Bounded[K, Bucket], key: K, rate: Rate, now_ms: int) -> Bucket | None:
    """The key's bucket; None if there is no room for a new one."""
    bucket = buckets.get(key)
    if bucket is None:
        bucket = Bucket.full(rate, now_ms)
        return bucket if buckets.add(key, bucket) else None
    bucket.earn(now_ms)
    return bucket


def _forget_full(buckets: Bounded[K, Bucket], now_ms: int) -> None:
    for key, bucket in list(buckets.items()):
        if bucket.credit_ms + max(0, now_ms - bucket.at_ms) >= bucket.rate.full_ms:
            buckets.pop(key)
