"""The rows of which a report is made, from its day (`day`). Plain Python. Nothing is written here.

Producers are applications, and have their teams. The size of a table is bounded by `top`, or by the number of
hours, reasons, boots and files.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from typing import Final

from spark_reports.log import grouping
from spark_reports.log.grouping import Rows
from spark_reports.report import groups, trend
from spark_reports.report.applications import name_of
from spark_reports.report.day import Day
from spark_reports.report.groups import CLIENT, REASON
from spark_reports.report.owners import MAX_CLIENTS, Owners
from spark_reports.report.table_source import TableSource

EXAMPLES_PER_REASON: Final = 2


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of a day from which tables are made, and the clients of each outcome."""

    day: Day
    top: int
    owners: Owners | None
    counters: TableSource
    """The rows of `day`, with the names of applications; so are `addresses` and `examples`."""
    addresses: Rows
    examples: Rows
    clients: Rows
    """`groups.PRODUCERS` of up to MAX_CLIENTS, with the `team` of each."""
    watched: Rows
    """`groups.WOULD_REJECT`, as many."""
    repaired: Rows
    """`groups.REPAIRED`, as many."""
    known: TableSource | None
    """The days of applications that the rollup knows (`trend.CLIENT_DAYS`); None without a rollup."""
    days: Rows
    """`trend.days`; empty without a rollup."""

    def worst(self, clients: Rows, *apart: str) -> Rows:
        """The worst `top` of each team, and of each value of `apart`, so that none hide those of another."""
        return grouping.first_of(clients, ("team", *apart), self.top)


def collect(
    day: Day,
    top: int,
    known: TableSource | None = None,
    owners: Owners | None = None,
    without_records: Iterable[str] = (),
) -> Tables:
    """The rows of the period, by application and team.

    `known`: `stored.producers` of the period and the days before it; None if there is no rollup.
    `without_records`: the days before with a report and without a record.
    """
    entries = owners.applications if owners else ()
    named = cache(partial(name_of, entries=entries))
    counters = day.counters.of_applications(named)
    known = None if known is None else trend.of_applications(known, named)
    clients, watched, repaired = (
        [{**row, "team": owners and owners.team_of(row)} for row in counters.table(table, MAX_CLIENTS)]
        for table in (groups.PRODUCERS, groups.WOULD_REJECT, groups.REPAIRED)
    )
    last_first = sorted(_named(day.examples, named), key=itemgetter("ts", "seq"), reverse=True)
    return Tables(
        day=day,
        top=top,
        owners=owners,
        counters=counters,
        addresses=_named(day.addresses, named),
        examples=grouping.first_of(last_first, (*CLIENT, *REASON), EXAMPLES_PER_REASON),
        clients=clients,
        watched=watched,
        repaired=repaired,
        known=known,
        days=trend.days(known, without_records) if known else [],
    )


def _named(rows: Rows, name_of: Callable[[str | None], str | None]) -> Rows:
    return [{**row, "client_id": name_of(row["client_id"])} for row in rows]
