"""The examples of docs/guide/offline.md: a command, and its output."""

import re
import shlex
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "guide" / "offline.md"
_CONSOLE = re.compile(r"^```\n\$ tsproxy (?P<command>[^\n]*)\n(?P<shown>.*?)^```$", re.MULTILINE | re.DOTALL)
_VARYING = re.compile(r"cluster [\w-]{22}|[+-]?\d[\d,.:-]*( ms| s| min)?")


def example(name, document=DOCUMENT):
    """The arguments of the one command `tsproxy name …` that the document shows, and its output."""
    ((command, shown),) = [
        (each["command"], each["shown"])
        for each in _CONSOLE.finditer(document.read_text(encoding="utf-8"))
        if each["command"].startswith(name)
    ]
    return shlex.split(command), shown


def words(printed):
    """The output's words, line by line: numbers, times and names of clusters differ from run to run."""
    return [re.sub(r"\s+", " ", _VARYING.sub("0", line)).strip() for line in printed.splitlines()]
