"""The one class that reads clocks. All other code receives the time."""

import time


class Clock:
    """Reads the wall clock, for judging and logging, and the monotonic clock, for measuring."""

    __slots__ = ()

    def now_ms(self) -> int:
        """Milliseconds since the epoch, like a broker's `System.currentTimeMillis`."""
        return time.time_ns() // 1_000_000

    def thread_us(self) -> int:
        """Microseconds of CPU time that the calling thread has used."""
        return time.thread_time_ns() // 1_000

    def monotonic_us(self) -> int:
        """Microseconds since some moment in the past (CLOCK_MONOTONIC on Linux)."""
        return time.monotonic_ns() // 1_000

    def monotonic_ms(self) -> int:
        """Milliseconds since some moment in the past; never steps back."""
        return time.monotonic_ns() // 1_000_000
