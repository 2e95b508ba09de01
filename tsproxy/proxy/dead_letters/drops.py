"""Copies that were not made: counted by reason, with a bounded number of log lines."""

from collections import Counter
from enum import StrEnum
from typing import Final

from tsproxy.clock import Clock
from tsproxy.log_events.catalogue import DEAD_LETTERS_LOST

LOG_EVERY_MS: Final = 60_000
_ADVICE: Final = "no broker has accepted a batch of that client and topic: see dead_letters.unproven"


class DropReason(StrEnum):
    """The reason, which is the label of a metric, so this is a closed list. All reasons count records."""

    WHOLE_BATCH = "whole_batch"
    """No single record was a culprit: the batch was rejected as a whole."""
    NOT_LISTED = "not_listed"
    """The batch had more culprits than a rejection may list (`limits.culprits_listed`, or another limit)."""
    UNREADABLE = "unreadable"
    """The records cannot be read from their batch: it is of magic 0 or 1, or damaged."""
    NOT_PROVEN = "not_proven"
    """No broker has accepted a batch for this topic from this principal lately."""
    OWN_TOPIC = "own_topic"
    """The records were sent to the dead letter topic itself."""
    QUEUE_FULL = "queue_full"
    TOO_LARGE = "too_large"
    """The copy, with its headers, is too large for the topic, or it has more than a thousand headers."""
    REJECTED = "rejected"
    """The topic's broker rejected the copy repeatedly, or the proxy could not send it because of an error."""
    STOPPED = "stopped"
    """The proxy stopped before the topic had accepted it."""


class Drops:
    def __init__(self, clock: Clock) -> None:
        self.counts = dict.fromkeys(DropReason, 0)
        self._clock = clock
        self._logged_at_ms: int | None = None
        self._not_logged: Counter[DropReason] = Counter()

    def count(self, loss: DropReason, records: int) -> None:
        if records > 0:
            self.counts[loss] += records
            self._not_logged[loss] += records
            self.log_if_due()

    def log_if_due(self) -> None:
        """Log the first drop at once, and all further drops once a minute."""
        now_ms = self._clock.monotonic_ms()
        if self._logged_at_ms is None or now_ms >= self._logged_at_ms + LOG_EVERY_MS:
            self.log_now()

    def log_now(self) -> None:
        if self._not_logged:
            self._logged_at_ms = self._clock.monotonic_ms()
            advice = {"advice": _ADVICE} if DropReason.NOT_PROVEN in self._not_logged else {}
            DEAD_LETTERS_LOST(records={loss.value: n for loss, n in self._not_logged.items()}, **advice)
            self._not_logged.clear()
