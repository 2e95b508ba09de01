"""Producers whose mistake is known: somebody works at it, so they stand at the foot of the page alone."""

from typing import Final

from spark_reports.render import owners
from spark_reports.render.tables import Column, Columns, count, table
from spark_reports.report import words
from spark_reports.report.shape import Producer, Report
from tsproxy.model.markup import Markup

COLUMNS: Final[Columns[Producer]] = (
    Column("Producer", None, lambda row: owners.producer_link(row, is_here=True)),
    Column("Mistake", lambda row: "; ".join(dict.fromkeys(each["cause"] for each in row["reasons"]))),
    Column("Known until", lambda row: row["known"]["until"] if row["known"] else ""),
    Column("Ticket", lambda row: words.short((row["known"] and row["known"]["ticket"]) or "–", 80)),
    count("Rejected", "rejected_records"),
)


def producers(report: Report) -> list[Producer]:
    return [each for each in report["producers"] if each["known"]]


def known(report: Report, rows: int) -> Markup | None:
    """The rows; None without any."""
    found = producers(report)
    return table(COLUMNS, found[:rows], "watched") if found else None
