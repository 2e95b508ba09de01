"""Whether nearly all clients are off by the same amount: then this proxy's clock may be wrong. Pure.

It only warns. Clients can send any timestamps, so even many of them must not end the enforcement.
"""

from collections.abc import Collection
from dataclasses import dataclass
from statistics import median
from typing import Final

from tsproxy.decisions.drift import bucket_bounds_ms, drift_ms
from tsproxy.decisions.text import bounded_or_none
from tsproxy.model.outcome import Bars, Outcome, Peer, Totals

FEWEST_CLIENTS: Final = 10
SHARE: Final = 0.9
"""The share of clients that must agree."""
LEAST_MS: Final = 5 * 60_000
"""Smaller offsets do not count, since late data often has them."""
LATELY_MS: Final = 5 * 60_000
MOST_CLIENTS: Final = 2_000

_Client = tuple[str, str | None]
"""Address and client id."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """`clients` of `of` clients agree that our clock is off by `offset_ms` (ours minus theirs)."""

    clients: int
    of: int
    offset_ms: int


class Crowd:
    """The newest timestamps that each client has sent lately, relative to our clock."""

    def __init__(self) -> None:
        self._drifts: dict[_Client, tuple[int, int]] = {}

    @property
    def clients(self) -> Collection[_Client]:
        """The clients with a known timestamp."""
        return self._drifts.keys()

    def forget(self) -> None:
        """Forget everything, since our clock was set."""
        self._drifts = {}

    def book(self, outcome: Outcome) -> None:
        if (newest_ms := outcome.batch.max_timestamp_ms) is not None:
            self._record(outcome.peer, drift_ms(newest_ms, outcome.now_ms), outcome.now_ms)

    def book_totals(self, totals: Totals) -> None:
        if totals.ahead:
            self._record(totals.peer, _middle(totals.ahead), totals.last_ms)

    def agreement(self, now_ms: int, least_ms: int) -> Agreement | None:
        """The agreement, or None if clients do not agree, or only on an offset up to `least_ms` or
        LEAST_MS."""
        self._drifts = {
            client: (drift, seen_ms)
            for client, (drift, seen_ms) in self._drifts.items()
            if abs(now_ms - seen_ms) < LATELY_MS
        }
        drifts = [drift for drift, _ in self._drifts.values()]
        if len(drifts) < FEWEST_CLIENTS:
            return None
        middle = int(median(drifts))
        # A bar of drift-v1 is up to a fifth wide, and clients send records a moment after they made them.
        alike = sum(abs(each - middle) <= max(30_000, abs(middle) // 4) for each in drifts)
        if abs(middle) <= max(LEAST_MS, least_ms) or alike < SHARE * len(drifts):
            return None
        return Agreement(alike, len(drifts), -middle)

    def _record(self, peer: Peer, drift: int, now_ms: int) -> None:
        client = (peer.client_address, bounded_or_none(peer.client_id))  # a client id may be 32 KiB long
        self._drifts.pop(client, None)
        self._drifts[client] = (drift, now_ms)
        if len(self._drifts) > MOST_CLIENTS:
            del self._drifts[next(iter(self._drifts))]


def _middle(bars: Bars) -> int:
    """The middle of the bar that holds the middle batch."""
    half, seen = sum(batches for _, batches, _ in bars) / 2, 0
    index = next(index for index, batches, _ in bars if (seen := seen + batches) >= half)
    low_ms, high_ms = bucket_bounds_ms(index)
    return (low_ms + high_ms) // 2 * (-1 if index < 0 else 1)
