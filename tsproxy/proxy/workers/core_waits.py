"""How long a process waited for a core. Linux counts that for each thread (/proc/<pid>/task/<tid>/schedstat).

A process that waits for a core is not at fault, however long it takes: the machine is overloaded, or a group
of processes has used up its share.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final

_RUNNABLE: Final = "R"
_NS_A_MS: Final = 1_000_000


class CoreWaits:
    """The waits of a process from now on. There are none if the system does not count them."""

    __slots__ = ("_began_ms", "_first_ms", "_folder", "_ran_last", "_still_since_ms", "_waited_ns")

    def __init__(self, pid: int, now_ms: int) -> None:
        self._folder = Path(f"/proc/{pid}")
        self._began_ms = self._still_since_ms = now_ms
        self._waited_ns: dict[str, int] = {}
        self._ran_last = ""
        self._look(now_ms)
        self._first_ms = self._counted_ms()

    def share(self, now_ms: int) -> float:
        """The share of the time since it was made in which threads of the process waited for a core, 0 to 1.

        All threads count: the event loop may need what another thread holds, which waits for a core itself.
        """
        if now_ms <= self._began_ms:
            return 0.0
        self._look(now_ms)
        waited_ms = self._counted_ms() - self._first_ms
        if self._is_runnable():
            # A wait is counted when it ends. A process that has not run at all since then waits now.
            waited_ms += now_ms - self._still_since_ms
        return max(0.0, min(1.0, waited_ms / (now_ms - self._began_ms)))

    def _look(self, now_ms: int) -> None:
        for thread in self._folder.glob("task/[0-9]*/schedstat"):
            with suppress(OSError, ValueError, IndexError):  # the thread has ended
                self._waited_ns[thread.parent.name] = int(thread.read_text().split()[1])
        ran = self._text("schedstat")
        if ran != self._ran_last:
            self._ran_last, self._still_since_ms = ran, now_ms

    def _counted_ms(self) -> float:
        return sum(self._waited_ns.values()) / _NS_A_MS

    def _is_runnable(self) -> bool:
        """Whether the event loop's thread runs, or would run if there were a core."""
        return self._text("stat").rpartition(")")[2].split()[:1] == [_RUNNABLE]

    def _text(self, name: str) -> str:
        with suppress(OSError):
            return (self._folder / name).read_text(errors="replace")
        return ""
