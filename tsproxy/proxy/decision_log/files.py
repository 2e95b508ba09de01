"""The decision log on disk: JSON lines, which a thread of its own writes.

The event loop queues lines and never waits. If the disk fails (it is full, or the folder is gone), the thread
keeps its line and retries every second. Meanwhile lines wait in a bounded queue. Lines that do not fit are
dropped and counted. Their `seq` is then missing from the log, and the next heartbeat has the count. `problem`
reports the failure while it lasts, and the operators' log has one line about it.
"""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from errno import ENOSPC
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

import orjson

from tsproxy.clock import Clock
from tsproxy.config.settings import Config, Decisions
from tsproxy.decision_folder import name_of
from tsproxy.decisions import Lines
from tsproxy.decisions.events import Event
from tsproxy.log_events.catalogue import (
    DECISION_LINES_LOST,
    DECISION_LOG_CRASHED,
    DECISION_LOG_RESUMED,
    DECISION_LOG_STOPPED,
)
from tsproxy.model.bounded import Ceiling
from tsproxy.proxy.decision_log.rotation import FileRotation
from tsproxy.proxy.notes import Trouble, frames_of

QUEUE: Final = Ceiling(
    "lines of the decision log that wait for the disk",
    most=20_000,
    most_bytes=64 << 20,
    when_full="lines are dropped and counted, and the log says so",
)
RETRY_DELAY_S: Final = 1.0
POLL_INTERVAL_S: Final = 5.0
"""How often to see whether the disk is full. Lines may be a minute apart."""
SLOW_S: Final = 1.0
"""A disk that takes longer than this for one line is a warning. Clients do not wait for it."""
PATIENCE_MS: Final = 10_000
"""A disk that takes longer than this for one line counts as hanging."""


