"""Reports of several days in one session: each day has a folder, `DIR/2026-11-20`, and a rollup of its own.

One line is printed for each day. The exit code is that of the worst day.
"""

import argparse
import sys
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Final

from spark_reports.commands import making
from spark_reports.exits import FAILED, GATE_TRIPPED, OK, NothingToReportError
from spark_reports.report.shape import Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_reports.log.read import Source

_WORST_FIRST: Final = (FAILED, GATE_TRIPPED, OK)


def worst(codes: Iterable[int]) -> int:
    """The worst of these exit codes. OK if there is none."""
    found = set(codes)
    return next((code for code in _WORST_FIRST if code in found), OK)


def folder(output: str, day: date) -> str:
    """The folder of a day's report."""
    return f"{output.rstrip('/')}/{day}"


def reported(spark: "SparkSession", options: argparse.Namespace, source: "Source") -> int | None:
    """Make the report of a day, write its files, and check the gates.

    Return OK, GATE_TRIPPED, FAILED if no line of the day can be used, or None if there is no line.
    """
    day = source.first
    place = folder(options.output, day)
    try:
        report = making.made(spark, options, source, place)
    except NothingToReportError as error:
        sys.stderr.write(f"spark_reports: {error}\n")
        return FAILED
    if report is None:
        return None
    if not options.quiet:
        sys.stdout.write(_line(report, place))
        sys.stdout.flush()
    return making.status(report, options.fail_on, str(day))


def _line(report: Report, place: str) -> str:
    return f"{report['first_day']}: {report['headline']} {report['log']['sentence']} Written to {place}.\n"
