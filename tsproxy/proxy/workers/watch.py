"""Decides whether a worker hangs: whether it has left several requests in a row without a word.

This module counts requests, not seconds. After a machine was suspended, or the supervisor could not run, only
one answer is late, however long that took. A worker whose loop turns says that it has heard a request before
it answers, since its report may take long on a machine that is overloaded. If the worker waited for a core
in a part of its silence, this part does not count. A worker that starts reads names and certificates before
it answers requests, so it may take longer.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final

MISSED_IN_LIFE: Final = 4
"""Each unanswered request takes `member.REPORT_S`, and the next one follows a second later: about 12 s in
all."""
MISSED_AT_START: Final = 20
"""About a minute in all."""

_RUNNABLE: Final = "R"
_NS_A_MS: Final = 1_000_000


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


class CoreWaits:
    """How long a process waits for a core, from now on. Linux counts that for each thread
    (/proc/<pid>/task/<tid>/schedstat); there are no waits if the system does not count them.

    A process that waits for a core is not at fault, however long it takes: the machine is overloaded, or a
    group of processes has used up its share.
    """

    __slots__ = ("_began_ms", "_first", "_folder", "_looked_ms", "_ran_ms", "_still_since_ms", "_waited")

    def __init__(self, pid: int, now_ms: int) -> None:
        self._folder = Path(f"/proc/{pid}")
        self._began_ms = self._looked_ms = self._still_since_ms = now_ms
        self._ran_ms: float | None = None
        """How long the event loop's thread ran, or None if the system does not count that."""
        self._waited: dict[str, float] = {}
        """How long each thread waited, in ms; the event loop's has no name."""
        self._look(now_ms)
        self._first = self._ran_ms or 0.0, dict(self._waited)

    def share(self, now_ms: int) -> float:
        """The share of the time since it was made in which a thread of the process waited for a core, 0 to 1:
        the one that waited longest. The event loop may need what another thread holds, which waits itself.
        """
        elapsed_ms = now_ms - self._began_ms
        self._look(now_ms)
        if elapsed_ms <= 0 or self._ran_ms is None:
            return 0.0
        first_ran_ms, first_waited = self._first
        waits = {name: waited - first_waited.get(name, 0.0) for name, waited in self._waited.items()}
        if self._is_runnable():
            # A wait is counted when it ends, so one that goes on is added. The time that it ran is no wait.
            waiting_ms = waits[""] + now_ms - self._still_since_ms
            waits[""] = min(waiting_ms, elapsed_ms - (self._ran_ms - first_ran_ms))
        return max(0.0, min(1.0, max(waits.values()) / elapsed_ms))

    def _look(self, now_ms: int) -> None:
        for thread in self._folder.glob("task/[0-9]*/schedstat"):
            with suppress(OSError, ValueError, IndexError):  # the thread has ended
                self._waited[thread.parent.name] = int(thread.read_text().split()[1]) / _NS_A_MS
        ran_ns, waited_ns, *_ = map(int, self._text("schedstat").split() or (0, 0))
        self._waited[""] = waited_ns / _NS_A_MS
        ran_ms = ran_ns / _NS_A_MS or None
        if ran_ms != self._ran_ms:
            # It ran at some moment since the last look, and may wait since then. The looks of a supervisor
            # that waits for a core itself lie far apart.
            self._ran_ms, self._still_since_ms = ran_ms, self._looked_ms
        self._looked_ms = now_ms

    def _is_runnable(self) -> bool:
        """Whether the event loop's thread runs, or would run if there were a core."""
        return self._text("stat").rpartition(")")[2].split()[:1] == [_RUNNABLE]

    def _text(self, name: str) -> str:
        with suppress(OSError):
            return (self._folder / name).read_text(errors="replace")
        return ""
