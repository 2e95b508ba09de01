"""`daily --store`: all that a scheduler runs after a day, in one session.

1. The table: `compact` writes the days. It writes days before them again if lines came late for them, and
   those that the table lacks, because the run after them did not take place.
2. The reports of the days, of the restated days and of the day before, made again: only the next day's lines
   show that lines at the end of a day are lost. And the reports of the days that the table lacked. Each day
   has a folder, `DIR/2026-11-20`, and one line is printed for it.

The exit code is that of the worst day: 1 is worse than 3. It is 1 if a day of `--date`, or a day before that
was written again, has no usable line. Else it is 3 if a gate tripped for a day of `--date`, or for one that
the table lacked, or if such a day has unusable lines. Other days before are not checked again: the run after
each of them has done so.

Only while the table lacks lines of a day, a run finds that its report must be made. So the days are noted
beside the reports (`Unmade`) before the table has them, until their reports are made. If the run is killed
in between, the next one writes and makes them, and checks their gates.
"""

import argparse
import json
import sys
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from spark_reports.commands import daily_run
from spark_reports.commands.compact import in_words
from spark_reports.commands.publishing import Publication
from spark_reports.commands.retention import remove_before
from spark_reports.commands.spark_run import spark_at_work
from spark_reports.exits import FAILED, GATE_TRIPPED, OK, LinesWouldVanishError, NothingToReportError
from spark_reports.log.inputs import Form, nothing_of
from spark_reports.log.period import days_between
from spark_reports.report import files, gates, words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_reports.log.read import Source
    from spark_reports.log.store import Table

FORMATS: Final = ("html", "md", "json", "prom")
"""The forms of these reports: an alert looks for the one of Prometheus."""
_TABLE: Final = "lines"
_PARTS: Final = {"rollup": "rollup", "output": "reports"}
"""The options that `--store` stands for, and their folders in it."""
_UNMADE: Final = "unmade.json"
_WORST_FIRST: Final = (FAILED, GATE_TRIPPED)


def complete(options: argparse.Namespace) -> None:
    """Name the places and forms that no option names."""
    for option, folder in _PARTS.items():
        if getattr(options, option) is None:
            setattr(options, option, f"{options.store.rstrip('/')}/{folder}")
    options.index = options.index or options.output
    options.formats = options.formats or FORMATS


def run(options: argparse.Namespace, first: date, last: date) -> int:
    """Write the table and the reports of the days, and of days before them that changed."""
    complete(options)
    publication = Publication.of(options)
    publication.of_day(first).check()
    lines = f"{options.store.rstrip('/')}/{_TABLE}"
    with spark_at_work(options, is_brief=False, writes=[lines, *publication.places]) as spark:
        from spark_reports.log.read import Source
        from spark_reports.log.store import Table

        table, log = Table(lines), Source(options.input, first, last)
        days = Days(publication.loaded(spark, options.store), options.fail_on, is_quiet=options.quiet)
        asked = set(days_between(first, last))
        unmade = Unmade(spark, options.output)
        left_over = unmade.read() - asked
        unmade.add(*asked)
        missed, late = _write(spark, log, table, left_over, unmade, days)
        checked = asked | left_over | missed
        written = checked | late
        before = {first - timedelta(days=1)} & table.days(spark)  # not in the first run
        source = Source([table.name], first, last, Form.PARQUET)
        codes = {}
        for day in sorted(written | before):
            of_day = replace(source, first=day, last=day)
            codes[day] = days.reported(spark, of_day, is_checked=day in checked)
        unmade.clear()
        code = next((code for code in _WORST_FIRST if code in {codes[day] for day in written}), OK)
        empty = [day.isoformat() for day in sorted(asked) if codes[day] is None]
        if options.keep is not None and code != FAILED and not empty:
            first_kept = last - timedelta(days=options.keep)
            old = remove_before(spark, days.publication, options.rollup, table, first_kept)
            days.tell(f"Removed {words.many(len(old), 'day')} before {first_kept}.\n" if old else "")
    if empty:
        raise NothingToReportError(nothing_of(words.days_in_words(empty), options.input))
    return code


def _write(
    spark: "SparkSession",
    log: "Source",
    table: "Table",
    left_over: set[date],
    unmade: "Unmade",
    days: "Days",
) -> tuple[set[date], set[date]]:
    """Write the days of the log to the table, and days before them. Return those that no run had written, and
    those for which lines came late.

    `left_over`: the days of a killed run, whose partitions may be half written.
    """
    from spark_reports.log import late_days
    from spark_reports.log.compact import compact

    done = compact(spark, log, table, may_lose_lines=days.publication.may_lose_lines)
    days.tell(in_words(done))
    held = table.days(spark)
    late = late_days.days(spark, log, table, done.lines_before)
    for day in sorted(late | left_over):
        unmade.add(day)
        try:
            compact(spark, replace(log, first=day, last=day), table)
        except (LinesWouldVanishError, NothingToReportError) as error:
            late.discard(day)
            days.tell(f"{day} was not written again: {error}\n")
    for day in sorted(late):
        cause = "Lines came late for" if day in held else "No run had written"
        days.tell(f"{cause} {day}, which was written now.\n")
    return late - held, late & held


@dataclass(frozen=True, slots=True)
class Days:
    """The reports of several days."""

    publication: Publication
    fail_on: Collection[gates.Gate]
    is_quiet: bool

    def tell(self, text: str) -> None:
        """Print a text, unless the command is to be quiet."""
        if not self.is_quiet:
            sys.stdout.write(text)
            sys.stdout.flush()

    def reported(self, spark: "SparkSession", source: "Source", *, is_checked: bool) -> int | None:
        """Make the report of a day, and write its files. Its gates and its unusable lines count if it
        `is_checked`.

        Return OK, GATE_TRIPPED, FAILED if no line of the day can be used or if the rollup holds it of another
        log, or None if there is no line.
        """
        day, publication = source.first, self.publication.of_day(source.first)
        try:
            report = daily_run.made(spark, publication, source)
        except (NothingToReportError, LinesWouldVanishError) as error:
            sys.stderr.write(f"spark_reports: {error}\n")
            return FAILED
        if report is None:
            return None
        text = f"{report['first_day']}: {report['headline']} {report['log']['sentence']}"
        self.tell(f"{text} Written to {publication.output}.\n")
        return daily_run.ended(report, self.fail_on, str(day)) if is_checked else OK


@dataclass(slots=True)
class Unmade:
    """The days whose lines are written to the table, and whose reports are not made yet: a file in the folder
    of the reports."""

    spark: "SparkSession"
    folder: str
    days: set[date] = field(default_factory=set)

    def read(self) -> set[date]:
        """The days that a run has left which was killed, or ended with an error."""
        text = files.read_if_there(self.spark, self.folder, _UNMADE)
        self.days = set(map(date.fromisoformat, json.loads(text or "[]")))
        return set(self.days)

    def add(self, *days: date) -> None:
        self.days.update(days)
        self._write()

    def clear(self) -> None:
        self.days.clear()
        self._write()

    def _write(self) -> None:
        text = json.dumps(sorted(map(str, self.days)))
        files.write(self.spark, self.folder, _UNMADE, f"{text}\n")
