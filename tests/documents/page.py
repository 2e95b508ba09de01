"""A Markdown page as the list of its steps."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

INTERRUPT = "^C"

_BLOCK = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^([a-z][a-z0-9-]*)?\$ (.*)$")
_NAMED = re.compile(r"^# ([\w./-]+\.\w+)$")
_SCRIPT, _CONSOLE = "sh", "console"


@dataclass(frozen=True, slots=True)
class File:
    """A file that the reader writes. `line` is where the page says so, as in all steps."""

    line: int
    path: PurePosixPath
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command that the reader types. `seen` are the lines that the page shows; None for a script."""

    line: int
    terminal: str | None
    text: str
    seen: tuple[str, ...] | None


Step = File | Command


class PageError(Exception):
    """A page has a block that is no step."""


def steps(text: str) -> Iterator[Step]:
    """The steps of a page, in order. Raises PageError."""
    for block in _BLOCK.finditer(text):
        language = block[2]
        body = re.sub(f"^{block[1]}", "", block[3], flags=re.MULTILINE)
        line = text.count("\n", 0, block.start()) + 2
        if language == _SCRIPT:
            yield Command(line, None, body.rstrip("\n"), None)
        elif language == _CONSOLE:
            yield from _commands(body.splitlines(), line)
        else:
            yield _file(body, line)


def _commands(lines: list[str], first: int) -> Iterator[Command]:
    at = 0
    while at < len(lines):
        prompt = _PROMPT.match(lines[at])
        if prompt is None:
            raise PageError(f"line {first + at}: no prompt before {lines[at]!r}")
        started, typed = at, [prompt[2]]
        while typed[-1].endswith("\\") and at + 1 < len(lines):
            at += 1
            typed.append(lines[at])
        at += 1
        seen = []
        while at < len(lines) and not _PROMPT.match(lines[at]):
            seen.append(lines[at])
            at += 1
        yield Command(first + started, prompt[1], "\n".join(typed), tuple(seen))


def _file(body: str, line: int) -> File:
    name = _NAMED.match(body.partition("\n")[0])
    if name is None:
        raise PageError(
            f"line {line}: a file begins with a comment that has its name, and no language is not run"
        )
    path = PurePosixPath(name[1])
    if path.is_absolute() or ".." in path.parts:
        raise PageError(f"line {line}: {path} lies outside the page's folder")
    return File(line, path, body)
