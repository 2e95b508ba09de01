"""The reasons of report.json: one row for each cause of rejections, repairs and records that were sent again.

A broker reports a timestamp before 1970 only as too old. The two causes differ only in the drift of a
producer's own records. So records of the listed producers that have the other cause get a row of their own.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from spark_reports.log.grouping import Rows
from spark_reports.report.causes import KINDS, kind_of
from spark_reports.report.groups import REASON, grouped
from spark_reports.report.producers import aligned, why
from spark_reports.report.shape import CauseHours, ClientReason, Producer, ReasonRow, of_row

_ADVICE: Final = ("cause", "fix", "platform")
_COUNTS: Final = ("batches", "records", "bad_records", "collateral_records")


def by_cause(rows: Rows, producers: Sequence[Producer]) -> list[ReasonRow]:
    """The rows of `groups.REASONS` with their causes, the one with most records first."""
    parts = [part for row in rows for part in _parts(of_row(ReasonRow, {**row, **why(row)}), producers)]
    return sorted(parts, key=lambda row: (-row["records"], row["cause"]))


def by_hour(rows: Rows, hours: Sequence[str]) -> list[CauseHours]:
    """The rows of `groups.REASON_HOURS` by kind of cause, always in the order of KINDS."""
    kinds = grouped(rows, lambda row: kind_of(row["reason"], row["unit_guess"]))
    return [
        CauseHours(kind=kind, cause=cause, rejected_records=aligned(kinds[kind], "rejected_records", hours))
        for kind, cause in KINDS.items()
        if kind in kinds
    ]


def _parts(row: ReasonRow, producers: Sequence[Producer]) -> Iterator[ReasonRow]:
    """The row without the records of listed producers that have another cause, and a row for each such cause.

    A producer has one entry for each verdict, reason, unit and error.
    """
    other: dict[str, list[ClientReason]] = {}
    for producer in producers:
        for reason in producer["reasons"]:
            is_same = all(reason[name] == row[name] for name in REASON)
            if is_same and reason["cause"] != row["cause"]:
                other.setdefault(reason["cause"], []).append(reason)
    rest = row.copy()
    for reasons in other.values():
        counts = {name: sum(reason[name] for reason in reasons) for name in _COUNTS}
        advice = {name: reasons[0][name] for name in _ADVICE}
        part = of_row(ReasonRow, {**row, **counts, **advice}, producers=len(reasons))
        for name in (*_COUNTS, "producers"):
            rest[name] -= part[name]
        yield part
    if rest["producers"] > 0 or rest["records"] > 0:
        yield rest
