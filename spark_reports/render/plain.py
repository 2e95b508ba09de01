"""Tables that show rows of report.json as they are, on the page and in Markdown: `PLAIN`.

A new one is a row here, a key of `shape.Plain`, and a row of `groups.PLAIN`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from spark_reports.render.tables import heads, more, table
from spark_reports.report import words
from spark_reports.report.shape import OutOfOrderTopic, Report
from tsproxy.model.markup import Markup, element, join


@dataclass(frozen=True, slots=True)
class PlainTable:
    """`key` is the rows' key in report.json. `heads` begin with `#` above numbers. `cells` are texts. The
    first cell is a name from the log."""

    key: str
    title: str
    heads: Sequence[str]
    cells: Callable[[Any], tuple[str, ...]]

    def rows(self, report: Report) -> Sequence[Any]:
        """Empty for a report of an earlier release, which did not have them."""
        found: Sequence[Any] = cast(dict[str, Any], report).get(self.key, [])
        return found

    def page(self, report: Report, most: int) -> Markup | None:
        """None without rows."""
        found = self.rows(report)
        if not found:
            return None
        shown = [
            (element("span", name, class_="name"), *others) for name, *others in map(self.cells, found[:most])
        ]
        return join(table(heads(*self.heads), shown, self.key), more(len(found) - most))


def _out_of_order(row: OutOfOrderTopic) -> tuple[str, ...]:
    return (
        words.short(row["topic"], 60),
        words.count(row["records"]),
        words.count(row["out_of_order_records"]),
        words.share(row["out_of_order_records"], row["records"]),
        f"{words.duration(row['out_of_order_max_ms'])} older",
    )


PLAIN: Final = (
    PlainTable(
        "out_of_order",
        "Records out of order",
        ("Topic", "#Accepted", "#Out of order", "#Share", "The latest"),
        _out_of_order,
    ),
)


def in_markdown(report: Report) -> Iterator[tuple[str, Sequence[str], Sequence[tuple[str, ...]]]]:
    """(title, heads, rows) of each table that has rows."""
    for each in PLAIN:
        if found := each.rows(report):
            names = [head.removeprefix("#").lower() for head in each.heads]
            yield each.title, names, [each.cells(row) for row in found]