class DecisionFiles:
    """Writes lines to files. It begins with `start`, which raises OSError if the directory is not writable,
    unless the process is a replacement.

    The event loop reads the counts; only one side writes each of them.
    """

    def __init__(
        self,
        settings: Decisions,
        proxy: str,
        boot: str,
        clock: Clock,
        time_for_ages: Callable[[], int | None],
    ) -> None:
        self.high_water = 0
        """The most lines that ever waited."""
        self.written = 0
        self._clock = clock
        self._busy_since_ms: int | None = None
        self._handed_bytes = 0
        self._handed_over = 0
        self._is_full = False
        self._overflowed = 0
        self._queue: SimpleQueue[Lines | None] = SimpleQueue()
        self._rejected = 0
        self._rotation = FileRotation(settings, name_of(proxy, boot), clock, time_for_ages)
        self._stopping = threading.Event()
        self._taken = 0
        self._taken_bytes = 0
        self._took_ms = 0
        """The time that the last line took."""
        self._thread = threading.Thread(target=self._run, name="decision-files", daemon=True)
        self._trouble = Trouble(DECISION_LOG_STOPPED, DECISION_LOG_RESUMED)

    @property
    def dropped(self) -> int:
        """Lines that reached no file: the queue was full, or the disk still failed at the stop."""
        return self._overflowed + self._rejected

    @property
    def files_deleted(self) -> int:
        return self._rotation.files_deleted

    def problem(self) -> str | None:
        """The reason why lines do not reach the disk now; None while they do."""
        directory, busy_since_ms = self._rotation.settings.directory, self._busy_since_ms
        if self._trouble.text is not None:
            return f"the decision log cannot be written: {self._trouble.text} ({directory})"
        if busy_since_ms is not None and self._clock.monotonic_ms() - busy_since_ms > PATIENCE_MS:
            return f"the decision log cannot be written: the disk does not answer ({directory})"
        return None

    @property
    def write_s(self) -> float:
        """The time that the last line took, or that the current one takes if that is longer."""
        busy_since_ms = self._busy_since_ms
        busy_ms = 0 if busy_since_ms is None else self._clock.monotonic_ms() - busy_since_ms
        return max(self._took_ms, busy_ms) / 1000

    def slowness(self) -> str | None:
        """A sentence if the disk is slow."""
        if (write_s := self.write_s) <= SLOW_S:
            return None
        directory, waiting = self._rotation.settings.directory, self._handed_over - self._taken
        return f"the decision log's disk is slow: {write_s:.1f} s a line, {waiting:,} wait ({directory})"

    @property
    def name(self) -> str:
        """The part of the files' names that identifies this boot."""
        return self._rotation.name

    def start(self, *, is_replacement: bool = False) -> None:
        if not is_replacement:
            self._rotation.open()  # otherwise the thread does it for the first line, as often as it takes
        self._thread.start()

    def apply(self, config: Config) -> None:
        """A reload changes when files are closed and deleted. It applies to the current file at once."""
        self._rotation.settings = config.decisions

    def put(self, made: Lines | Sequence[Event]) -> None:
        """Queue lines in their order, all or none. Never waits."""
        if not made:
            return
        lines = made if isinstance(made, Lines) else Lines(made)
        waiting = self._handed_over - self._taken + len(lines)
        waiting_bytes = self._handed_bytes - self._taken_bytes + lines.held_bytes
        if waiting > QUEUE.most or waiting_bytes > QUEUE.most_bytes:
            self._overflowed += len(lines)
            _log_loss(self._overflowed, len(lines))
            return
        self._handed_over += len(lines)
        self._handed_bytes += lines.held_bytes
        self.high_water = max(self.high_water, waiting)
        self._queue.put(lines)

    def stop(self, timeout_s: float) -> bool:
        """Write the queued lines and close the file. Blocks until then. False after the time limit."""
        self._stopping.set()
        self._queue.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        lines: Lines | None = Lines()
        while lines is not None:
            self._write_all(lines)
            self._keep_time()
            try:
                lines = self._queue.get(timeout=self._pause_s)
            except Empty:
                lines = Lines()
        self._rotation.close()

    @property
    def _pause_s(self) -> float:
        """How long to wait for lines. Work that fails stays due, and is tried again at the retries' pace."""
        if self._trouble.text is not None:
            return RETRY_DELAY_S
        return min(POLL_INTERVAL_S, self._rotation.seconds_left())

    def _write_all(self, lines: Lines) -> None:
        after = self._taken + len(lines)
        try:
            for line in lines:
                self._write(orjson.dumps(line) + b"\n")
                self._taken += 1
        except Exception as error:
            # An error in our code for one line may lose the lines queued with it, but no others.
            DECISION_LOG_CRASHED(error=type(error).__name__, frames=frames_of(error))
            self._rejected += after - self._taken
            self._taken = after
        self._taken_bytes += lines.held_bytes

    def _write(self, line: bytes) -> None:
        """Write a line, and retry until it is written. After the proxy has begun to stop, try only once."""
        while True:
            self._busy_since_ms = self._clock.monotonic_ms()
            try:
                self._rotation.write(line)
            except OSError as error:
                self._failed(error)
            else:
                self.written += 1
                if not self._is_full:
                    self._trouble.over(lines_lost=self.dropped)
                return
            finally:
                self._took_ms = self._clock.monotonic_ms() - self._busy_since_ms
                self._busy_since_ms = None
            if self._stopping.is_set():
                self._rejected += 1
                _log_loss(self._rejected, 1)
                return
            self._stopping.wait(RETRY_DELAY_S)
            with suppress(OSError):
                self._rotation.tidy_if_due()  # on a full disk, the files that are too old are the room

    def _keep_time(self) -> None:
        self._busy_since_ms = self._clock.monotonic_ms()
        try:
            self._rotation.keep_time()
            self._look_at_room()
        except OSError as error:
            self._failed(error)
        finally:
            self._busy_since_ms = None

    def _look_at_room(self) -> None:
        """Tell of a full disk before a line needs it."""
        was_full, self._is_full = self._is_full, is_full(self._rotation.settings.directory)
        if self._is_full:
            self._failed(OSError(ENOSPC, os.strerror(ENOSPC)))
        elif was_full:
            self._trouble.over(lines_lost=self.dropped)

    def _failed(self, error: OSError) -> None:
        self._trouble.failed(error.strerror or str(error), lines_lost=self.dropped)


def is_full(folder: Path) -> bool:
    """True if no block of the disk is free for this user. False if that is not known: the next line tells."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
    return disk.f_blocks > 0 and free == 0  # some file systems count nothing


def _log_loss(count: int, lines: int) -> None:
    """Log the 1st, 10th, 100th ... lost line, so that a full disk does not also fill the log."""
    if len(str(count)) > len(str(count - lines)) or count == lines:
        DECISION_LINES_LOST(lines_lost=count)
