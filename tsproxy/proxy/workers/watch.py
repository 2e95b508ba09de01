"""Decides whether a worker hangs: whether it has left several requests in a row without a word.

This module counts requests, not seconds. After a machine was suspended, or the supervisor could not run, only
one answer is late, however long that took. A worker whose loop turns says that it has heard a request before
it answers, since its report may take long on a machine that is overloaded. A worker that starts reads names
and certificates before it answers requests, so it may take longer.
"""

from typing import Final

MISSED_IN_LIFE: Final = 4
"""Each unanswered request takes `member.REPORT_S`, and the next one follows a second later: about 12 s in
all."""
MISSED_AT_START: Final = 20
"""About a minute in all."""


class Silence:
    """The requests that one process of a worker has left without an answer since its last message."""

    __slots__ = ("_has_begun", "_missed")

    def __init__(self) -> None:
        self._has_begun = False
        self._missed = 0

    @property
    def is_too_long(self) -> bool:
        """True if the process hangs."""
        return self._missed >= (MISSED_IN_LIFE if self._has_begun else MISSED_AT_START)

    def message_received(self) -> None:
        """The worker has sent a message."""
        self._has_begun = True
        self._missed = 0

    def answer_missed(self) -> None:
        """The worker has not answered a request in time."""
        self._missed += 1
