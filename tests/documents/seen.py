"""Is what was seen what the page shows?"""

import re
from collections.abc import Sequence

ANY = "…"

_VARYING = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\x1b\[[\d;?]*[A-Za-z]", ""),
        (r"\b\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?( UTC|Z)?", "<time>"),
        (r"(?<![\d.:])\d\d:\d\d(:\d\d)?(?![\d:])", "<time>"),
        (r"\b1[5-9]\d{8}(\d{3}){0,3}\b", "<time>"),
        (r"(?<![\w.])[+-]?\d[\d.]* (ms|s|min)\b", "<duration>"),
        (r"\bcluster [\w-]{22}(?![\w-])", "cluster <id>"),
        (r"\s+", " "),
    )
)


def normal(line: str) -> str:
    """The line without that which differs from run to run."""
    for pattern, name in _VARYING:
        line = pattern.sub(name, line)
    return line.strip()


def lines_of(output: str) -> list[str]:
    """The lines that a terminal shows. A carriage return begins a line again."""
    lines = output.replace("\r\n", "\n").split("\n")
    shown = [line.rstrip("\r").rpartition("\r")[2] for line in lines]
    while shown and not normal(shown[-1]):
        shown.pop()
    return shown


def is_shown(seen: Sequence[str], page: Sequence[str], *, goes_on: bool = False) -> bool:
    """True if the lines seen are those of the page. With `goes_on`, more lines may follow."""
    pattern = "".join(_pattern(line) for line in page) + ("(.*\n)*" if goes_on else "")
    return re.fullmatch(pattern, "".join(f"{normal(line)}\n" for line in seen)) is not None


def _pattern(line: str) -> str:
    if line.strip() == ANY:
        return "(.*\n)*?"
    return "[^\n]*".join(re.escape(part) for part in normal(line).split(ANY)) + "\n"
