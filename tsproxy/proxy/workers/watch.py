"""Decides whether a worker hangs: whether it has left several requests in a row without a word.

This module counts requests, not seconds. After a machine was suspended, or the supervisor could not run, only
one answer is late, however long that took. A worker whose loop turns says that it has heard a request before
it answers, since its report may take long on a machine that is overloaded. If the worker waited for a core
in a part of its silence, this part does not count. A worker that starts reads names and certificates before
it answers requests, so it may take longer.
"""

from typing import Final

from tsproxy.proxy.workers.core_waits import CoreWaits

MISSED_IN_LIFE: Final = 4
"""Each unanswered request takes `member.REPORT_S`, and the next one follows a second later: about 12 s in
all."""
MISSED_AT_START: Final = 20
"""About a minute in all."""


class Silence:
    """The requests that one process of a worker has left without an answer since its last message."""

    __slots__ = ("_missed", "_waited", "_waits", "has_begun")

    def __init__(self) -> None:
        self.has_begun = False
        """The process has said something. Until then it reads its orders, and answers nothing."""
        self._missed = 0
        self._waited = 0.0
        self._waits: CoreWaits | None = None

    @property
    def is_too_long(self) -> bool:
        most = MISSED_IN_LIFE if self.has_begun else MISSED_AT_START
        return round(self._missed * (1 - self._waited)) >= most

    @property
    def has_missed(self) -> bool:
        """True if the process has left the last request without an answer."""
        return self._missed > 0

    def message_received(self) -> None:
        self.has_begun = True
        self._missed, self._waited, self._waits = 0, 0.0, None

    def answer_missed(self, pid: int, now_ms: int) -> None:
        """The worker, a process `pid`, has not answered a request in time. `now_ms` is monotonic."""
        if self._waits is None:
            self._waits = CoreWaits(pid, now_ms)
        self._missed += 1
        self._waited = self._waits.share(now_ms)
