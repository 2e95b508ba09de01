"""A token bucket, which limits how many lines are written. Its credit is in integer milliseconds.

A bucket holds `burst` lines and earns one every `refill_ms`. The caller passes the clock. A clock that stops
or steps back earns nothing.
"""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `burst` lines at once, then one every `refill_ms`."""

    burst: int
    refill_ms: int

    @property
    def full_ms(self) -> int:
        return self.burst * self.refill_ms


@dataclass(slots=True)
class Bucket:
    """The credit at the clock `at_ms`, and the number of lines suppressed since the last line that was
    written."""

    rate: Rate
    credit_ms: int
    at_ms: int
    suppressed: int = 0

    @classmethod
    def full(cls, rate: Rate, now_ms: int) -> Self:
        return cls(rate, rate.full_ms, now_ms)

    def earn(self, now_ms: int) -> None:
        self.credit_ms = min(self.rate.full_ms, self.credit_ms + max(0, now_ms - self.at_ms))
        self.at_ms = now_ms

    @property
    def has_one(self) -> bool:
        return self.credit_ms >= self.rate.refill_ms

    @property
    def is_half_full(self) -> bool:
        return 2 * self.credit_ms >= self.rate.full_ms

    def spend(self) -> None:
        self.credit_ms -= self.rate.refill_ms
