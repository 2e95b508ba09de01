"""Whether any broker answers: `Reachability`."""

from collections.abc import Callable
from typing import Final

from tsproxy.clock import Clock
from tsproxy.log_events.catalogue import UPSTREAM_REACHED, UPSTREAM_UNREACHABLE

TROUBLE_AGAIN_MS: Final = 5 * 60_000


class Reachability:
    """Calls `on_change` with the reason why no broker answers, or None when one does, and logs it."""

    __slots__ = ("_clock", "_logged_ms", "_on_change", "_since_ms", "_trouble", "is_reached")

    def __init__(self, clock: Clock, on_change: Callable[[str | None], None]) -> None:
        self._clock = clock
        self._on_change = on_change
        self._trouble: str | None = None
        self._logged_ms = self._since_ms = 0
        self.is_reached = False
        """True from the first answer of a conversation to its end."""

    def reached(self) -> None:
        if not self.is_reached:
            self.is_reached = True
            self._on_change(None)
        if self._trouble is not None:
            UPSTREAM_REACHED()
            self._trouble = None

    def failed(self, text: str, advice: str) -> None:
        """Log one line when the cluster becomes unreachable, one when the reason changes, and one now and
        then while it lasts."""
        self._on_change(text)
        now_ms = self._clock.monotonic_ms()
        if self._trouble is None:
            self._since_ms = now_ms
        elif text == self._trouble and now_ms - self._logged_ms < TROUBLE_AGAIN_MS:
            return
        self._trouble, self._logged_ms = text, now_ms
        UPSTREAM_UNREACHABLE(error=text, for_s=(now_ms - self._since_ms) // 1000, advice=advice)
