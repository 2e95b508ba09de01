"""The producers of report.json: one entry for each client, from the tables about clients."""

from collections.abc import Sequence
from datetime import date, timedelta
from operator import itemgetter
from typing import Any, Final

from spark_reports.log.grouping import Rows
from spark_reports.report import groups, shape, trend, words
from spark_reports.report.groups import grouped
from spark_reports.report.shape import of_row
from spark_reports.report.tables import Tables
from tsproxy.decisions.text import instant
from tsproxy.model.odd_times import odd_times
from tsproxy.model.units import UNITS
from tsproxy.model.verdict import UnitGuess

TOPICS_PER_CLIENT: Final = 5
INSTANCES_PER_CLIENT: Final = 3
"""The clients of an application that are named."""

_client: Final = itemgetter("client_id", "principal")


def with_rejections(tables: Tables, clients: Rows, hours: Sequence[str], last: date) -> list[shape.Producer]:
    """These clients of `Tables.clients`, the one with most rejected records first; `hours` as in
    Report.hours, or none, `last`: the last day of the period."""
    rows_of, known, owners = tables.counters.of_clients(clients), tables.known, tables.owners
    by_client = [
        grouped(rows, _client)
        for rows in (
            rows_of.table(groups.CLIENT_INSTANCES, INSTANCES_PER_CLIENT),
            rows_of.table(groups.CLIENT_REASONS),
            rows_of.table(groups.CLIENT_TOPICS, TOPICS_PER_CLIENT),
            rows_of.table(groups.CLIENT_HOURS) if hours else [],
            tables.addresses,
            tables.examples,
            trend.rejecting(known, clients) if known else [],
        )
    ]
    producers = []
    for row in sorted(clients, key=lambda r: (-r["rejected_records"], str(_client(r)))):
        instances, reasons, topics, by_hour, addresses, examples, rejecting = (
            rows.get(_client(row), []) for rows in by_client
        )
        week = week_of(tables.days, rejecting, last)
        producers.append(
            of_row(
                shape.Producer,
                row,
                instances=[client["instance"] for client in instances],
                known=owners and owners.known_of(row, reasons, last),
                first_ts=instant(row["first_ms"]),
                last_ts=instant(row["last_ms"]),
                since=since_of(week, last),
                week=week,
                topics=[of_row(shape.TopicShare, topic) for topic in topics],
                topics_count=len(row["topics"]),
                addresses=sorted({address for client in addresses for address in client["addresses"]}),
                client_software=sorted({e["client_software"] for e in examples if e["client_software"]}),
                reasons=_client_reasons(reasons),
                hours=aligned(by_hour, "rejected_records", hours),
                examples=[example(e) for e in sorted(examples, key=itemgetter("ts", "seq"))],
            )
        )
    return producers


def week_of(known: Rows, rejecting: Rows, last: date) -> list[int | None]:
    """A client's rejected records on the last day and the seven days before it, the oldest first; None for a
    day that the rollup does not know, and no list without a rollup."""
    days, rejected = {row["day"] for row in known}, {row["day"]: row["rejected_records"] for row in rejecting}
    names = [(last - timedelta(days=n)).isoformat() for n in range(shape.DAYS_BEFORE, -1, -1)]
    return [rejected.get(day, 0) if day in days else None for day in names] if days else []


def since_of(week: Sequence[int | None], last: date) -> str | None:
    """The first of the days up to the last one of which none was without rejections. Days that the rollup
    does not know are passed over."""
    first = None
    for number, rejected in enumerate(reversed(week)):
        if rejected:
            first = (last - timedelta(days=number)).isoformat()
        elif rejected == 0:
            break
    return first


def _client_reasons(rows: Rows) -> list[shape.ClientReason]:
    reasons = [of_row(shape.ClientReason, {**row, **why(row, latest_ms(row))}) for row in rows]
    return sorted(reasons, key=lambda r: (-r["records"], r["cause"]))


def latest_ms(row: dict[str, Any]) -> int | None:
    """The latest bad timestamp. It may be wrong by up to the length of the period."""
    last_ms, drift_ms = row["last_ms"], row["drift_max_ms"]
    return None if drift_ms is None else int(last_ms + drift_ms)


def example(row: dict[str, Any]) -> shape.Example:
    """One rejected batch, from a row of `transforms.examples`."""
    latest_ms = max(row["bad_ts"] or [], default=None)
    return of_row(
        shape.Example,
        row,
        cause=words.advice(row["reason"], row["unit_guess"], row["error_code"], latest_ms).cause,
        bad_index=row["bad_index"] or [],
        bad_ts=row["bad_ts"] or [],
        read_as_ts=_read_as(row),
    )


def _read_as(row: dict[str, Any]) -> str | None:
    """The first bad timestamp as it was guessed to be meant; None without a bad timestamp, or if no time was
    meant, or one of several."""
    guess = row["unit_guess"]
    if guess is None or not row["bad_ts"]:
        return None
    value, now_ms = row["bad_ts"][0], words.epoch_ms(row["ts"])
    if guess in UNITS:
        return instant(UNITS[UnitGuess(guess)].read(value, now_ms))
    meant_ms = {odd.time_ms for odd in odd_times(value, now_ms)}
    only_ms = meant_ms.pop() if len(meant_ms) == 1 else None
    return None if only_ms is None else instant(only_ms)


def why(row: dict[str, Any], latest_ms: int | None = None) -> shape.Why:
    """A reason with its likely cause and fix (`words.advice`), from a row with REASON and counts."""
    by_topic = row["topic_limit_records"]
    advice = words.advice(
        row["reason"],
        row["unit_guess"],
        row["error_code"],
        latest_ms,
        by_topic=by_topic > 0,
        by_rule=by_topic < row["records"],
    )
    return of_row(shape.Why, row, cause=advice.cause, fix=advice.fix, platform=advice.platform)


def aligned(rows: Rows, name: str, hours: Sequence[str]) -> list[int]:
    """The sums of a column for each of `hours`, from rows with an `hour`."""
    sums = dict.fromkeys(hours, 0)
    for row in rows:
        if row["hour"] in sums:
            sums[row["hour"]] += row[name]
    return list(sums.values())
