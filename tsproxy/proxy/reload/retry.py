"""Tries again what files have prevented, and logs each reason once: `Retry`.

The reason may lie in a file that nobody watches, such as a Secret that comes after the configuration. Or it
is over in a moment, such as a lack of descriptors. No change of a watched file shows that.
"""

from typing import Final

from tsproxy.clock import Clock

AGAIN_S: Final = 30.0
"""The time until a failure is tried again."""


class Retry:
    """One thing that may fail, such as the use of the files of one section."""

    def __init__(self, clock: Clock) -> None:
        self._again_ms: float | None = None
        self._clock = clock
        self._reason: object = None

    @property
    def is_due(self) -> bool:
        return self._again_ms is not None and self._clock.monotonic_ms() >= self._again_ms

    def failed(self, reason: object) -> bool:
        """Try again in AGAIN_S. Returns whether the reason is another one than the last time."""
        self._again_ms = self._clock.monotonic_ms() + AGAIN_S * 1000
        is_new, self._reason = reason != self._reason, reason
        return is_new

    def forget(self) -> None:
        """Nothing is to be tried again: it has succeeded, or somebody has put other files there, and is told
        the reason if they fail, too."""
        self._again_ms = self._reason = None
