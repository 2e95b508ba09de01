"""The source of a configuration, so that it can be read again."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tsproxy.config.settings import Config

FileState = tuple[int, ...] | None
"""A file's inode, size, time of the last change in ns, and who may read it; None if there is no file."""


@dataclass(slots=True)
class Source:
    """`parse` returns the configuration of the file and the flags, or raises ConfigError. `tried` is the
    state of the file before it was last read, so that a change since then is seen.

    `file` is None if there are only flags.
    """

    file: Path | None
    parse: Callable[[], Config]
    tried: FileState = None

    def read(self) -> Config:
        self.tried = self.state()
        return self.parse()

    def state(self) -> FileState:
        return state_of(self.file) if self.file else None


def state_of(file: Path) -> FileState:
    """The state of a file. It changes when the file is written or replaced, or others may read it."""
    try:
        status = os.stat(file)  # follows links: a mounted file is replaced by changing a link
    except OSError:
        return None
    rights = status.st_mode, status.st_uid, status.st_gid
    return status.st_ino, status.st_size, status.st_mtime_ns, *rights
