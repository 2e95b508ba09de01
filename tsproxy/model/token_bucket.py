"""A token bucket: how many lines may be written, in integer milliseconds of credit.

A bucket holds `burst` lines and earns one every `refill_ms`. The clock is given. It may stand still or step
back, which earns nothing.
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
        """The credit of a full bucket."""
        return self.burst * self.refill_ms


@dataclass(slots=True)
class Bucket:
    """Credit in ms at a moment of the clock, and how many lines it has suppressed since the last one."""

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

    def spend(self) -> None:
        self.credit_ms -= self.rate.refill_ms
