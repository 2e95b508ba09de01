"""Finds steps of the wall clock: somebody set it, or a virtual machine slept. Slewing makes no step."""

from typing import Final

from tsproxy.clock import Clock

STEP_MS: Final = 250
"""The least change that counts as a step. NTP slews a clock by less than a millisecond per second."""


class Steps:
    """Finds steps. `count` is their number."""

    def __init__(self, clock: Clock) -> None:
        self.count = 0
        self._clock = clock
        self._gap_ms = self._now_gap_ms()

    def check(self) -> int | None:
        """The step of the wall clock since the last check, in ms; None if there was no step."""
        gap_ms = self._now_gap_ms()
        if abs(gap_ms - self._gap_ms) >= STEP_MS:
            gap_ms = self._now_gap_ms()  # this process may have been stopped between the two clocks
        step_ms, self._gap_ms = gap_ms - self._gap_ms, gap_ms
        if abs(step_ms) < STEP_MS:
            return None
        self.count += 1
        return step_ms

    @property
    def has_news(self) -> bool:
        """True if the clock was set since the last check."""
        return abs(self._now_gap_ms() - self._gap_ms) >= STEP_MS

    def _now_gap_ms(self) -> int:
        return self._clock.now_ms() - self._clock.monotonic_ms()
