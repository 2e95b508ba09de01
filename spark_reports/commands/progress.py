"""Progress on one line of standard error, if that is a terminal. Otherwise nothing is written.

The line says what is being done, for how long, and how many of Spark's tasks are done. A thread rewrites the
line each second.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from spark_reports.report import words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_S: Final = 1.0

Tasks = tuple[int, int]
"""In the active stages: the number of tasks that are done, and of all tasks."""


def tasks_of(spark: "SparkSession") -> Callable[[], Tasks]:
    """A function that returns the tasks of the stages that `spark` is working on."""

    def ask() -> Tasks:
        tracker: Any = spark.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]  # a stage may have ended since
        return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)

    return ask


class Progress:
    """The line. `show` begins a step, and `clear` ends it and empties the line."""

    def __init__(self, *, is_shown: bool, every_s: float = _EVERY_S) -> None:
        self._is_shown = is_shown
        self._every_s = every_s
        self._began = time.monotonic()
        self._tasks: Callable[[], Tasks] | None = None
        self._over = Event()
        self._thread: Thread | None = None
        self._place = -1
        """A descriptor of the terminal. Standard error is a file while Java starts (`spark.session`)."""

    def watch(self, tasks: Callable[[], Tasks]) -> None:
        """From now on the line shows these tasks, too."""
        self._tasks = tasks

    def show(self, doing: str) -> None:
        self.clear()
        if self._is_shown:
            self._over, self._place = Event(), os.dup(sys.stderr.fileno())
            self._thread = Thread(target=self._repeat, args=(doing,), daemon=True)
            self._thread.start()

    def clear(self) -> None:
        if self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None
            self._write("")
            os.close(self._place)

    def _repeat(self, doing: str) -> None:
        while not self._over.is_set():
            self._write(f"{doing} … ({self._so_far()}{time.monotonic() - self._began:.0f} s)")
            self._over.wait(self._every_s)

    def _so_far(self) -> str:
        if self._tasks is None:
            return ""
        from py4j.protocol import Py4JError  # present if there are tasks; at the start there are none

        try:
            done, whole = self._tasks()
        except (Py4JError, OSError):  # Java has ended, which the command itself reports
            return ""
        return f"{done:,} of {words.many(whole, 'task')}, " if whole else ""

    def _write(self, line: str) -> None:
        columns = shutil.get_terminal_size().columns
        with suppress(OSError):  # the terminal may be gone, and the report goes on
            os.write(self._place, f"\r\x1b[K{line[: columns - 1]}".encode(errors="replace"))
