"""The lines of a boot that the topic does not have yet: a position in the boot's files, stored beside them.

The files are the queue. So the topic gets every line that is on disk, even if brokers are away for hours or
the process is killed. The next process that starts in that folder finds the position of a boot that no
process has locked, and continues there. Lines between the position and the kill are sent twice; (`proxy`,
`boot`, `seq`) identifies them.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from tsproxy.decision_folder import files_of, is_gone, is_open, lock, open_existing
from tsproxy.log_events.catalogue import DECISION_STATE_DAMAGED

_PREFIX: Final = ".unsent-"
_POSITION: Final = re.compile(rb"([0-9]{10}) (0[0-9]{18})\n")
CHUNK_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Position:
    """A position in the file with this number. Number 0 is before the first file."""

    number: int = 0
    offset_bytes: int = 0

    def as_text(self) -> bytes:
        """The position as text of fixed width, so that one write replaces it."""
        return b"%010d %019d\n" % (self.number, self.offset_bytes)

    @classmethod
    def of_text(cls, text: bytes) -> "Position":
        """The position from the result of `as_text`; the beginning if the text is damaged, as by a power
        loss: nothing is lost if lines are sent twice."""
        position = _POSITION.fullmatch(text)
        return cls(int(position[1]), int(position[2])) if position else cls()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some lines without their line ends, and the position after them."""

    lines: tuple[bytes, ...]
    after: Position


class Unsent:
    """The files of one boot, from a position on. `begin` and `read` may raise OSError."""

    def __init__(self, directory: Path, name: str, descriptor: int, position: Position) -> None:
        self.problem: str | None = None
        """The reason why the stored position is an old one; None if it is not. The next process would send
        lines twice, and this one goes on."""
        self._descriptor = descriptor
        self._directory = directory
        self._name = name
        self._path = directory / f"{_PREFIX}{name}"
        self._position = self._stored = position

    @classmethod
    def begin(cls, directory: Path, name: str) -> Self:
        """The position of a boot that begins now."""
        return cls(directory, name, _made(directory / f"{_PREFIX}{name}"), Position())

    @classmethod
    def left_behind(cls, directory: Path) -> Iterator[Self]:
        """The positions of boots that ended before all was sent. This process owns them from then on."""
        for path in sorted(directory.glob(f"{_PREFIX}*")):
            with suppress(OSError):  # another process has finished it
                descriptor = open_existing(path, os.O_RDWR)
                if lock(descriptor) is not True or not path.exists():
                    os.close(descriptor)
                    continue
                text = os.pread(descriptor, 64, 0)
                position = Position.of_text(text)
                if text not in (b"", position.as_text()):
                    advice = "the lines of that process are sent to the topic from the beginning"
                    DECISION_STATE_DAMAGED(file=str(path), advice=advice)
                    os.ftruncate(descriptor, 0)
                yield cls(directory, path.name.removeprefix(_PREFIX), descriptor, position)

    def read(self, most_bytes: int) -> Chunk | None:
        """The next lines, of `most_bytes` together or one that is longer; None if there are none now."""
        for number, path in files_of(self._directory, self._name):
            if number < self._position.number:
                continue
            offset_bytes = self._position.offset_bytes if number == self._position.number else 0
            try:
                lines, end = _whole_lines(path, offset_bytes, most_bytes)
            except FileNotFoundError:  # it was closed or deleted meanwhile: the next call finds out
                return None
            if lines:
                return Chunk(lines, Position(number, end))
            if is_open(path):
                return None
        return None

    def sent(self, position: Position) -> None:
        """Everything before `position` is in the topic, also if a full disk cannot store that."""
        self._position = position
        self.store()

    def store(self) -> None:
        """Store the position, unless it is stored. A file that was removed with its folder is made again:
        otherwise the next process would not send the lines that wait there."""
        with self._disk_may_fail(), suppress(FileNotFoundError):  # without the folder, no lines wait
            if is_gone(self._descriptor, self._path):
                removed, self._descriptor = self._descriptor, _made(self._path)
                self._stored = Position()
                os.close(removed)
            if self._stored != self._position:
                os.pwrite(self._descriptor, self._position.as_text(), 0)
                self._stored = self._position

    def finish(self) -> bool:
        """Call it if nothing is left to read. True if no more lines will come; then it removes the stored
        position."""
        if any(is_open(path) for _, path in files_of(self._directory, self._name)):
            return False
        with self._disk_may_fail():
            self._path.unlink(missing_ok=True)
            self._close()
        return self._descriptor < 0

    @contextmanager
    def _disk_may_fail(self) -> Iterator[None]:
        try:
            yield
            self.problem = None
        except OSError as error:
            self.problem = f"{error.strerror} ({self._path})"

    def release(self) -> None:
        """Leave the unsent lines to the next process."""
        if self._descriptor >= 0:
            self.store()
            self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)


def _made(path: Path) -> int:
    """A file that this process locks, in place of any other one at this path."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
    lock(descriptor)
    return descriptor


def _whole_lines(path: Path, offset_bytes: int, most_bytes: int) -> tuple[tuple[bytes, ...], int]:
    """The whole lines from an offset on, and the offset after them. A line that is longer than `most_bytes`
    is returned alone. A file that has no line's end before the offset was truncated, and is read anew."""
    with os.fdopen(open_existing(path, os.O_RDONLY), "rb") as file:
        if offset_bytes and os.pread(file.fileno(), 1, offset_bytes - 1) != b"\n":
            offset_bytes = 0
        file.seek(offset_bytes)
        text = file.read(CHUNK_BYTES)
        if b"\n" not in text:
            text += file.readline()
    whole = text[: text.rfind(b"\n", 0, most_bytes) + 1] or text[: text.find(b"\n") + 1]
    return tuple(whole.splitlines()), offset_bytes + len(whole)
