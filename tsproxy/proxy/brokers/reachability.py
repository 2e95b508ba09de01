"""Whether any broker answers: `Reachability`."""

from typing import Final

from tsproxy.clock import Clock
from tsproxy.log_events.catalogue import UPSTREAM_REACHED, UPSTREAM_UNREACHABLE

TROUBLE_AGAIN_MS: Final = 5 * 60_000


class Reachability:
    """Knows and logs the reason why no broker answers: `trouble`, None if one does."""

    __slots__ = ("_clock", "_logged_ms", "_since_ms", "is_reached", "trouble")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.trouble: str | None = None
        self._logged_ms = self._since_ms = 0
        self.is_reached = False
        """True from the first answer of a conversation to its end."""

    def reached(self) -> None:
        self.is_reached = True
        if self.trouble is not None:
            UPSTREAM_REACHED()
            self.trouble = None

    def failed(self, text: str, advice: str) -> None:
        """Log one line when the cluster becomes unreachable, one when the reason changes, and one now and
        then while it lasts."""
        now_ms = self._clock.monotonic_ms()
        if self.trouble is None:
            self._since_ms = now_ms
        elif text == self.trouble and now_ms - self._logged_ms < TROUBLE_AGAIN_MS:
            return
        self.trouble, self._logged_ms = text, now_ms
        UPSTREAM_UNREACHABLE(error=text, for_s=(now_ms - self._since_ms) // 1000, advice=advice)
