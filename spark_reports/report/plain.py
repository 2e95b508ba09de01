"""Tables whose rows are shown as they are, on the page and in Markdown: `PLAIN`. Plain Python, no Spark.

A new one is a row here and a key of `shape.Plain`. `tables` makes its rows, and `render.plain` shows them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spark_reports.log.grouping import Grouping, How, Measure
from spark_reports.report import words
from spark_reports.report.shape import OutOfOrderTopic


@dataclass(frozen=True, slots=True)
class PlainTable:
    """`key` is the rows' key in report.json, `grouping` makes the rows from counters. `heads` begin with `#`
    above numbers. `cells` are texts. The first cell is a name from the log."""

    key: str
    grouping: Grouping
    title: str
    heads: Sequence[str]
    cells: Callable[[Any], tuple[str, ...]]


def _out_of_order(row: OutOfOrderTopic) -> tuple[str, ...]:
    return (
        words.short(row["topic"], 60),
        words.count(row["records"]),
        words.count(row["out_of_order_records"]),
        words.share(row["out_of_order_records"], row["records"]),
        f"{words.duration(row['out_of_order_max_ms'])} older",
    )


PLAIN: Final = (
    # Only topics whose rule tracks stream time have such records. `records` are all accepted ones.
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
        ("Topic", "#Accepted", "#Out of order", "#Share", "The latest"),
        _out_of_order,
    ),
)
