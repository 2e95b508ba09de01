"""The one class that reads clocks; everything else is given a time."""

import time


class Clock:
    """Wall clock for what is judged and logged, monotonic clock for what is measured."""

    __slots__ = ()

    def now_ms(self) -> int:
        """Milliseconds since the epoch, as a broker's `System.currentTimeMillis`."""
        return time.time_ns() // 1_000_000

    def monotonic_us(self) -> int:
        """Microseconds since some moment in the past (on Linux CLOCK_MONOTONIC)."""
        return time.monotonic_ns() // 1_000

    def monotonic_ms(self) -> int:
        """Milliseconds since some moment in the past; never steps back."""
        return time.monotonic_ns() // 1_000_000
