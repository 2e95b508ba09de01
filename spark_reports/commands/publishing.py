"""A report and its readers, as the options say: its files, owners, the folders of teams, links, the index.

`Publication` is built once from the options. A report becomes complete by it, then it is published.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

from spark_reports import arguments
from spark_reports.errors import UsageError
from spark_reports.log.period import days_between
from spark_reports.render import html, index, prom, sheet
from spark_reports.render import teams as team_files
from spark_reports.report import files, history, kept_days, links, owners, teams
from spark_reports.report.history import DayFacts
from spark_reports.report.owners import Owners
from spark_reports.report.shape import DAYS_BEFORE, DayOfTrend, Links, Report, of_row, to_json
from tsproxy.decisions.text import bounded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_reports.report.day import Day
    from spark_reports.report.sums import Process
    from spark_reports.report.table_source import TableSource

FORMATS: Final[Mapping[str, Callable[[Report], str]]] = MappingProxyType(
    {
        "html": html.render,
        "json": to_json,
        "csv": sheet.render,
        "prom": prom.render,
    }
)
_FORMATS: Final = ("html", "json")
_PAGE: Final = "report.html"
INDEX: Final = "index.html"
_OWNERS: Final = "owners.toml"


def add(parser: argparse.ArgumentParser, *, has_output: bool) -> None:
    """Add the options from which a `Publication` is built."""
    output = parser.add_argument_group("output")
    others = parser.add_argument_group("other days, and owners")
    output.add_argument(
        "--output",
        required=has_output,
        metavar="DIR",
        help="where report.* go, on any file system that Spark knows",
    )
    output.add_argument(
        "--format",
        dest="formats",
        type=_formats,
        metavar="LIST",
        help="of html,json,csv,prom; default: html,json (with --store: prom, too)",
    )
    output.add_argument(
        "--top",
        type=arguments.positive,
        default=50,
        metavar="N",
        help="rows per table; with --owners, of each team (default 50)",
    )
    output.add_argument(
        "--cluster",
        metavar="ID",
        help="only lines of this cluster; must be given if the log is of several",
    )
    others.add_argument(
        "--rollup",
        metavar="DIR",
        help="store the tables that `trend` and `what-if` read, and compare with the seven days before",
    )
    others.add_argument(
        "--scan",
        type=arguments.read_by(arguments.scan),
        metavar="FILE",
        help="of `tsproxy scan --json`, to say until when records from the future hold a topic",
    )
    others.add_argument(
        "--owners",
        type=arguments.read_by(arguments.owners_file),
        metavar="FILE",
        help="TOML that says which team owns which producers: each team gets a folder in DIR/teams, DIR "
        "being that of --output",
    )
    output.add_argument(
        "--no-addresses",
        dest="has_addresses",
        action="store_false",
        help="leave out the addresses of clients, and the texts of unusable lines, which may have some",
    )
    output.add_argument(
        "--address",
        type=arguments.read_by(links.address),
        metavar="URL",
        help="where readers find the folder above that of the teams, for the links of their texts and feeds, "
        "such as https://reports.example.com",
    )


def require_pyarrow() -> None:
    """Raises UsageError if pyarrow is not installed."""
    if find_spec("pyarrow") is None:
        raise UsageError("pyarrow is not installed: pip install pyarrow")


def _formats(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in FORMATS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(FORMATS)}")
    return names


@dataclass(frozen=True, slots=True)
class Publication:
    """A report as its readers get it: where it goes, in which forms, and what is added for them."""

    output: str
    formats: tuple[str, ...]
    top: int = 50
    rollup: str | None = None
    owners: Owners | str | None = None
    """The owners; before `loaded`, it may be the address of a file that only Spark can read."""
    index: str | None = None
    """The folder above that of the report, with the index over all days; None for a report alone."""
    is_trial: bool = False
    """The index does not list the report: its teams' folders are its own."""
    address: str | None = None
    scan: arguments.Scan | None = None
    cluster: str | None = None
    has_addresses: bool = True
    may_lose_lines: bool = False
    """The rollup may lose lines of its days (`--replace`)."""

    @classmethod
    def of(cls, options: argparse.Namespace) -> Self:
        """From the options of `add`, for a report in `--output`."""
        values = {field.name: getattr(options, field.name) for field in fields(cls) if field.name in options}
        return cls(**values | {"formats": options.formats or _FORMATS})

    def of_day(self, day: date) -> Self:
        """The same for one day of several, whose report has a folder of its own below the index."""
        return replace(self, output=f"{self.output.rstrip('/')}/{day}", index=self.output)

    @property
    def team_folders(self) -> str:
        """The folder in which each team has one."""
        above = self.output if self.index is None or self.is_trial else self.index
        return f"{above.rstrip('/')}/{teams.FOLDER}"

    @property
    def places(self) -> list[str]:
        """The folders that a report writes, as `spark_at_work` takes them."""
        return [self.output] if self.rollup is None else [self.output, self.rollup]

    def loaded(self, spark: "SparkSession", store: str | None = None) -> Self:
        """With the owners of a file on another file system. If no option names one: of `owners.toml` in the
        store, if it is there. Raises UsageError for a mistake in it, and AnalysisException if a file that an
        option names does not exist."""
        text, path = None, self.owners if isinstance(self.owners, str) else f"{store}/{_OWNERS}"
        try:
            if isinstance(self.owners, str):
                text = files.read_far(spark, path)
            elif self.owners is None and store is not None:
                text = files.read_if_there(spark, store, _OWNERS)
            return self if text is None else replace(self, owners=owners.parse(text, path))
        except owners.OwnersError as error:
            raise UsageError(str(error)) from None
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is not UTF-8: {error}") from None

    def completed(
        self,
        day: "Day",
        now_ms: int,
        known: "TableSource | None",
        before: Mapping[str, DayFacts],
        processes: Mapping[str, Set["Process"]],
    ) -> tuple[Report, Report, list[DayFacts]]:
        """The report with its owners, its history and its links; the same with all clients, for the sheet;
        and the facts of its days.

        `now_ms`: when the log was read. `known`: the clients' days of the week; None without a rollup.
        `before`: the facts of the week that the rollup holds. `processes`: those that wrote the log, by day.
        """
        from spark_reports.report import assemble, held_topics, tables

        known_owners = self.owners if isinstance(self.owners, Owners) else None
        week = map(str, days_between(day.last - timedelta(days=DAYS_BEFORE), day.first - timedelta(days=1)))
        empty = [each for each in week if each in before and not before[each]["records"]]
        made = tables.collect(day, self.top, known, known_owners, empty)
        report = assemble.assemble(made, day.first, day.last, now_ms)
        if self.scan is not None:
            clusters = {name for name in (self.scan["cluster_id"], report["cluster_id"]) if name is not None}
            if len(clusters) > 1:
                named = ", ".join(map(bounded, sorted(clusters)))
                raise UsageError(f"--scan and the log are of two clusters: {named}")
            report["held_topics"] = held_topics.held(made.counters, self.scan["retention_ms"])
        everybody = assemble.everybody(report, made) if "csv" in self.formats else report
        if known_owners is not None:
            report = owners.assigned(report, known_owners, made.clients, made.watched, made.repaired)
        days = [of_row(DayOfTrend, row) for row in made.days]
        linked, facts = self.linked(report, days, before, processes)
        return linked, everybody, facts

    def linked(
        self,
        report: Report,
        days: Sequence[DayOfTrend],
        before: Mapping[str, DayFacts],
        processes: Mapping[str, Set["Process"]] = MappingProxyType({}),
    ) -> tuple[Report, list[DayFacts]]:
        """The report with its history and links, and the facts of its days. `days`: the rows of
        `trend.days`. `before`: the facts that the rollup holds."""
        up = "" if self.index is None else "../"
        page = f"{report['last_day']}/{_PAGE}" if up and "html" in self.formats else None
        first, last = (date.fromisoformat(report[key]) for key in ("first_day", "last_day"))
        facts: list[DayFacts] = []
        known, past = dict(before), None
        if self.rollup is not None:
            facts = history.of_report(report, days, page, processes)
            known |= {kept["day"]: kept for kept in facts}
            trend = report["trend"]
            past = history.compared(known, last, trend["new_producers"] if trend else None)
        before_it = history.page_of(known, first - timedelta(days=1))
        after_it = history.page_of(known, last + timedelta(days=1))
        links_of_page = Links(
            json="report.json" if "json" in self.formats else None,
            csv="report.csv" if "csv" in self.formats else None,
            index=f"{up}{INDEX}" if up else None,
            day_before=f"{up}{before_it}" if up and before_it else None,
            day_after=f"{up}{after_it}" if up and after_it else None,
            teams=f"{'' if self.is_trial else up}{teams.FOLDER}" if _has_teams(report) else None,
            address=self.address,
        )
        return {**report, "history": past, "links": links_of_page}, facts

    def publish(self, spark: "SparkSession | None", report: Report, everybody: Report) -> None:
        """Write the report's files and the teams' folders. `everybody`: the report with all clients, for the
        sheet. `spark`: None if all places are on this machine."""
        for name in self.formats:
            text = FORMATS[name](everybody if name == "csv" else report)
            files.write(spark, self.output, f"report.{name}", text)
        self._publish_teams(spark, report)

    def keep(self, spark: "SparkSession", facts: Iterable[DayFacts]) -> None:
        """Write the facts of a report's days to the rollup, and the index over it."""
        if self.rollup is not None:
            kept_days.keep(spark, self.rollup, facts)
            if self.index is not None:
                page = index.render(kept_days.read_all(spark, self.rollup))
                files.write(spark, self.index, INDEX, page)

    def _publish_teams(self, spark: "SparkSession | None", report: Report) -> None:
        """Write the folder of each team."""
        if report["owners"] is None or not _has_teams(report):
            return
        before = files.read_folders(spark, self.team_folders, teams.LATEST)
        today = str(datetime.now(UTC).date())
        for team in report["owners"]["teams"]:
            team_folder = teams.folder_of(team["team"])
            known = teams.latest(report, team, teams.from_text(before.get(team_folder)), today)
            for name, text in team_files.files(report, team, known).items():
                files.write(spark, f"{self.team_folders}/{team_folder}", name, text)


def _has_teams(report: Report) -> bool:
    """Whether the teams get folders: a report of one day does. Their bars are of days."""
    return report["owners"] is not None and report["first_day"] == report["last_day"]
