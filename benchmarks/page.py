"""results.md: two commands write one page, and each leaves the part of the other unchanged.

The figures in its tables can be read again: the answers, the targets and README follow from them.
"""

import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Final

RESULTS: Final = Path(__file__).parent / "results.md"

REPORTS_TITLE: Final = "What the Spark reports cost"

_BETWEEN: Final = "<!-- Above: written by `make bench`. Below: by `make bench-reports`. -->\n"
_LINE_LENGTH: Final = 110
_CODE: Final = re.compile("`[^`]+`")


def with_proxy(page: str, part: str) -> str:
    """The page with `part` as its part about the proxy."""
    reports = page.partition(_BETWEEN)[2]
    return f"{part}\n{_BETWEEN}{reports}" if reports else part


def with_reports(page: str, part: str) -> str:
    """The page with `part` as its part about the Spark reports."""
    return f"{page.partition(_BETWEEN)[0].rstrip()}\n\n{_BETWEEN}\n{part}"


def wrapped(text: str, begin: str = "") -> str:
    """A paragraph, or a list item that begins with `begin`, in short lines. Code is not broken."""
    lines = textwrap.wrap(
        _CODE.sub(lambda found: found[0].replace(" ", "\0"), text),
        _LINE_LENGTH,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\0", " ")


class MissingFigureError(Exception):
    """results.md has no such section, row or column."""


def table(page: str, title: str) -> Mapping[str, Mapping[str, str]]:
    """The rows of the first table of a section by their first cell: column -> cell."""
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    if len(lines) < 3:
        raise MissingFigureError(f"no table in {title!r}")
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


def cell(page: str, title: str, row: str, column: str) -> str:
    """One cell without its spread: `1.20` of `1.20 [1.10–1.30]`. Raises MissingFigureError."""
    found = table(page, title).get(row)
    if found is None or column not in found:
        raise MissingFigureError(f"{title}: no row {row}" + ("" if found is None else f" with {column!r}"))
    return found[column].partition(" [")[0]


def number(text: str) -> float:
    """The number at the begin of a cell such as `17.4 KiB`."""
    found = re.match(r"[\d,.]+", text)
    if found is None:
        raise MissingFigureError(f"no number in {text!r}")
    return float(found[0].replace(",", ""))
