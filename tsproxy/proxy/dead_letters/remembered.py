"""A file that says how many dead letters wait. The next start can tell how many a killed process has lost.

It is called `.dead-letters-…`, lies in `decisions.directory`, and is there while letters wait. Readers of the
decision log skip names with a dot. A process that stops in good order removes its file. A process that is
killed leaves it behind, without its lock. A thread writes it, since a disk may hang, so it lags by a
millisecond or so. The disk of a machine that lost its power may hold an older number.
"""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tsproxy.decision_folder import lock, open_existing
from tsproxy.proxy.daemon_threads import DaemonThreads

_PREFIX: Final = ".dead-letters-"
_MAX_BYTES: Final = 64
_STOPS_WITHIN_S: Final = 5.0


class Waited(NamedTuple):
    """The letters that wait. All letters of rejections since `since_ms` are among them."""

    records: int
    since_ms: int


class Remembered:
    """The file of this process, which is made when the first letter waits."""

    def __init__(self, folder: Path) -> None:
        self._changed = asyncio.Event()
        self._descriptor: int | None = None
        self._folder = folder
        self._path: Path | None = None
        self._thread = DaemonThreads(1, "dead-letters-file")
        self._waited = Waited(0, 0)

    def note(self, waited: Waited) -> None:
        """So many wait now. Never waits."""
        if waited != self._waited:
            self._waited = waited
            self._changed.set()

    async def lost(self) -> list[Waited]:
        """The losses of processes that were killed. Each is returned once."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, _collected, self._folder)

    async def run(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await asyncio.get_running_loop().run_in_executor(self._thread, self._write, self._waited)

    async def stop(self) -> None:
        """Remove the file: whatever still waited has been counted and logged."""
        removed = asyncio.get_running_loop().run_in_executor(self._thread, self._remove)
        await asyncio.wait([removed], timeout=_STOPS_WITHIN_S)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _write(self, waited: Waited) -> None:
        # If the disk fails, the decision log says so: it is in the same folder.
        with suppress(OSError):
            if self._descriptor is None:
                self._open()
            assert self._descriptor is not None, "opened above"
            # Always as long: a write over what is there needs no room on a disk that is full.
            os.pwrite(self._descriptor, b"%20d %20d\n" % waited, 0)

    def _open(self) -> None:
        while self._descriptor is None:
            descriptor, name = tempfile.mkstemp(prefix=_PREFIX, dir=self._folder)
            # Between these two lines another process may have removed it as the file of a killed one.
            if lock(descriptor) is not False and os.fstat(descriptor).st_nlink:
                self._descriptor, self._path = descriptor, Path(name)
            else:
                os.close(descriptor)

    def _remove(self) -> None:
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()


def _collected(folder: Path) -> list[Waited]:
    found: list[Waited] = []
    with suppress(OSError):  # the folder cannot be read: the decision log says so
        for path in sorted(folder.glob(f"{_PREFIX}*")):
            found += _taken(path)
    return [each for each in found if each.records > 0]


def _taken(path: Path) -> Iterator[Waited]:
    """The content of a file that no process holds. It is removed."""
    with suppress(OSError, ValueError):  # another process was faster, or this is somebody else's file
        descriptor = open_existing(path, os.O_RDWR)
        try:
            # The lock may be that of a file which another process has just read and removed.
            if lock(descriptor) is True and path.stat().st_ino == os.fstat(descriptor).st_ino:
                # It is empty if the process was killed before it wrote a number.
                records, since_ms = map(int, os.pread(descriptor, _MAX_BYTES, 0).split() or (0, 0))
                path.unlink()
                yield Waited(records, since_ms)
        finally:
            os.close(descriptor)
