"""How far timestamps were off: records by ranges of drift, with the limits and the units that lie in each.

The ranges end at limits that people use. These are edges of the histogram, so the numbers are exact.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spark_reports.render.compared import metered, part
from spark_reports.render.tables import Column, Columns, table
from spark_reports.report import words
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import DriftBucket, Report
from spark_reports.report.what_if import SHOWN_MS
from tsproxy.model.markup import Markup, element, join

_UNITS: Final = {-1: "seconds, sent as milliseconds", 1: "microseconds or nanoseconds, sent as milliseconds"}
"""The usual mistakes beyond the last range, behind and ahead."""


@dataclass(frozen=True, slots=True)
class Range:
    """The batches whose drift lies between two of SHOWN_MS on one side (-1 behind, 1 ahead, 0 on time)."""

    report: Report
    side: int
    number: int
    """The place of its end in SHOWN_MS; that of the last range is one beyond."""
    others: int
    rejected: int

    @property
    def text(self) -> str:
        if self.side == 0:
            return "on time"
        side = "ahead" if self.side > 0 else "behind"
        if self.number == 0:
            return f"up to {words.duration(SHOWN_MS[0])} {side}"
        least = words.duration(SHOWN_MS[self.number - 1])
        if self.number == len(SHOWN_MS):
            return f"over {least} {side}"
        return f"{least} to {words.duration(SHOWN_MS[self.number])} {side}"

    @property
    def marks(self) -> str:
        """The limits in force in the range or at its lower end, and beyond all, the mistaken units."""
        known = self.report["limits"] if self.side else []
        limits = {row["before_max_ms"] if self.side < 0 else row["after_max_ms"] for row in known} - {None}
        here = sorted(each for each in limits if each and bisect_right(SHOWN_MS, each) == self.number)
        units = [_UNITS[self.side]] if self.number == len(SHOWN_MS) else []
        return ", ".join([*(f"limit {words.duration(each)}" for each in here), *units]) or "–"


def ranges(report: Report) -> list[Range]:
    """The ranges with records, from the farthest behind to the farthest ahead."""
    sums: dict[tuple[int, int], list[DriftBucket]] = {}
    for bucket in report["drift"]:
        side = (bucket["bucket"] > 0) - (bucket["bucket"] < 0)
        sums.setdefault((side, bisect_left(SHOWN_MS, bucket["up_to_ms"]) if side else 0), []).append(bucket)
    return [
        Range(
            report,
            *key,
            others=sum(bucket["not_rejected_records"] for bucket in sums[key]),
            rejected=sum(bucket["rejected_records"] for bucket in sums[key]),
        )
        for key in sorted(sums, key=lambda key: key[0] * (key[1] + 1))
    ]


def drift(report: Report) -> Markup:
    """The table of ranges."""
    if not report["drift"]:
        return element("p", "No record carried a timestamp.", class_="none")
    return join(
        element(
            "p",
            "Each batch counts with all its records: behind by its oldest record, ahead by its newest. A "
            "rejected batch counts only on the side that broke the limit.",
            class_="soft note",
        ),
        table(COLUMNS, ranges(report), "drift"),
    )


def _wholes(row: Range) -> Iterator[int]:
    """All records that were not rejected, and all that were."""
    totals = row.report["totals"]
    yield totals["records_judged"] - rejected_records(totals)
    yield rejected_records(totals)


def _others(row: Range) -> tuple[int, int]:
    whole, _ = _wholes(row)
    return row.others, whole


def _rejected(row: Range) -> tuple[int, int]:
    _, whole = _wholes(row)
    return row.rejected, whole


COLUMNS: Final[Columns[Range]] = (
    Column("Drift", lambda row: row.text),
    Column("Not rejected", lambda row: part(*_others(row)), lambda row: metered(*_others(row), "passed")),
    Column("Rejected", lambda row: part(*_rejected(row)), lambda row: metered(*_rejected(row))),
    Column("Limits and units here", lambda row: row.marks),
)
