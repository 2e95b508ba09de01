"""One decision file while it is written: it holds whole lines, whatever happens.

A line is one `write`, appended. What a full disk took of a line is taken back before the next one, or
when the file is closed. The file is locked (`flock`) as long as its process lives, so that others can
tell a file that is being written from one whose writer was killed (`folder.close_abandoned`).
"""

import os
from pathlib import Path

from tsproxy.decision_folder import closed_path, lock


class OpenFile:
    """Its constructor raises OSError, FileExistsError among them where another process got there first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size_bytes = 0
        """Of the whole lines in it."""
        self._is_synced = True
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o640)
        # Between these two lines somebody who tidies up may have taken the file for an abandoned one.
        if lock(self._descriptor) is False or self.is_gone:
            os.close(self._descriptor)
            raise FileExistsError(f"{path} was taken away as it was made")

    @property
    def is_gone(self) -> bool:
        """True where the path no longer leads here: the file, or its folder, was removed or moved."""
        try:
            mine, named = os.fstat(self._descriptor), os.stat(self.path)
        except OSError:  # nothing is there, or nothing that lets itself be reached
            return True
        return (mine.st_dev, mine.st_ino) != (named.st_dev, named.st_ino)

    @property
    def is_deleted(self) -> bool:
        """True where no name at all leads here: what is in it is lost."""
        try:
            return os.fstat(self._descriptor).st_nlink == 0
        except OSError:  # a file server that has forgotten it
            return True

    def write(self, line: bytes) -> None:
        """Append one line. Raises OSError, and then the file is none the longer."""
        self._take_back()
        written = os.write(self._descriptor, line)
        while written < len(line):  # a full disk takes a part first and rejects then
            written += os.write(self._descriptor, line[written:])
        self.size_bytes += len(line)
        self._is_synced = False

    def sync(self) -> None:
        """Force to the disk what was written, for a machine that loses its power."""
        if not self._is_synced:
            os.fsync(self._descriptor)
            self._is_synced = True

    def close(self) -> None:
        """Make the file whole for its readers; an empty one is taken away. Not to be used after it."""
        try:
            self._take_back()
            self.sync()
        finally:
            os.close(self._descriptor)
        if self.size_bytes:
            self.path.rename(closed_path(self.path))
        else:
            self.path.unlink()

    def let_go(self) -> None:
        """Close it as it is, under whatever name it has now."""
        os.close(self._descriptor)

    def _take_back(self) -> None:
        if os.fstat(self._descriptor).st_size > self.size_bytes:
            os.ftruncate(self._descriptor, self.size_bytes)
