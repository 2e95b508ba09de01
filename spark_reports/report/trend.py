"""The days of a rollup side by side, and the clients whose rejections changed: plain Python.

`daily` and the command `trend` give it the same rows (`stored`).
"""

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from spark_reports.log.grouping import Grouping, How, Measure, Rows
from spark_reports.report.groups import CLIENT
from spark_reports.report.shape import DAYS_BEFORE

if TYPE_CHECKING:
    from spark_reports.report.table_source import TableSource

LEAST_RECORDS: Final = 10
"""Fewer rejected records than this are not reported as a change."""

_SUMS: Final = {name: Measure(How.SUM, (name,)) for name in ("records", "rejected_records")}
CLIENT_DAYS: Final = Grouping(
    keys=("day", *CLIENT), measures={**_SUMS, "affected": Measure(How.GREATEST, ("affected",))}
)
"""The days of clients, or of applications, as the rollup's `producers` has them. `affected`: the clients of
the row with rejections; an application is one."""
DAYS: Final = Grouping(
    keys=("day",), measures={**_SUMS, "producers_affected": Measure(How.SUM, ("affected",))}
)
"""One row for each day, with the columns of `shape.DayOfTrend`."""


def of_applications(known: "TableSource", name_of: Callable[[str | None], str | None]) -> "TableSource":
    """The rows with the days of each application as one (`applications`), which is then the client."""
    return known.of_applications(name_of).grouped(CLIENT_DAYS)


def days(known: "TableSource", there: Iterable[str]) -> Rows:
    """`DAYS`, also of those days that are `there` and without a record: the rollup has no rows of them."""
    none = {"records": 0, "rejected_records": 0, "producers_affected": 0}
    by_day = {day: {"day": day, **none} for day in there} | {row["day"]: row for row in known.table(DAYS)}
    return [by_day[day] for day in sorted(by_day)]


def changes(known: "TableSource", day: date, *, is_whole: bool) -> Rows:
    """The clients whose rejections changed on `day`, against the seven days before it: most records first.
    `is_whole`: the day is over, and its log is whole (`history.is_whole`).

    CLIENT, `kind`, `records`, `rejected_records`, `records_before`, `rejected_before` (sums of those days):

        new         rejected now, and never on those of these days that are stored
        doubled     at least twice the share of its records is rejected now: of the share on the day before,
                    and of the median of the days on which it sent
        recovered   rejected before, still sends, and nothing is rejected now, on a day that is whole
    """
    first, day_before, today = ((day - timedelta(days=n)).isoformat() for n in (DAYS_BEFORE, 1, 0))
    counts: dict[tuple[str | None, str | None], dict[str, tuple[int, int]]] = {}
    for row in known.of_days(first, today).table(CLIENT_DAYS):
        days = counts.setdefault((row["client_id"], row["principal"]), {})
        days[row["day"]] = (row["records"], row["rejected_records"])
    changed = []
    for (client_id, principal), days in counts.items():
        records, rejected = days.pop(today, (0, 0))
        records_before, rejected_before = (sum(column) for column in zip((0, 0), *days.values(), strict=True))
        if not records or max(rejected, rejected_before) < LEAST_RECORDS or not (rejected or is_whole):
            continue
        shares = {name: bad / whole for name, (whole, bad) in days.items() if whole}
        if not rejected:
            kind = "recovered"
        elif not rejected_before:
            kind = "new"
        elif rejected / records >= 2 * max(median(shares.values()), shares.get(day_before, 0)):
            kind = "doubled"
        else:
            continue
        changed.append(
            {
                "client_id": client_id,
                "principal": principal,
                "kind": kind,
                "records": records,
                "rejected_records": rejected,
                "records_before": records_before,
                "rejected_before": rejected_before,
            }
        )
    return sorted(changed, key=_order)


def rejecting(known: "TableSource", clients: Rows) -> Rows:
    """The days on which one of these clients was rejected."""
    return [row for row in known.of_clients(clients).table(CLIENT_DAYS) if row["rejected_records"]]


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    names = [(row[name] is not None, row[name] or "") for name in ("client_id", "principal")]
    return -row["rejected_records"], -row["rejected_before"], *names
