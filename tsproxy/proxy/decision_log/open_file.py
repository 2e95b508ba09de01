"""One decision file while it is written. It only ever holds whole lines.

A line is one `write` that appends. If a full disk stored only a part of a line, that part is removed before
the next line, or when the file is closed. The file is locked (`flock`) as long as its process lives, so that
other processes can distinguish it from the file of a killed process (`decision_folder.close_abandoned`).
"""

import os
from pathlib import Path

from tsproxy.decision_folder import closed_path, is_gone, lock


class OpenFile:
    """An open decision file. The constructor raises OSError; FileExistsError if another process was
    faster."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size_bytes = 0
        """The size of its whole lines."""
        self._is_synced = True
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o640)
        # Between these two lines another process may have treated the file as abandoned.
        if lock(self._descriptor) is False or self.is_gone:
            os.close(self._descriptor)
            raise FileExistsError(f"{path} was taken away as it was made")

    @property
    def is_gone(self) -> bool:
        return is_gone(self._descriptor, self.path)

    @property
    def is_deleted(self) -> bool:
        """True if no name leads to this file any more, so that its contents are lost."""
        try:
            return os.fstat(self._descriptor).st_nlink == 0
        except OSError:  # the file server has no such file any more
            return True

    def write(self, line: bytes) -> None:
        """Append one line. If it raises OSError, the file has not grown."""
        self._take_back()
        written = os.write(self._descriptor, line)
        while written < len(line):  # a full disk accepts a part first and then fails
            written += os.write(self._descriptor, line[written:])
        self.size_bytes += len(line)
        self._is_synced = False

    def sync(self) -> None:
        """Flush written lines to the disk, in case the machine loses its power."""
        if not self._is_synced:
            os.fsync(self._descriptor)
            self._is_synced = True

    def close(self) -> None:
        """Close the file for its readers. An empty file is removed. Not usable afterwards."""
        try:
            self._take_back()
            self.sync()
        finally:
            os.close(self._descriptor)
        if self.size_bytes:
            self.path.rename(closed_path(self.path))
        else:
            self.path.unlink()

    def release(self) -> None:
        os.close(self._descriptor)

    def _take_back(self) -> None:
        size_bytes = os.fstat(self._descriptor).st_size
        self.size_bytes = min(self.size_bytes, size_bytes)  # smaller if somebody truncated the file
        if size_bytes > self.size_bytes:
            os.ftruncate(self._descriptor, self.size_bytes)
