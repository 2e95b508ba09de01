"""Options of `daily` for the readers of its report: owners, letters to them, links, the index of all days."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from spark_reports.exits import UsageError
from spark_reports.render import index
from spark_reports.report import files, history, kept_days, links, owners
from spark_reports.report.history import DayFacts
from spark_reports.report.notices import letter_names, letters
from spark_reports.report.owners import Owners
from spark_reports.report.shape import DayOfTrend, Report
from spark_reports.report.shape_for_readers import Links

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_reports.report.tables import Tables

_PAGE: Final = "report.html"
_INDEX: Final = "index.html"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--owners",
        type=_owners,
        metavar="FILE",
        help="YAML (or *.json) that names the team and the channel of client ids and principals",
    )
    parser.add_argument(
        "--notify-dir",
        metavar="DIR",
        help="with --owners: write a text for each team there, on this machine",
    )
    parser.add_argument(
        "--index",
        metavar="DIR",
        help="with --rollup: write index.html over its days there, above the folders of the reports",
    )
    parser.add_argument(
        "--link-template",
        type=_template,
        metavar="URL",
        help="a link for each producer, such as 'https://dashboards.example.com/?client={client_id}'",
    )


def _owners(path: str) -> Owners | str:
    """The owners from a file on this machine. For any other file, which only Spark can read: its address."""
    here = files.local(path)
    if here is None:
        return path
    try:
        return owners.parse(here.read_text(encoding="utf-8"), path)
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _template(text: str) -> str:
    try:
        return links.template(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def check(options: argparse.Namespace, folder: str) -> None:
    """Raises UsageError for options that do not go together, OSError for folders that cannot be written.

    `folder` is the folder of the report, or of one of the reports.
    """
    if options.notify_dir is not None:
        if options.owners is None:
            raise UsageError("--notify-dir needs --owners: it writes a text for each team")
        if files.local(options.notify_dir) is None:
            raise UsageError(f"--notify-dir {options.notify_dir}: must be a directory of this machine")
        files.require_writable(options.notify_dir)
    if options.index is not None:
        if options.rollup is None:
            raise UsageError("--index needs --rollup: it lists the days that the rollup holds")
        _below(options.index, folder)
        files.require_writable(options.index)


def load(spark: "SparkSession", options: argparse.Namespace) -> None:
    """Read the owners of a file on another file system. Raises UsageError for a mistake in it, and
    AnalysisException if the file does not exist."""
    if isinstance(options.owners, str):
        try:
            options.owners = owners.parse(files.read_far(spark, options.owners), options.owners)
        except owners.OwnersError as error:
            raise UsageError(str(error)) from None


def clients_asked(options: argparse.Namespace) -> int:
    """The number of clients with rejections whose owners are looked up, at most; 0 without `--owners`."""
    return 0 if options.owners is None else owners.MOST_CLIENTS


def completed(
    spark: "SparkSession", options: argparse.Namespace, folder: str, report: Report, tables: "Tables"
) -> tuple[Report, list[DayFacts]]:
    """The report with its owners, its history and its links, and the facts of its days."""
    if options.owners is not None:
        report = owners.assigned(report, options.owners, tables.clients)
    if options.rollup is None:
        return linked(options, folder, report, [], {})
    first, last = (date.fromisoformat(report[key]) for key in ("first_day", "last_day"))
    days = [DayOfTrend(**day) for day in tables.days]  # type: ignore[typeddict-item]  # its keys are the columns
    return linked(options, folder, report, days, kept_days.read_week(spark, options.rollup, first, last))


def linked(
    options: argparse.Namespace,
    folder: str,
    report: Report,
    days: Sequence[DayOfTrend],
    before: Mapping[str, DayFacts],
) -> tuple[Report, list[DayFacts]]:
    """The report with its history and links, and the facts of its days. `days`: the rows of `rollup.days`.
    `before`: the facts that the rollup holds."""
    steps = _below(options.index, folder) if options.index is not None else []
    page = "/".join([*steps, _PAGE]) if steps and "html" in options.format else None
    first, last = (date.fromisoformat(report[key]) for key in ("first_day", "last_day"))
    own: list[DayFacts] = []
    known, past = dict(before), None
    if options.rollup is not None:
        own = history.of_report(report, days, page)
        known |= {facts["day"]: facts for facts in own}
        trend = report["trend"]
        past = history.compared(known, last, trend["new_producers"] if trend else None)
    found = Links(
        json="report.json" if "json" in options.format else None,
        csv="report.csv" if "csv" in options.format else None,
        index=f"{'../' * len(steps)}{_INDEX}" if steps else None,
        day_before=_neighbour(known, first - timedelta(days=1), steps),
        day_after=_neighbour(known, last + timedelta(days=1), steps),
        client=options.link_template,
    )
    return {**report, "history": past, "links": found}, own


def keep(spark: "SparkSession", options: argparse.Namespace, facts: Iterable[DayFacts]) -> None:
    """Write the facts of a report's days to the rollup, then the index. Call it when the report is
    written."""
    if options.rollup is not None:
        kept_days.keep(spark, options.rollup, facts)
    if options.index is not None:
        page = index.render(kept_days.read_all(spark, options.rollup))
        files.write(spark, options.index, _INDEX, page)


def write_letters(options: argparse.Namespace, report: Report) -> None:
    """Write the letters to owners, if `--notify-dir` asks for them."""
    if (letters_to := options.notify_dir and files.local(options.notify_dir)) is not None:
        texts = {letter.file_name: letter.text for letter in letters(report)}
        files.replace_texts(letters_to, texts, letter_names(report))


def _neighbour(facts: Mapping[str, DayFacts], day: date, steps: list[str]) -> str | None:
    """The link from a report to the page of another day; None if there is none. `steps` lead from the index
    to the report."""
    page = history.page_of(facts, day)
    return f"{'../' * len(steps)}{page}" if page and steps else None


def _below(above: str, folder: str) -> list[str]:
    """The percent-encoded steps from one folder down to another. Raises UsageError if it is not below."""
    roots = [_place(name) for name in (above, folder)]
    steps: tuple[str, ...] = ()
    if roots[0][0] == roots[1][0] and roots[1][1].is_relative_to(roots[0][1]):
        steps = roots[1][1].relative_to(roots[0][1]).parts
    if not steps:
        raise UsageError(
            f"--index {above}: --output {folder} must lie in it, in a folder of its own for each day"
        )
    return [quote(step, safe="") for step in steps]


def _place(folder: str) -> tuple[str, PurePosixPath]:
    """The file system of a folder, and its path there."""
    here = files.local(folder)
    if here is not None:
        return "", PurePosixPath(here.resolve())
    parts = urlsplit(folder)
    return f"{parts.scheme}://{parts.netloc}", PurePosixPath(parts.path or "/")
