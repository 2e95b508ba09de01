"""The days of a rollup side by side, and the clients whose rejections changed: plain Python.

`daily`, which reads the rollup by Spark, and the command `trend`, which does not (`stored`), give it the same
rows.
"""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from statistics import median
from typing import Any, Final, NamedTuple

from spark_reports.log.grouping import Rows
from spark_reports.report.applications import Application, name_of
from spark_reports.report.shape import DAYS_BEFORE

LEAST_RECORDS: Final = 10
"""Fewer rejected records than this are not reported as a change."""


class ClientDay(NamedTuple):
    """A row of the rollup's `producers`, or the sums of several clients as one row."""

    day: str
    client_id: str | None
    principal: str | None
    records: int
    rejected_records: int
    affected: int
    """The clients of the row with rejections."""


def of_applications(rows: Sequence[ClientDay], entries: Sequence[Application] = ()) -> list[ClientDay]:
    """The rows with the days of each application as one (`applications`), which is then the client."""
    names = {client_id: name_of(client_id, entries) for client_id in {row.client_id for row in rows}}
    shared = {name for client_id, name in names.items() if name != client_id}
    sums: dict[tuple[str, str | None, str | None], list[int]] = {}
    alone = []
    for row in rows:
        name = names[row.client_id]
        if name in shared:
            own = sums.setdefault((row.day, name, row.principal), [0, 0])
            own[:] = own[0] + row.records, own[1] + row.rejected_records
        else:
            alone.append(row)
    return [*alone, *(ClientDay(*key, own[0], own[1], int(own[1] > 0)) for key, own in sums.items())]


def days(rows: Iterable[ClientDay]) -> Rows:
    """One row for each day: `day`, `records`, `rejected_records`, `producers_affected`."""
    sums: dict[str, list[int]] = {}
    for row in rows:
        own = sums.setdefault(row.day, [0, 0, 0])
        own[0] += row.records
        own[1] += row.rejected_records
        own[2] += row.affected
    names = ("records", "rejected_records", "producers_affected")
    return [{"day": day, **dict(zip(names, sums[day], strict=True))} for day in sorted(sums)]


def changes(rows: Iterable[ClientDay], day: date) -> Rows:
    """The clients whose rejections changed on `day`, against the seven days before it: most records first.

    CLIENT, `kind`, `records`, `rejected_records`, `records_before`, `rejected_before` (sums of those days):

        new         rejected now, and never on those of these days that are stored
        doubled     at least twice the share of its records is rejected now: of the share on the day before,
                    and of the median of the days on which it sent
        recovered   rejected before, still sends, and nothing is rejected now
    """
    first, day_before, today = ((day - timedelta(days=n)).isoformat() for n in (DAYS_BEFORE, 1, 0))
    counts: dict[tuple[str | None, str | None], dict[str, tuple[int, int]]] = {}
    for row in rows:
        if first <= row.day <= today:
            own = counts.setdefault((row.client_id, row.principal), {})
            own[row.day] = (row.records, row.rejected_records)
    found = []
    for (client_id, principal), own in counts.items():
        records, rejected = own.pop(today, (0, 0))
        records_before, rejected_before = (sum(column) for column in zip((0, 0), *own.values(), strict=True))
        if not records or max(rejected, rejected_before) < LEAST_RECORDS:
            continue
        shares = {name: bad / whole for name, (whole, bad) in own.items() if whole}
        if not rejected:
            kind = "recovered"
        elif not rejected_before:
            kind = "new"
        elif rejected / records >= 2 * max(median(shares.values()), shares.get(day_before, 0)):
            kind = "doubled"
        else:
            continue
        found.append(
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
    return sorted(found, key=_order)


def rejecting(rows: Iterable[ClientDay], clients: Rows) -> Rows:
    """CLIENT, `day` and `rejected_records` of the days on which one of these clients was rejected."""
    known = {(row["client_id"], row["principal"]) for row in clients}
    return [row._asdict() for row in rows if row.rejected_records and (row.client_id, row.principal) in known]


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    names = [(row[name] is not None, row[name] or "") for name in ("client_id", "principal")]
    return -row["rejected_records"], -row["rejected_before"], *names
