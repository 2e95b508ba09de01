"""`spark_reports daily`: the report of one day, or of a few days."""

import argparse
import sys
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from spark_reports import arguments
from spark_reports.commands.render import FORMATS, for_terminal
from spark_reports.commands.running import nothing_of, spark_at_work
from spark_reports.exits import GATE_TRIPPED, OK, NothingToReportError
from spark_reports.report import gates
from spark_reports.report.files import local, require_writable, to_json, write_far, write_text
from spark_reports.report.notices import notices
from spark_reports.report.shape import Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXAMPLES: Final = """examples:
  spark_reports daily --date 2026-11-20 --input /var/lib/tsproxy/decisions --output reports/2026-11-20
  spark_reports daily --input s3a://lake/tsproxy --output out --fail-on 'rejected_rate>1%'
  spark_reports daily --input s3a://lake/tsproxy-lines --input-format parquet --output out
"""


def add(commands: arguments.Commands) -> None:
    """Add the command to the parser."""
    parser = arguments.add_command(commands, "daily", "one day's report (or a few days')", _EXAMPLES)
    arguments.add_period(parser)
    arguments.add_input(parser)
    arguments.add_skipping(parser)
    arguments.add_input_format(parser)
    parser.add_argument(
        "--output",
        required=True,
        metavar="DIR",
        help="where report.* go, on any file system that Spark knows",
    )
    parser.add_argument(
        "--format",
        type=_formats,
        default=("html", "md", "json"),
        metavar="LIST",
        help="of html,md,json,csv; default: html,md,json",
    )
    parser.add_argument(
        "--top", type=arguments.positive, default=50, metavar="N", help="rows a table (default 50)"
    )
    parser.add_argument(
        "--rollup",
        metavar="DIR",
        help="store the tables that `trend` and `what-if` read, and compare with the seven days before",
    )
    arguments.add_master(parser)
    parser.add_argument(
        "--fail-on",
        action="append",
        type=_gate,
        default=[],
        metavar="GATE",
        help=f"exit code 3 if it holds, e.g. 'rejected_rate>1%%'; of {', '.join(gates.MEASURES)}",
    )
    printed = parser.add_mutually_exclusive_group()
    printed.add_argument(
        "--notify",
        action="store_true",
        help="print a text for the owner of each producer that was rejected, or would be by a rule in audit",
    )
    printed.add_argument("--json", action="store_true", help="print report.json instead of the summary")
    arguments.add_quiet(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the report, write its files, print the summary, check the gates."""
    require_writable(options.output)
    report = _make(options, *arguments.period_of(options))
    if not options.quiet:
        sys.stdout.write(to_json(report) if options.json else for_terminal(report))
        sys.stdout.flush()
        if not options.json:
            folder_name = options.output.rstrip("/")
            written = ", ".join(f"{folder_name}/report.{name}" for name in options.format)
            sys.stdout.write(f"\nWritten: {written}\n")
    if options.notify:
        sys.stdout.write("".join(f"\n{text}" for text in notices(report)))
    tripped = [text for gate in options.fail_on if (text := gate.tripped_by(report)) is not None]
    for text in tripped:
        sys.stderr.write(f"spark_reports: quality gate: {text}\n")
    return GATE_TRIPPED if tripped else OK


def _make(options: argparse.Namespace, first: date, last: date) -> Report:
    """Make the report and write its files. With `--rollup`, its days are stored there first."""
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    # A log that was made a table is usually a large one.
    is_brief = options.input_format == "json"
    with spark_at_work(options, "reading the decision log", is_brief=is_brief) as spark:
        from spark_reports.log import store
        from spark_reports.log.read import Source
        from spark_reports.report import rollup, tables
        from spark_reports.report.assemble import assemble

        source = Source(options.input, first, last, store.Form(options.input_format))
        store.require(spark, source.form)
        with tables.summed(spark, source) as sums:
            if sums is None:
                raise NothingToReportError(nothing_of(first, last, options.input))
            known = None
            if options.rollup is not None:
                rollup.store(rollup.producers(sums.rolled), options.rollup, "producers")
                rollup.store(sums.drifts, options.rollup, "drift")
                week_before = last - timedelta(days=rollup.DAYS_BEFORE)
                known = rollup.stored(spark, options.rollup, "producers", first=week_before, last=last)
            report = assemble(tables.collect(sums, options.top, known), first, last, now_ms)
        _publish(options, report, spark)
    return report


def _publish(options: argparse.Namespace, report: Report, spark: "SparkSession") -> None:
    """Write a file for each `--format`: on this machine, or on another file system, which Spark reaches."""
    folder = local(options.output)
    for name in options.format:
        text = FORMATS[name](report)
        if folder is None:
            write_far(spark, options.output, f"report.{name}", text)
        else:
            write_text(folder / f"report.{name}", text)


def _formats(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in FORMATS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(FORMATS)}")
    return names


def _gate(text: str) -> gates.Gate:
    try:
        return gates.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
