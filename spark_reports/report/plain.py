"""Tables whose rows are those of a Grouping of counters: `ROWS`. Plain Python, no Spark.

`tables` makes the rows, and `shape.Plain` has their keys. `render.plain` shows the rows of `PLAIN` as they
are, on the page and in Markdown. A table that looks different is only in `ROWS`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spark_reports.log.grouping import Grouping, How, Measure
from spark_reports.report import words


@dataclass(frozen=True, slots=True)
class PlainTable:
    """`key` is the rows' key in report.json, `grouping` makes the rows from counters. `columns` are heads,
    which begin with `#` above numbers, each with its cell's text. The first cell is a name from the log."""

    key: str
    grouping: Grouping
    title: str
    columns: Sequence[tuple[str, Callable[[Any], str]]]


PLAIN: Final = (
    # Only logs of earlier proxies have such records. `records` are all accepted ones.
    PlainTable(
        "out_of_order",
        Grouping(
            keys=("topic",),
            measures={
                "records": Measure(How.SUM, ("records",)),
                "out_of_order_records": Measure(How.SUM, ("out_of_order_records",)),
                "out_of_order_max_ms": Measure(How.GREATEST, ("out_of_order_max_ms",)),
            },
            where="is_accepted",
            having="out_of_order_records",
            order=("out_of_order_records",),
        ),
        "Records out of order",
        (
            ("Topic", lambda row: words.short(row["topic"], 60)),
            ("#Accepted", lambda row: words.count(row["records"])),
            ("#Out of order", lambda row: words.count(row["out_of_order_records"])),
            ("#Share", lambda row: words.share(row["out_of_order_records"], row["records"])),
            ("The latest", lambda row: words.older(row["out_of_order_max_ms"])),
        ),
    ),
)

ROWS: Final[Mapping[str, Grouping]] = {
    **{each.key: each.grouping for each in PLAIN},
    # The rules that rejected most, or would have. The counts are those of batches that violated the rule.
    "rules": Grouping(
        keys=("rule", "mode", "waiver"),
        measures={
            **{name: Measure(How.SUM, (name,)) for name in ("batches", "records", "bad_records")},
            "rejected_records": Measure(How.SUM, ("records",), "is_rejection"),
        },
        where="violates_a_rule",
        order=("records",),
    ),
}
"""The rows of report.json by their key, at most `--top` of each."""
