"""One report within a session of Spark: its options, its files, its rollup, its gates.

`daily` makes one, `daily --each` and `night` make one for each day.
"""

import argparse
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from spark_reports import arguments
from spark_reports.commands import for_readers
from spark_reports.commands.render import FORMATS
from spark_reports.exits import GATE_TRIPPED, OK
from spark_reports.report import gates
from spark_reports.report.files import write
from spark_reports.report.shape import Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_reports.log.read import Source


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the options of a report: its folder, its files, its rollup and its gates."""
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
        help="of html,md,json,csv,prom; default: html,md,json",
    )
    parser.add_argument(
        "--top", type=arguments.positive, default=50, metavar="N", help="rows a table (default 50)"
    )
    parser.add_argument(
        "--rollup",
        metavar="DIR",
        help="store the tables that `trend` and `what-if` read, and compare with the seven days before",
    )
    for_readers.add(parser)
    arguments.add_gates(parser)
    arguments.add_master(parser)
    arguments.add_quiet(parser)


def places(options: argparse.Namespace) -> list[str]:
    """The folders that a report writes, as `spark_at_work` takes them."""
    return [options.output] if options.rollup is None else [options.output, options.rollup]


def made(
    spark: "SparkSession",
    options: argparse.Namespace,
    source: "Source",
    folder: str,
    *,
    writes_letters: bool = True,
) -> Report | None:
    """Make the report of `source`, and write its files to `folder`. With `--rollup`, its days are stored
    there first. None if the log holds no line of the period.

    Raises NothingToReportError if the lines of the period are all unusable.
    """
    from spark_reports.report import rollup, tables
    from spark_reports.report.assemble import assemble

    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    first, last = source.first, source.last
    for_readers.load(spark, options)
    with tables.summed(spark, source) as sums:
        if sums is None:
            return None
        known = None
        if options.rollup is not None:
            rollup.store(rollup.producers(sums.rolled), options.rollup, "producers")
            rollup.store(sums.drifts, options.rollup, "drift")
            week_before = last - timedelta(days=rollup.DAYS_BEFORE)
            known = rollup.stored(spark, options.rollup, "producers", first=week_before, last=last)
        found = tables.collect(sums, options.top, known, for_readers.clients_asked(options))
    report = assemble(found, first, last, now_ms)
    report, facts = for_readers.completed(spark, options, folder, report, found)
    for name in options.format:
        write(spark, folder, f"report.{name}", FORMATS[name](report))
    for_readers.keep(spark, options, facts)
    if writes_letters:
        for_readers.write_letters(options, report)
    return report


def status(report: Report, fail_on: Iterable[gates.Gate], day: str = "") -> int:
    """GATE_TRIPPED, and a line on standard error for each gate that trips. `day` is part of the line."""
    tripped = [text for gate in fail_on if (text := gate.tripped_by(report)) is not None]
    for text in tripped:
        sys.stderr.write(f"spark_reports: quality gate: {day and f'{day}: '}{text}\n")
    return GATE_TRIPPED if tripped else OK


def _formats(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in FORMATS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(FORMATS)}")
    return names
