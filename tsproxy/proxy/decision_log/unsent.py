"""What a boot has written and the topic has not got yet: a position in the boot's files, kept beside them.

The files are the queue. So nothing that is on disk is lost to the topic by a broker that is away for
hours, nor by a process that is killed: whoever starts next in that folder finds the position of a boot
that nobody has locked any more, and goes on from there. Lines between the position and the kill are sent
twice; (`proxy`, `boot`, `seq`) tells.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from tsproxy.decision_folder import files_of, is_open, lock

_PREFIX: Final = ".unsent-"
_CHUNK_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Position:
    """In the file of that number; 0 is before the first one."""

    number: int = 0
    offset_bytes: int = 0

    def as_text(self) -> bytes:
        """Of fixed width, so that it is replaced by one write."""
        return b"%010d %019d\n" % (self.number, self.offset_bytes)

    @classmethod
    def of_text(cls, text: bytes) -> "Position":
        """What `as_text` wrote; the beginning where that was cut short."""
        number, _, offset_bytes = text.partition(b" ")
        if len(text) != len(cls().as_text()):
            return cls()
        return cls(int(number), int(offset_bytes))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some lines, without their ends, and the position after them."""

    lines: tuple[bytes, ...]
    after: Position


class Unsent:
    """The files of one boot, from a position on. Every method may raise OSError."""

    def __init__(self, directory: Path, name: str, descriptor: int, position: Position) -> None:
        self._descriptor = descriptor
        self._directory = directory
        self._name = name
        self._position = position

    @classmethod
    def begin(cls, directory: Path, name: str) -> Self:
        """For a boot that begins now."""
        path = directory / f"{_PREFIX}{name}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
        lock(descriptor)
        unsent = cls(directory, name, descriptor, Position())
        unsent.sent(Position())
        return unsent

    @classmethod
    def left_behind(cls, directory: Path) -> Iterator[Self]:
        """Those of boots that have ended before all was sent. They are this process's from then on."""
        for path in sorted(directory.glob(f"{_PREFIX}*")):
            with suppress(OSError):  # somebody else has finished it
                descriptor = os.open(path, os.O_RDWR)
                if lock(descriptor) is not True or not path.exists():
                    os.close(descriptor)
                    continue
                position = Position.of_text(os.pread(descriptor, 64, 0))
                yield cls(directory, path.name.removeprefix(_PREFIX), descriptor, position)

    def read(self) -> Chunk | None:
        """The next lines; None where there are none now."""
        for number, path in files_of(self._directory, self._name):
            if number < self._position.number:
                continue
            offset_bytes = self._position.offset_bytes if number == self._position.number else 0
            try:
                lines, end = _whole_lines(path, offset_bytes)
            except FileNotFoundError:  # it is being closed, or has been deleted: the next look will tell
                return None
            if lines:
                return Chunk(lines, Position(number, end))
            if is_open(path):
                return None
        return None

    def sent(self, position: Position) -> None:
        """Everything before `position` is in the topic."""
        os.pwrite(self._descriptor, position.as_text(), 0)
        self._position = position

    def finish(self) -> bool:
        """To be called where nothing is left to read: True where nothing more will come, and then there
        is nothing to remember."""
        if any(is_open(path) for _, path in files_of(self._directory, self._name)):
            return False
        (self._directory / f"{_PREFIX}{self._name}").unlink(missing_ok=True)
        self.let_go()
        return True

    def let_go(self) -> None:
        """Leave what is not sent to whoever starts next."""
        os.close(self._descriptor)


def _whole_lines(path: Path, offset_bytes: int) -> tuple[tuple[bytes, ...], int]:
    """Lines from an offset on, and where they end. A line longer than a chunk comes alone."""
    with path.open("rb") as file:
        file.seek(offset_bytes)
        text = file.read(_CHUNK_BYTES)
        while text and b"\n" not in text and (more := file.read(_CHUNK_BYTES)):
            text += more
    whole = text[: text.rfind(b"\n") + 1]
    return tuple(whole.splitlines()), offset_bytes + len(whole)
