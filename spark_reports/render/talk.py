"""Whom to talk to: a row for each producer with its team, its mistake, what to do, and since when."""

from collections.abc import Sequence
from dataclasses import dataclass

from spark_reports.render import owners
from spark_reports.render.tables import Column, Columns, table
from spark_reports.report import words
from spark_reports.report.shape import Producer, Report
from tsproxy.model.markup import Markup, element, join


@dataclass(frozen=True, slots=True)
class Row:
    """A producer, and whether the page has its place."""

    report: Report
    producer: Producer
    is_here: bool


def rows(report: Report, producers: Sequence[Producer], here: int, *, names_teams: bool = True) -> Markup:
    """The table of these producers; the first `here` of them have a place on the page."""
    shown = [Row(report, producer, number < here) for number, producer in enumerate(producers)]
    return table(COLUMNS if names_teams and report["owners"] else COLUMNS[1:], shown, "talk")


def _mistake(row: Row) -> tuple[str, str]:
    reasons = row.producer["reasons"]
    return (reasons[0]["cause"], reasons[0]["fix"]) if reasons else ("–", "")


COLUMNS: Columns[Row] = (
    Column("Team", None, lambda row: owners.team_link(row.report, row.producer["team"])),
    Column("Producer", None, lambda row: owners.producer_link(row.producer, is_here=row.is_here)),
    Column(
        "Mistake, and what to do",
        None,
        lambda row: join(
            words.sentence(_mistake(row)[0]),
            element("div", words.sentence(_mistake(row)[1]), class_="soft"),
        ),
    ),
    Column("Since", None, lambda row: words.since(row.report, row.producer)),
    Column(
        "#Rejected",
        None,
        lambda row: join(
            words.count(row.producer["rejected_records"]),
            element(
                "div",
                f"{words.share(row.producer['rejected_records'], row.producer['records'])} of its own",
                class_="soft",
            ),
        ),
    ),
)
