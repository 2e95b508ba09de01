"""The tables of `report.plain`, on the page and in Markdown."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from spark_reports.render.tables import heads, more, table
from spark_reports.report.plain import PLAIN, PlainTable
from spark_reports.report.shape import Report
from tsproxy.model.markup import Markup, element, join


def _rows(asked: PlainTable, report: Report) -> Sequence[Any]:
    """The rows of a table; empty for a report of an earlier release, which does not have them."""
    found: Sequence[Any] = cast(dict[str, Any], report).get(asked.key, [])
    return found


def on_page(asked: PlainTable, report: Report, most: int) -> Markup | None:
    """The table on the page, with at most `most` rows; None without rows."""
    found = _rows(asked, report)
    if not found:
        return None
    shown = [
        (element("span", name, class_="name"), *others) for name, *others in map(asked.cells, found[:most])
    ]
    return join(table(heads(*asked.heads), shown, asked.key), more(len(found) - most))


def in_markdown(report: Report) -> Iterator[tuple[str, Sequence[str], Sequence[tuple[str, ...]]]]:
    """(title, heads, rows) of each table that has rows."""
    for each in PLAIN:
        if found := _rows(each, report):
            names = [head.removeprefix("#").lower() for head in each.heads]
            yield each.title, names, [each.cells(row) for row in found]
