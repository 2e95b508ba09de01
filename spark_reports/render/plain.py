"""The tables of `report.plain`, whose rows are shown as they are."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from spark_reports.render.tables import Column, Columns, more, name, table
from spark_reports.report.plain import PLAIN, PlainTable
from spark_reports.report.shape import Report
from tsproxy.model.markup import Markup, join


def rows_of(asked: PlainTable, report: Report) -> Sequence[Any]:
    """The rows of a table."""
    found: Sequence[Any] = cast(dict[str, Any], report)[asked.key]
    return found


def columns(asked: PlainTable) -> Columns[Any]:
    first, *others = asked.columns
    return [name(*first), *(Column(head, text) for head, text in others)]


def on_page(asked: PlainTable, report: Report, most: int) -> Markup | None:
    """The table on the page, with at most `most` rows; None without rows."""
    found = rows_of(asked, report)
    if not found:
        return None
    return join(table(columns(asked), found[:most], asked.key), more(len(found) - most))


def there(report: Report) -> Iterator[PlainTable]:
    return (asked for asked in PLAIN if rows_of(asked, report))
