"""Whom to talk to: a row for each producer with its team, its mistake, what to do, and since when.

On a day on which rules are in audit, the rows are those of producers whose records would be rejected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from spark_reports.render import owners
from spark_reports.render.tables import Column, Columns, mistake, name, table
from spark_reports.report import words
from spark_reports.report.shape import Producer, Report, WouldReject
from tsproxy.model.markup import Markup, element, join

WHAT_TO_DO: Final = "Mistake, and what to do"
_FIRST: Final = 5
_FIRST_ON_PHONES: Final = 3
"""The rows of the first screen. The style sheet hides the others on narrow screens."""


@dataclass(frozen=True, slots=True)
class Row:
    """A producer, and whether the page has its place."""

    report: Report
    producer: Producer
    is_here: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """The forwarded records of a client that would be rejected, and the row with most of them."""

    report: Report
    largest: WouldReject
    records: int


def first(report: Report, here: int) -> Markup | None:
    """The worst producers, and how many more there are. If nothing was rejected, those of which records would
    be; None if there are none either."""
    if shown := [each for each in report["producers"] if not each["known"]][:_FIRST]:
        more = report["totals"]["producers_affected"]
        return join(rows(report, shown, here), _more(more, len(shown), "producers"))
    clients = counted(report)
    if not clients:
        return None
    columns = WATCHED if report["owners"] else WATCHED[1:]
    shown_clients, more = clients[:_FIRST], report["totals"]["would_reject_producers"]
    return join(table(columns, shown_clients, "talk"), _more(more, len(shown_clients), "watched"))


def counted(report: Report) -> list[Counted]:
    """The clients of `would_reject` without records far behind the clock, the one with most records first."""
    clients: dict[tuple[str | None, str | None], list[WouldReject]] = {}
    for row in words.far_behind(report["would_reject"])[1]:
        clients.setdefault((row["client_id"], row["principal"]), []).append(row)
    found = [
        Counted(report, max(own, key=itemgetter("records")), sum(row["records"] for row in own))
        for own in clients.values()
    ]
    return sorted(found, key=lambda each: -each.records)


def _more(producers: int, shown: int, section: str) -> Markup:
    """How many producers a wide and a narrow first screen leave out, as links to their section."""
    left = {"wide": producers - shown, "narrow": producers - min(shown, _FIRST_ON_PHONES)}
    links = {kind: element("a", f"And {words.count(n)} more", href=f"#{section}") for kind, n in left.items()}
    return join(*[element("p", links[kind], class_=f"more {kind}") for kind, n in left.items() if n > 0])


def rows(report: Report, producers: Sequence[Producer], here: int, *, names_teams: bool = True) -> Markup:
    """The table of these producers; the first `here` of them have a place on the page."""
    shown = [Row(report, producer, number < here) for number, producer in enumerate(producers)]
    return table(COLUMNS if names_teams and report["owners"] else COLUMNS[1:], shown, "talk")


def _mistake(row: Row) -> tuple[str, str]:
    reasons = row.producer["reasons"]
    return (reasons[0]["cause"], reasons[0]["fix"]) if reasons else ("–", "")


def _part(producer: Producer) -> str:
    share = words.share(producer["rejected_records"], producer["records"])
    bad = f"{words.count(producer['bad_records'])} bad, " if producer["collateral_records"] else ""
    return f"{bad}{share} of what it sent"


COLUMNS: Columns[Row] = (
    Column("Team", None, lambda row: owners.team_link(row.report, row.producer["team"])),
    Column("Producer", None, lambda row: owners.producer_link(row.producer, is_here=row.is_here)),
    mistake(WHAT_TO_DO, _mistake),
    Column("Since", None, lambda row: words.since(row.report, row.producer)),
    Column(
        "#Rejected",
        None,
        lambda row: join(
            words.count(row.producer["rejected_records"]),
            element("div", _part(row.producer), class_="soft"),
        ),
    ),
)

WATCHED: Columns[Counted] = (
    Column("Team", None, lambda row: owners.team_link(row.report, row.largest["team"])),
    name("Producer", lambda row: words.application(row.largest, 60)),
    mistake(WHAT_TO_DO, lambda row: (row.largest["cause"], row.largest["fix"])),
    Column("By", None, lambda row: words.rule(row.largest["rule"])),
    Column("#Would be rejected", None, lambda row: words.count(row.records)),
)
