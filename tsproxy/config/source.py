"""Where a configuration comes from, so that it can be read again."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tsproxy.config.settings import Config

Look = tuple[int, int, int] | None
"""What a file looked like: (inode, size, time of change in ns), None where there is none."""


@dataclass(frozen=True, slots=True)
class Source:
    """`read` gives the configuration as it is written now, flags included, or raises ConfigError.

    `file` is None where flags alone say everything.
    """

    file: Path | None
    read: Callable[[], Config]

    def look(self) -> Look:
        return look_at(self.file) if self.file else None


def look_at(file: Path) -> Look:
    """Differs from the last look when the file was written or replaced."""
    try:
        status = os.stat(file)  # of what a link leads to: that is how mounted files are replaced
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
