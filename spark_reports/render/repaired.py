"""Who is repaired: a rule corrects its timestamps, and its owner should do so at the producer."""

from collections.abc import Sequence
from typing import Final

from spark_reports.render.compared import how_many
from spark_reports.render.tables import CAUSE_AND_FIX, Column, Columns, count, mistake, name, table
from spark_reports.report import words
from spark_reports.report.shape import Repaired, Report
from tsproxy.model.markup import Markup, element, join

COLUMNS: Final[Columns[Repaired]] = (
    name("Producer", words.application, "client"),
    name("Rule", lambda row: words.rule(row["rule"])),
    mistake("Cause", CAUSE_AND_FIX),
    Column("Since", lambda row: row["first_ts"][11:16]),
    count("Topics", "topics"),
    count("Records", "records"),
    count("Rewritten", "bad_records"),
)


def in_all(report: Report) -> str:
    """`77,293 records of 1 producer`; `nothing`."""
    return how_many(report["totals"]["records_repaired"], report["totals"]["repaired_producers"])


def repaired(shown: Sequence[Repaired], records: int) -> Markup | None:
    """The rows, and a sentence about those that are left out of `records`; None without any."""
    if not shown:
        return None
    left = records - sum(row["records"] for row in shown)
    text = f"And {words.many(left, 'more record')}, not listed."
    return join(table(COLUMNS, shown, "watched"), element("p", text, class_="more") if left else None)
