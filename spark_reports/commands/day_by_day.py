"""Reports of several days in one session: each day has a folder, `DIR/2026-11-20`, and a rollup of its own.

`daily --each` makes the reports of a period, `night` the reports of a day and of some days before it. One
line is printed for each day. The exit code is that of the worst day: 1 is worse than 3.
"""

import argparse
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from spark_reports.commands import daily_run
from spark_reports.commands.publishing import Publication
from spark_reports.commands.spark_run import spark_at_work
from spark_reports.exits import (
    FAILED,
    GATE_TRIPPED,
    OK,
    LinesWouldVanishError,
    NoFilesError,
    NothingToReportError,
)
from spark_reports.report import gates, words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_reports.log.read import Source

_WORST_FIRST: Final = (FAILED, GATE_TRIPPED, OK)


def worst(codes: Iterable[int]) -> int:
    """The worst of these exit codes. OK if there is none."""
    found = set(codes)
    return next((code for code in _WORST_FIRST if code in found), OK)


def run(options: argparse.Namespace, publication: Publication, first: date, last: date) -> int:
    """Make the reports of all days of the period. Days without a line are named at the end."""
    codes: dict[date, int | None] = {}
    days = Days(publication, options.fail_on, is_quiet=options.quiet)
    with spark_at_work(options, is_brief=False, writes=publication.places) as spark:
        from spark_reports.log import store
        from spark_reports.log.read import Source

        form = store.Form(options.input_format)
        store.require(spark, form)
        for day in (first + timedelta(days=number) for number in range((last - first).days + 1)):
            codes[day] = days.reported(spark, Source(options.input, day, day, form))
    if empty := [day.isoformat() for day, code in codes.items() if code is None]:
        where = f"{words.days_in_words(empty)} (UTC) under {' '.join(options.input)}"
        sys.stderr.write(f"spark_reports: no decision log lines of {where}\n")
    return worst(FAILED if code is None else code for code in codes.values())


@dataclass(frozen=True, slots=True)
class Days:
    """The reports of several days."""

    publication: Publication
    fail_on: Collection[gates.Gate]
    is_quiet: bool

    def reported(self, spark: "SparkSession", source: "Source") -> int | None:
        """Make the report of a day, write its files, and check the gates.

        Return OK, GATE_TRIPPED, FAILED if no line of the day can be used or if the rollup holds it of another
        log, or None if there is no line.
        """
        day, publication = source.first, self.publication.of_day(source.first)
        try:
            report = daily_run.made(spark, publication, source)
        except NoFilesError:
            return None
        except (NothingToReportError, LinesWouldVanishError) as error:
            sys.stderr.write(f"spark_reports: {error}\n")
            return FAILED
        if report is None:
            return None
        if not self.is_quiet:
            text = f"{report['first_day']}: {report['headline']} {report['log']['sentence']}"
            sys.stdout.write(f"{text} Written to {publication.output}.\n")
            sys.stdout.flush()
        return daily_run.status(report, self.fail_on, str(day))
