"""The lines of a folder of decision files: the newest ones, and those that are written from now on.

The reader locks and changes nothing. It reads an open file up to its last whole line, and recognizes the file
after it has lost its `.open`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

import orjson

from tsproxy.decision_folder import all_files, closed_path
from tsproxy.decisions.conformity import fault
from tsproxy.decisions.text import bounded
from tsproxy.model.words import noun
from tsproxy.offline.decision_lines import Line

MAX_NAMED: Final = 5


class SetAside:
    """Lines that cannot be used: there are `count`, of which the first MAX_NAMED are named."""

    def __init__(self) -> None:
        self.count = 0
        self._named: list[str] = []

    def usable(self, raw: bytes, path: Path, at_byte: int) -> Mapping[str, Any] | None:
        """The parsed line if it is what its kind must be, else None. `at_byte` is its position in the
        file."""
        try:
            line = orjson.loads(raw)
        except orjson.JSONDecodeError:
            wrong: str | None = "is no JSON object"
        else:
            wrong = fault(line)
        if wrong is None:
            return cast("Mapping[str, Any]", line)
        self.add(wrong, path, at_byte)
        return None

    def add(self, wrong: str, path: Path, at_byte: int) -> None:
        self.count += 1
        if len(self._named) < MAX_NAMED:
            self._named.append(f"{bounded(path.name)}: the line at byte {at_byte} {wrong}")

    def sentences(self) -> Iterator[str]:
        """One for each named line, and one for the others."""
        yield from self._named
        if (more := self.count - len(self._named)) > 0:
            yield f"{more:,} more {noun(more, 'line')} like these"


class Reader:
    """Reads one folder. `set_aside` has the lines that cannot be used."""

    def __init__(self, directory: Path) -> None:
        self.set_aside = SetAside()
        self._directory = directory
        self._read_bytes: dict[Path, int] = {}
        """The number of bytes read of each file, by the file's name after it is closed."""

    def newest(self, count: int, is_selected: Callable[[Line], bool]) -> list[Line]:
        """The last `count` lines that `is_selected` selects, oldest first. Older files are not opened once
        there are enough. Raises OSError if the folder cannot be read."""
        found: list[Line] = []
        for path in reversed(self._files()):
            lines = list(self._new_lines(path)) if len(found) < count else []
            if len(found) >= count:
                self._skip(path)
            found = [line for line in lines if is_selected(line)] + found
        found.sort(key=_time)  # proxies that share a folder write at the same time
        return found[-count:] if count else []

    def more(self, is_selected: Callable[[Line], bool]) -> list[Line]:
        """The lines written since the last call. Raises OSError."""
        lines = [line for path in self._files() for line in self._new_lines(path)]
        return sorted(filter(is_selected, lines), key=_time)

    def _files(self) -> list[Path]:
        if not self._directory.is_dir():
            raise NotADirectoryError(f"{self._directory} is not a folder")
        return all_files(self._directory)

    def _skip(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            self._read_bytes[closed_path(path)] = path.stat().st_size

    def _new_lines(self, path: Path) -> Iterator[Line]:
        name = closed_path(path)
        try:
            with (path if path.exists() else name).open("rb") as file:  # the file may be closed by now
                file.seek(self._read_bytes.get(name, 0))
                for raw in file:
                    if not raw.endswith(b"\n"):
                        break  # the end of the line is not written yet
                    at_byte = self._read_bytes.get(name, 0)
                    self._read_bytes[name] = at_byte + len(raw)
                    if (line := self.set_aside.usable(raw, name, at_byte)) is not None:
                        yield line
        except FileNotFoundError:
            return  # deleted


def _time(line: Line) -> str:
    return str(line.get("ts"))
