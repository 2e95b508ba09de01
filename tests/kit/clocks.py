"""Clocks that a test moves."""

from tsproxy.clock import Clock

BEGIN_MS = 1_800_000_000_000


class HandClock(Clock):
    """Both times are `ms` until a test moves them. The wall time is `by_ms` further on."""

    def __init__(self, ms=BEGIN_MS):
        self.ms, self.by_ms = ms, 0

    def now_ms(self):
        return self.ms + self.by_ms

    def monotonic_ms(self):
        return self.ms

    def monotonic_us(self):
        return self.ms * 1_000


class MovedClock(Clock):
    """The real clock. Its wall time is `by_ms` further on, and its monotonic time `passed_ms`."""

    def __init__(self, by_ms=0):
        self.by_ms, self.passed_ms = by_ms, 0

    def now_ms(self):
        return super().now_ms() + self.by_ms

    def monotonic_ms(self):
        return super().monotonic_ms() + self.passed_ms
