"""One decision file after another: when to rotate, when to flush to the disk, when to tidy the folder."""

import errno
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from tsproxy.clock import Clock
from tsproxy.config.settings import Decisions
from tsproxy.decision_folder import (
    ClosedFile,
    close_abandoned,
    closed_files,
    delete,
    expired,
    open_path,
)
from tsproxy.log_events.catalogue import (
    DECISION_FILE_NOT_CLOSED,
    DECISION_FILE_RECOVERED,
    DECISION_FILE_REMOVED,
    DECISION_FILES_DELETED,
    DECISION_FILES_NOT_DELETED,
)
from tsproxy.proxy.decision_log.open_file import OpenFile

TIDY_EVERY_MS: Final = 60_000
_ATTEMPTS: Final = 3
_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors that would happen with a new file as well."""


class FileRotation:
    """Writes to one file after another. Used by one thread at a time.

    `time_for_ages` is the time by which files are too old (ms since the epoch), None while nobody knows it.
    """

    def __init__(
        self, settings: Decisions, name: str, clock: Clock, time_for_ages: Callable[[], int | None]
    ) -> None:
        self.files_deleted = 0
        self.name = name
        self.settings = settings
        self._clock = clock
        self._time_for_ages = time_for_ages
        self._seen_ms: dict[Path, int] | None = None
        """When each closed file was seen first, by the monotonic clock; None before the first look."""
        self._file: OpenFile | None = None
        self._number = 0
        self._opened_ms = self._synced_ms = clock.monotonic_ms()
        self._tidied_ms: int | None = None

    def open(self) -> None:
        """Open a file. Creates the folder if it is missing. Raises OSError."""
        directory = self.settings.directory
        directory.mkdir(parents=True, exist_ok=True)
        for attempt in range(_ATTEMPTS):
            self._number += 1
            path = open_path(directory, self._clock.now_ms(), self.name, self._number)
            try:
                self._file = OpenFile(path)
                break
            except FileExistsError:
                if attempt == _ATTEMPTS - 1:
                    raise
        self._opened_ms = self._synced_ms = self._clock.monotonic_ms()

    def write(self, line: bytes) -> None:
        """Write one line, to a new file if this one is full or was removed. If it raises OSError, the line is
        in no file."""
        self._let_go_if_gone()
        if self._file is not None and self._file.size_bytes:
            is_full = self._file.size_bytes + len(line) > self.settings.rotate_size_bytes
            if is_full or self._turn_is_due:
                self.turn()
        try:
            self._append(line)
        except OSError as error:
            if error.errno in _NO_SPACE:
                raise
            # After other errors (a limit on the size of files, a bad block, a file server without this file)
            # a new file may work.
            was_begun = self._file is not None and self._file.size_bytes > 0
            self.close()
            if error.errno != errno.EFBIG or not was_begun:
                raise
            self._append(line)

    def _append(self, line: bytes) -> None:
        if self._file is None:
            self.open()
        assert self._file is not None, "open sets it or raises"
        self._file.write(line)

    def keep_time(self) -> None:
        """Do the work that is due. Raises OSError. To tidy comes first: on a full disk, a new file may need
        the room."""
        self.tidy_if_due()
        if self._turn_is_due:
            self.turn()
        if self._sync_is_due:
            self._synced_ms = self._clock.monotonic_ms()
            if self._file is not None:
                self._file.sync()

    def seconds_left(self) -> float:
        now_ms = self._clock.monotonic_ms()
        due_ms = [self._opened_ms + self.settings.rotate_every_ms, (self._tidied_ms or 0) + TIDY_EVERY_MS]
        if self.settings.sync_every_ms is not None:
            due_ms.append(self._synced_ms + self.settings.sync_every_ms)
        return max(0, min(due_ms) - now_ms) / 1000

    def turn(self) -> None:
        """Close this file and open the next one. An empty file stays in use. Raises OSError."""
        if self._file is not None and self._file.size_bytes == 0:
            self._opened_ms = self._clock.monotonic_ms()
            return
        self.close()
        self.open()

    def close(self) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        try:
            file.close()
        except OSError as error:
            # The file keeps its name. The next process that tidies the folder closes it.
            DECISION_FILE_NOT_CLOSED(file=str(file.path), error=error.strerror)

    def tidy_if_due(self) -> None:
        if self._tidied_ms is None or self._clock.monotonic_ms() - self._tidied_ms >= TIDY_EVERY_MS:
            self.tidy()

    def tidy(self) -> None:
        """Close the files that killed processes left open, and delete files beyond the retention."""
        directory = self.settings.directory
        self._tidied_ms = self._clock.monotonic_ms()
        for abandoned in close_abandoned(directory):
            DECISION_FILE_RECOVERED(
                file=str(abandoned.path),
                bytes_kept=abandoned.size_bytes,
                bytes_cut=abandoned.cut_bytes,
            )
        now_ms = self._time_for_ages()
        files = self._no_older_than_seen(closed_files(directory), now_ms)
        old = expired(files, self.settings.retention, now_ms)
        try:
            deleted = delete(old)
        except OSError as error:
            DECISION_FILES_NOT_DELETED(directory=str(directory), error=error.strerror)
            return
        if deleted:
            self.files_deleted += len(deleted)
            freed_bytes = sum(file.size_bytes for file in deleted)
            DECISION_FILES_DELETED(files=len(deleted), bytes=freed_bytes)

    def _no_older_than_seen(self, files: list[ClosedFile], now_ms: int | None) -> list[ClosedFile]:
        """The files, the oldest first. A file that came after the first look is no older than that, even if
        it was written while the clock was slow."""
        monotonic_ms, seen_ms = self._clock.monotonic_ms(), self._seen_ms
        new_ms = monotonic_ms if seen_ms is not None else 0
        self._seen_ms = {file.path: (seen_ms or {}).get(file.path, new_ms) for file in files}
        if now_ms is None:
            return files
        for place, file in enumerate(files):
            if first_ms := self._seen_ms[file.path]:
                least_ms = now_ms - (monotonic_ms - first_ms) - TIDY_EVERY_MS
                files[place] = replace(file, written_ms=max(file.written_ms, least_ms))
        return sorted(files, key=lambda file: (file.written_ms, file.path))

    def _let_go_if_gone(self) -> None:
        """Drop a file that somebody has removed. It would still accept lines, and lose them."""
        file = self._file
        if file is None or not file.is_gone:
            return
        bytes_lost = file.size_bytes if file.is_deleted else 0
        DECISION_FILE_REMOVED(file=str(file.path), bytes_lost=bytes_lost)
        self._file = None
        with suppress(OSError):
            file.release()

    @property
    def _turn_is_due(self) -> bool:
        return self._clock.monotonic_ms() - self._opened_ms >= self.settings.rotate_every_ms

    @property
    def _sync_is_due(self) -> bool:
        every_ms = self.settings.sync_every_ms
        return every_ms is not None and self._clock.monotonic_ms() - self._synced_ms >= every_ms
