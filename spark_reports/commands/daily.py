"""`spark_reports daily`: one report; with `--store`, all that a scheduler runs."""

import argparse
import re
import sys
from datetime import date
from typing import Final

from spark_reports import arguments
from spark_reports.commands import daily_run, day_by_day, publishing
from spark_reports.commands.publishing import Publication
from spark_reports.commands.spark_run import spark_at_work
from spark_reports.errors import NothingToReportError, UsageError
from spark_reports.log.inputs import nothing_of
from spark_reports.log.period import period_text
from spark_reports.report.headline import bad_and_good, held
from spark_reports.report.shape import Report, to_json
from spark_reports.report.words import days

_EXAMPLES: Final = """examples:
  spark_reports daily --input s3a://lake/tsproxy --store s3a://lake
  spark_reports daily --date 2026-10-01..2026-10-31 --input s3a://lake/tsproxy --store s3a://lake
  spark_reports daily --date 2026-11-20 --input /var/lib/tsproxy/decisions --output reports/2026-11-20
  spark_reports daily --input s3a://lake/tsproxy --output out --fail-on 'rejected_rate>1%'
  spark_reports daily --input s3a://lake/tsproxy-lines --input-format parquet --output out
"""


def add(commands: arguments.Commands) -> None:
    purpose = "make a day's report; with --store, all that a scheduler runs"
    parser = arguments.add_command(commands, "daily", purpose, _EXAMPLES)
    source = parser.add_argument_group("input")
    arguments.add_period(source, arguments.MANY_DAYS)
    arguments.add_input(source)
    arguments.add_input_format(source)
    parser.add_argument(
        "--store",
        metavar="DIR",
        help="keep everything there: the table (DIR/lines), --rollup DIR/rollup, --output DIR/reports, and "
        "owners.toml for --owners. Earlier days for which lines came late, and those that no run has made, "
        f"are made, too. Without it, --date has up to {arguments.MAX_DAYS} days",
    )
    parser.add_argument(
        "--keep",
        type=_days_kept,
        metavar="DAYS",
        help="with --store: after a run that went well, remove days that are older, such as 400d",
    )
    publishing.add(parser, has_output=False)
    arguments.add_gates(parser)
    arguments.add_master(parser)
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument(
        "--replace",
        dest="may_lose_lines",
        action="store_true",
        help="write the days even if the input lacks lines of them in the table or the rollup",
    )
    parser.add_argument(
        "--json", action="store_true", help="print report.json instead of what the report says first"
    )
    parser.set_defaults(run=run)


def _days_kept(text: str) -> int:
    if not re.fullmatch(r"\d{1,5}d", text) or int(text[:-1]) < day_by_day.LEAST_DAYS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of days such as 400d, at least {day_by_day.LEAST_DAYS}d"
        )
    return int(text[:-1])


def run(options: argparse.Namespace) -> int:
    """Make the report, write its files, print it, check the gates."""
    first, last = arguments.period_of(options)
    _require_possible(options, first, last)
    if options.store is not None:
        return day_by_day.run(options, first, last)
    publication = Publication.of(options)
    publishing.require_pyarrow()
    report = _make(options, publication, first, last)
    if not options.quiet:
        sys.stdout.write(to_json(report) if options.json else _first(report))
        sys.stdout.flush()
        if not options.json:
            folder_name = publication.output.rstrip("/")
            written = ", ".join(f"{folder_name}/report.{name}" for name in publication.formats)
            sys.stdout.write(f"Written: {written}\n")
    return daily_run.ended(report, options.fail_on)


def _require_possible(options: argparse.Namespace, first: date, last: date) -> None:
    """Raises UsageError for options that do not go together."""
    if options.store is None:
        if options.output is None:
            raise UsageError("daily needs --store, or --output for one report alone")
        if options.keep is not None:
            raise UsageError("--keep needs --store, from which it removes days")
        if (last - first).days >= arguments.MAX_DAYS:
            raise UsageError(
                f"a report has up to {arguments.MAX_DAYS} days, and {period_text(first, last)} is more: give "
                "--store for a report of each day"
            )
    elif options.json or options.input_format != "json":
        raise UsageError(
            "--store reads the log itself and prints a line for each day: leave --json and --input-format out"
        )


def _first(report: Report) -> str:
    """The sentences at the head of the page, for a terminal."""
    headline = f"{days(report)}: {report['headline']}"
    told = (bad_and_good(report["totals"]), report["kafka_4"]["sentence"], *held(report))
    return "".join(f"{text}\n" for text in (headline, *told, report["log"]["sentence"]) if text)


def _make(options: argparse.Namespace, publication: Publication, first: date, last: date) -> Report:
    with spark_at_work(options, writes=publication.places) as spark:
        from spark_reports.log.read import Source

        source = Source(options.input, first, last, is_table=options.input_format == "parquet")
        report = daily_run.made(spark, publication.loaded(spark), source)
    if report is None:
        raise NothingToReportError(nothing_of(period_text(first, last), options.input))
    return report
