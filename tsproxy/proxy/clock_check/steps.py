"""Steps of the wall clock: it is set, or a virtual machine slept. One that is slewed makes none."""

from typing import Final

from tsproxy.clock import Clock

STEP_MS: Final = 250
"""From here on it is a step; what leads a clock along moves it by less than a millisecond a second."""


class Steps:
    """`count` is how many there were."""

    def __init__(self, clock: Clock) -> None:
        self.count = 0
        self._clock = clock
        self._gap_ms = self._now_gap_ms()

    def look(self) -> int | None:
        """By how much the wall clock was set since the last look, in ms; None where it was not."""
        gap_ms = self._now_gap_ms()
        if abs(gap_ms - self._gap_ms) >= STEP_MS:
            gap_ms = self._now_gap_ms()  # this process may have been stopped between the two clocks
        step_ms, self._gap_ms = gap_ms - self._gap_ms, gap_ms
        if abs(step_ms) < STEP_MS:
            return None
        self.count += 1
        return step_ms

    def _now_gap_ms(self) -> int:
        return self._clock.now_ms() - self._clock.monotonic_ms()
