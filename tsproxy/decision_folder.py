"""The folder of decision files: the names of files, and how the folder is tidied.

A file is called `decisions-<UTC time>-<proxy>-<boot>-<n>.jsonl.open` while it is written. It loses `.open`
when it is closed, so that a reader of `*.jsonl` sees only whole files. Several processes may share the
folder, and each tidies it for all.
"""

import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tsproxy.config.settings import Retention

_OPEN: Final = ".open"
_NAME: Final = re.compile(
    rf"decisions-[0-9]{{8}}T[0-9]{{6}}Z-(?P<boot>[A-Za-z0-9._]+-[A-Za-z0-9._]+)-(?P<number>[0-9]+)\.jsonl({_OPEN})?"
)
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9.]+")
_CHUNK_BYTES: Final = 64 * 1024


def name_of(proxy: str, boot: str) -> str:
    """The part of a file's name that identifies the boot."""
    return "-".join(_NOT_IN_NAMES.sub("_", text)[:60] or "_" for text in (proxy, boot))


def open_path(directory: Path, now_ms: int, name: str, number: int) -> Path:
    time = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    return directory / f"decisions-{time}-{name}-{number:04}.jsonl{_OPEN}"


def is_open(path: Path) -> bool:
    return path.name.endswith(_OPEN)


def files_of(directory: Path, name: str) -> list[tuple[int, Path]]:
    """The existing files of one boot, open or closed, sorted by number. Links are none: a boot makes no
    link."""
    paths = (path for path in directory.glob(f"decisions-*-{name}-*") if _is_regular(path))
    matches = ((_NAME.fullmatch(path.name), path) for path in paths)
    return sorted((int(match["number"]), path) for match, path in matches if match and match["boot"] == name)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:  # removed meanwhile
        return False


def all_files(directory: Path) -> list[Path]:
    """All files with the name of a decision file, open or closed."""
    return sorted(path for path in directory.glob("decisions-*") if _NAME.fullmatch(path.name))


def closed_path(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(_OPEN))


def open_existing(path: Path, flags: int) -> int:
    """Open a file of the folder, which others may write. Raises OSError for a link, whose target may be any
    file of this user, and for anything else that is no regular file: opening a pipe would wait for its other
    end."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return descriptor


def is_gone(descriptor: int, path: Path) -> bool:
    """True if the path no longer leads to this open file, because the file or its folder was removed or
    moved."""
    try:
        mine, named = os.fstat(descriptor), path.stat()
    except OSError:  # nothing is there, or it is not accessible
        return True
    return not os.path.samestat(mine, named)


def lock(descriptor: int) -> bool | None:
    """True if this process now holds the file's lock, False if another one does, None if the file system has
    no locks. A lock ends with the process that holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The closed file of a writer that was killed. `cut_bytes` of an unfinished line were cut off."""

    path: Path
    size_bytes: int
    cut_bytes: int


def close_abandoned(directory: Path) -> Iterator[Abandoned]:
    """Close the files that no running process writes, so that readers see their lines.

    If the file system has no locks, nobody can know whether a process still writes a file. The files then
    stay open.
    """
    for path in filter(is_open, all_files(directory)):
        with suppress(OSError):  # somebody else closed or removed it
            descriptor = open_existing(path, os.O_RDWR)
            try:
                if lock(descriptor) is True:
                    yield _closed(path, descriptor)
            finally:
                os.close(descriptor)


def _closed(path: Path, descriptor: int) -> Abandoned:
    size_bytes = os.fstat(descriptor).st_size
    whole_bytes = _whole_lines_bytes(descriptor, size_bytes)
    os.ftruncate(descriptor, whole_bytes)
    if whole_bytes:
        path.rename(closed_path(path))
    else:
        path.unlink()
    return Abandoned(closed_path(path), whole_bytes, size_bytes - whole_bytes)


def _whole_lines_bytes(descriptor: int, size_bytes: int) -> int:
    """The bytes up to and including the last line's end. The search begins at the end of the file."""
    end = size_bytes
    while end:
        start = max(0, end - _CHUNK_BYTES)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


@dataclass(frozen=True, slots=True)
class ClosedFile:
    path: Path
    size_bytes: int
    written_ms: int
    """The time of the last write, by the file system's clock."""


def closed_files(directory: Path) -> list[ClosedFile]:
    """All closed files of all writers, the oldest first."""
    files = []
    for path in all_files(directory):
        if is_open(path):
            continue
        with suppress(OSError):  # it was removed meanwhile
            status = path.lstat()
            files.append(ClosedFile(path, status.st_size, status.st_mtime_ns // 1_000_000))
    return sorted(files, key=lambda file: (file.written_ms, file.path))


def expired(files: list[ClosedFile], retention: Retention, now_ms: int | None) -> list[ClosedFile]:
    """The files that are too old, and the oldest files beyond the limit on total bytes. No file is too old
    while nobody knows the time (`now_ms` is None). Pure."""
    too_many_bytes = sum(file.size_bytes for file in files) - (retention.size_bytes or 0)
    gone = []
    for file in files:
        age_ms = 0 if now_ms is None else now_ms - file.written_ms
        is_too_old = retention.age_ms is not None and age_ms > retention.age_ms
        is_too_much = retention.size_bytes is not None and too_many_bytes > 0
        if not (is_too_old or is_too_much):
            break  # all later files are newer
        gone.append(file)
        too_many_bytes -= file.size_bytes
    return gone


def delete(files: list[ClosedFile]) -> list[ClosedFile]:
    """Delete the files. Returns those that still existed. Raises OSError if the folder does not allow it."""
    deleted = []
    for file in files:
        with suppress(FileNotFoundError):  # another process of the same folder was faster
            file.path.unlink()
            deleted.append(file)
    return deleted
