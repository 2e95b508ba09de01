"""The tables of a page, for tests that compare them with the code."""

import re
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parents[2] / "docs"
_TABLE: Final = re.compile(r"^(\|.+\|)\n\|[ |:-]+\|\n((?:\|.+\|\n)*)", re.M)


def rows_of(page: str, *head: str) -> list[tuple[str, ...]]:
    """The cells of each row of the page's tables with this head. A page is named as in `docs`."""
    tables = _TABLE.findall((DOCS / page).read_text(encoding="utf-8"))
    return [_cells(row) for first, rows in tables if _cells(first) == head for row in rows.splitlines()]


def _cells(row: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", row[1:-1]))
