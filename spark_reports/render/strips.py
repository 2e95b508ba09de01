"""Small multiples: eight days of the worst producers, all on one scale, so that a line that fell is seen."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from spark_reports.render import owners
from spark_reports.render.charts import sparkline
from spark_reports.render.tables import Column, Columns, table
from spark_reports.report import words
from spark_reports.report.shape import Producer, Report
from tsproxy.model.markup import Markup, element, join

SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Strip:
    """The days of a producer. `most`: the rejected records of a whole bar."""

    report: Report
    producer: Producer
    most: int
    is_here: bool
    """The page has the producer's place."""


def worst(report: Report, rows: int) -> list[Strip]:
    """The worst producers of which the days before are known, by team. The page shows the first `rows`."""
    known = [(each, place < rows) for place, each in enumerate(report["producers"][:SHOWN]) if each["week"]]
    most = max((day or 0 for each, _ in known for day in each["week"]), default=0)
    known.sort(key=lambda row: (row[0]["team"] is None, row[0]["team"] or ""))
    return [Strip(report, each, most, is_here) for each, is_here in known]


def strips(report: Report, rows: int) -> Markup | None:
    """A strip for each, and the scale; None if no day before is known."""
    shown = worst(report, rows)
    if not shown:
        return None
    last = date.fromisoformat(report["last_day"])
    first = last - timedelta(days=len(shown[0].producer["week"]) - 1)
    scale = (
        f"Rejected records, {first.day} {first:%b} to {last.day} {last:%b}, all on one scale: a whole bar is "
        f"{words.count(shown[0].most)}."
    )
    columns = COLUMNS if report["owners"] else COLUMNS[1:]
    return join(element("p", scale, class_="soft note"), table(columns, shown, "strips"))


def _strip(row: Strip) -> Markup:
    week = row.producer["week"]
    told = ", ".join("unknown" if each is None else words.count(each) for each in week)
    return sparkline([each or 0 for each in week], told, row.most)


COLUMNS: Final[Columns[Strip]] = (
    Column("Team", None, lambda row: owners.team_link(row.report, row.producer["team"])),
    Column("Producer", None, lambda row: owners.producer_link(row.producer, is_here=row.is_here)),
    Column("Eight days", None, _strip),
    Column("#Rejected", None, lambda row: words.count(row.producer["rejected_records"])),
)
