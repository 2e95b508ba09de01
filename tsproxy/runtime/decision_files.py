"""The decision log on disk: JSON lines, written by a thread of its own.

The event loop hands lines over and never waits: the queue is bounded, and a line that does not fit,
or that the disk refuses, is dropped and counted (its `seq` is then missing from the log, and the
next heartbeat says how many). Each line is one `write`, so that a reader or a crash never finds two
lines mixed; a line cut short by a full disk is taken back.

A file is called `decisions-<UTC time>-<proxy>-<boot>-<n>.jsonl.open` while it is written and loses
`.open` when it is closed, so that a reader of `*.jsonl` sees only whole files.
"""

import os
import re
import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

import orjson
import structlog

from tsproxy.config.settings import Config, Decisions
from tsproxy.runtime.clock import Clock
from tsproxy.runtime.reload import Commit

log = structlog.get_logger()

QUEUE_LINES: Final = 20_000
_OPEN: Final = ".open"
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9.]+")
_STOP: Final = None

Line = Mapping[str, object]


class DecisionFiles:
    """Begins with `start`, which raises OSError where the directory cannot be written.

    Counts are read by the event loop, written by either side alone.
    """

    def __init__(self, settings: Decisions, proxy: str, boot: str, clock: Clock) -> None:
        self.high_water = 0
        self.refused = 0
        self.written = 0
        self._dropped = 0
        self._queue: SimpleQueue[Line | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="decision-files", daemon=True)
        self._files = _Files(settings, f"{_in_name(proxy)}-{_in_name(boot)}", clock)

    @property
    def dropped(self) -> int:
        """Lines that did not reach a file: the queue was full, or the disk refused."""
        return self._dropped + self.refused

    def start(self) -> None:
        self._files.open()
        self._thread.start()

    def prepare(self, config: Config) -> Commit:
        """A reload changes when files are closed; the one being written goes by it at once."""

        def commit() -> None:
            self._files.settings = config.decisions

        return commit

    def put(self, lines: Iterable[Line]) -> None:
        """Hand lines over, in their order. Never waits."""
        for line in lines:
            size = self._queue.qsize()
            if size >= QUEUE_LINES:
                self._dropped += 1
                continue
            self.high_water = max(self.high_water, size + 1)
            self._queue.put(line)

    def stop(self, timeout_s: float) -> bool:
        """Write what was handed over and close the file. Waits; False where time ran out."""
        self._queue.put(_STOP)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            try:
                line = self._queue.get(timeout=self._files.seconds_left())
            except Empty:
                self._turn()
                continue
            if line is _STOP:
                break
            self._write(line)
        self._close()

    def _write(self, line: Line) -> None:
        try:
            self._files.write(orjson.dumps(line) + b"\n")
        except (OSError, TypeError) as error:  # TypeError: orjson cannot encode it
            self.refused += 1
            _tell(error, self.refused)
        else:
            self.written += 1

    def _turn(self) -> None:
        try:
            self._files.turn()
        except OSError as error:
            _tell(error, 1)

    def _close(self) -> None:
        try:
            self._files.close()
        except OSError as error:
            _tell(error, 1)


class _Files:
    """One file after the other; used by one thread at a time."""

    def __init__(self, settings: Decisions, name: str, clock: Clock) -> None:
        self._clock = clock
        self._descriptor = -1
        self._name = name
        self._number = 0
        self._opened_ms = 0
        self._path = Path()
        self._size_bytes = 0
        self.settings = settings

    def open(self) -> None:
        directory = self.settings.directory
        directory.mkdir(parents=True, exist_ok=True)
        self._number += 1
        time = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
        self._path = directory / f"decisions-{time}-{self._name}-{self._number:04}.jsonl{_OPEN}"
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o640)
        self._opened_ms = self._clock.monotonic_ms()
        self._size_bytes = 0

    def write(self, line: bytes) -> None:
        """One line; turned to a new file first where this one is too old, too full or not there any more."""
        self._let_go_if_removed()
        is_full = self._size_bytes and self._size_bytes + len(line) > self.settings.rotate_size_bytes
        if is_full or self.seconds_left() <= 0:
            self.turn()
        if self._descriptor < 0:
            self.open()
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):  # a full disk takes a part first and refuses then
                written += os.write(self._descriptor, line[written:])
        except OSError:
            os.ftruncate(self._descriptor, self._size_bytes)
            raise
        self._size_bytes += len(line)

    def _let_go_if_removed(self) -> None:
        """A file that somebody has removed goes on taking lines, and keeps none of them."""
        if self._descriptor < 0 or os.fstat(self._descriptor).st_nlink:
            return
        log.error("decision_file_removed", file=str(self._path), bytes_lost=self._size_bytes)
        os.close(self._descriptor)
        self._descriptor, self._size_bytes = -1, 0

    def turn(self) -> None:
        """Close this file and begin the next; an empty one just goes on."""
        if self._size_bytes == 0:
            self._opened_ms = self._clock.monotonic_ms()
            return
        self.close()
        self.open()

    def close(self) -> None:
        """Make the file whole for its readers; an empty one is taken away."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if self._size_bytes:
            self._path.rename(self._path.with_name(self._path.name.removesuffix(_OPEN)))
        else:
            self._path.unlink()
        self._size_bytes = 0

    def seconds_left(self) -> float:
        """Until this file is too old."""
        age_ms = self._clock.monotonic_ms() - self._opened_ms
        return max(0, self.settings.rotate_every_ms - age_ms) / 1000


def _tell(error: Exception, count: int) -> None:
    """The 1st, 10th, 100th ... line that is lost: a full disk must not fill the log as well."""
    if count == 10 ** (len(str(count)) - 1):
        log.error(
            "decision_log_failed", error=getattr(error, "strerror", None) or str(error), lines_lost=count
        )


def _in_name(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", text)[:60] or "_"
