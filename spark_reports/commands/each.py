"""Reports of several days in one session: each day has a folder, `DIR/2026-11-20`, and a rollup of its own.

`daily --each` makes the reports of a period, `night` the reports of a day and of some days before it. One
line is printed for each day. The exit code is that of the worst day: 1 is worse than 3.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from spark_reports.commands import making
from spark_reports.commands.progress import Progress
from spark_reports.commands.running import progress_of, spark_at_work
from spark_reports.exits import FAILED, GATE_TRIPPED, OK, NoFilesError, NothingToReportError
from spark_reports.report import words
from spark_reports.report.shape import Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_reports.log.read import Source

_WORST_FIRST: Final = (FAILED, GATE_TRIPPED, OK)


def worst(codes: Iterable[int]) -> int:
    """The worst of these exit codes. OK if there is none."""
    found = set(codes)
    return next((code for code in _WORST_FIRST if code in found), OK)


def run(options: argparse.Namespace, first: date, last: date) -> int:
    """Make the reports of all days of the period. Days without a line are named at the end."""
    codes: dict[date, int | None] = {}
    places, progress = making.places(options), progress_of(options)
    with spark_at_work(
        options, "reading the decision log", is_brief=False, writes=places, progress=progress
    ) as spark:
        from spark_reports.log import store
        from spark_reports.log.read import Source

        form = store.Form(options.input_format)
        store.require(spark, form)
        for day in (first + timedelta(days=number) for number in range((last - first).days + 1)):
            source = Source(options.input, day, day, form)
            codes[day] = reported(spark, options, source, progress)
    if empty := [day.isoformat() for day, code in codes.items() if code is None]:
        sys.stderr.write(f"spark_reports: {_no_lines(options, empty)}\n")
    return worst(FAILED if code is None else code for code in codes.values())


def _no_lines(options: argparse.Namespace, days: Sequence[str]) -> str:
    return f"no decision log lines of {words.days_in_words(days)} (UTC) under {' '.join(options.input)}"


def folder(output: str, day: date) -> str:
    """The folder of a day's report."""
    return f"{output.rstrip('/')}/{day}"


def reported(
    spark: "SparkSession",
    options: argparse.Namespace,
    source: "Source",
    progress: Progress,
    *,
    is_again: bool = False,
    writes_letters: bool = True,
) -> int | None:
    """Make the report of a day, write its files, and check the gates. If the report is made again
    (`is_again`), no gates are checked.

    Return OK, GATE_TRIPPED, FAILED if no line of the day can be used, or None if there is no line.
    """
    day = source.first
    place = folder(options.output, day)
    progress.show(f"making the report of {day}")
    try:
        report = making.made(spark, options, source, place, writes_letters=writes_letters)
    except NoFilesError:
        return None
    except NothingToReportError as error:
        progress.clear()
        sys.stderr.write(f"spark_reports: {error}\n")
        return FAILED
    finally:
        progress.clear()
    if report is None:
        return None
    if not options.quiet:
        sys.stdout.write(_line(report, place))
        sys.stdout.flush()
    return OK if is_again else making.status(report, options.fail_on, str(day))


def _line(report: Report, place: str) -> str:
    return f"{report['first_day']}: {report['headline']} {report['log']['sentence']} Written to {place}.\n"
