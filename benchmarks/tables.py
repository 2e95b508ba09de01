"""Figures out of the tables of benchmarks.md, for the pages and parts that follow from it."""

import re
from collections.abc import Mapping


class MissingFigureError(Exception):
    """docs/evidence/benchmarks.md has no such section, row or column."""


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
