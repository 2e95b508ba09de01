"""Copies that were not made: counted by why, and told no more often than an operator reads."""

from collections import Counter
from enum import StrEnum
from typing import Final

import structlog

from tsproxy.clock import Clock

log = structlog.get_logger()

TOLD_EVERY_MS: Final = 60_000


class DropReason(StrEnum):
    """Why: the label of a metric, so a closed list. All count records."""

    WHOLE_BATCH = "whole_batch"
    """None of them was at fault itself: the batch was rejected as a whole."""
    NOT_LISTED = "not_listed"
    """More were at fault than `limits.culprits_listed`, or other limits, let a rejection name."""
    UNREADABLE = "unreadable"
    """They cannot be taken out of their batch: it is of magic 0 or 1, or damaged."""
    OWN_TOPIC = "own_topic"
    """They were sent to the dead letter topic itself."""
    QUEUE_FULL = "queue_full"
    TOO_LARGE = "too_large"
    """For the topic, with the headers that a copy has."""
    REJECTED = "rejected"
    """By the topic's broker, again and again."""
    STOPPED = "stopped"
    """The proxy ended before the topic had taken them."""


class Drops:
    def __init__(self, clock: Clock) -> None:
        self.counts = dict.fromkeys(DropReason, 0)
        self._clock = clock
        self._told_at_ms: int | None = None
        self._untold: Counter[DropReason] = Counter()

    def count(self, loss: DropReason, records: int) -> None:
        if records > 0:
            self.counts[loss] += records
            self._untold[loss] += records
            self.tell_if_due()

    def tell_if_due(self) -> None:
        """At once for the first, then once a minute for all that came since."""
        now_ms = self._clock.monotonic_ms()
        if self._told_at_ms is None or now_ms >= self._told_at_ms + TOLD_EVERY_MS:
            self.tell()

    def tell(self) -> None:
        if self._untold:
            self._told_at_ms = self._clock.monotonic_ms()
            log.warning("dead_letters_lost", records={loss.value: n for loss, n in self._untold.items()})
            self._untold.clear()
