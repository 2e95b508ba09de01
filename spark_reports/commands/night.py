"""`spark_reports night`: all that a scheduler runs after a day, in one session.

1. The table: `compact` writes the day, restates days before it if lines came late for them, and writes days
   before it that the table lacks, because their night did not run.
2. The reports of the restated days and of the day before, made again: only the next day's lines show that
   lines at the end of a day are lost. And the reports of the days that the table lacked.
3. The report of the day.

The exit code is 1 if the day has no usable line, or a day before that was written again has none. Else it is
3 if a gate tripped for the day, or for a day that the table lacked. For other days before, gates are not
checked again: the night after each of them has done so.

Only while the table lacks lines of a day, a run finds that its report must be made. So the days are noted
beside the reports (`Unmade`) before the table has them, until their reports are made. If the night is killed
in between, the next one makes them, and checks their gates.
"""

import argparse
import json
import sys
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from spark_reports import arguments
from spark_reports.commands import compact, daily_run, day_by_day
from spark_reports.commands.publishing import Publication
from spark_reports.commands.spark_run import nothing_of, spark_at_work
from spark_reports.exits import NothingToReportError, UsageError
from spark_reports.report import files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXAMPLES: Final = """example:
  spark_reports night --input s3a://lake/tsproxy --store s3a://lake
"""

_FORMATS: Final = ("html", "md", "json", "prom")
"""The forms of a night's reports: an alert looks for the one of Prometheus."""
_UNMADE: Final = "unmade.json"
_PARTS: Final = {"table": "lines", "rollup": "rollup", "output": "reports"}
"""The options that `--store` stands for, and their folders in it."""


def add(commands: arguments.Commands) -> None:
    parser = arguments.add_command(
        commands,
        "night",
        "nightly run: table and report of the day, and of earlier days that changed",
        _EXAMPLES,
    )
    source = parser.add_argument_group("input")
    arguments.add_day(source)
    arguments.add_input(source)
    arguments.add_skipping(source)
    parser.add_argument(
        "--store",
        metavar="DIR",
        help="the folder for everything: --table DIR/lines, --rollup DIR/rollup, --output DIR/reports, "
        "unless they are given; its owners.toml is --owners, if it is there",
    )
    parser.add_argument(
        "--table", metavar="TABLE", help="as `--output` of `compact`; reports are made from it"
    )
    parser.add_argument(
        "--table-format", choices=arguments.TABLES, default="parquet", help="as `--format` of `compact`"
    )
    compact.add_writing(parser)
    arguments.add_replace(parser, "table", "rollup")
    daily_run.add_report(parser, has_output=False)
    parser.set_defaults(run=run, format=_FORMATS)


def run(options: argparse.Namespace) -> int:
    day, _ = arguments.period_of(options)
    complete(options)
    publication = Publication.of(options)
    publication.of_day(day).check()
    places = [*compact.table_places(options.table, options.table_format), *publication.places]
    with spark_at_work(options, is_brief=False, writes=places) as spark:
        from spark_reports.log import store
        from spark_reports.log.read import Source

        if options.store is not None:
            publication = publication.owned(spark, options.store)
        own = day_by_day.Days(publication, options.fail_on, is_quiet=options.quiet)
        again = replace(own, fail_on=())
        table = store.Table(options.table, store.Form(options.table_format))
        unmade = Unmade(spark, options.output)
        left_over = unmade.read() - {day}
        unmade.add(day)
        done = compact.written(spark, options, table, day, day, unmade.add)
        if not options.quiet:
            sys.stdout.write(compact.in_words(done))
        made_up = left_over | set(map(date.fromisoformat, done.made_up_days))
        written = made_up | set(map(date.fromisoformat, done.restated_days))
        before = set(written)
        if table.holds(spark, day_before := day - timedelta(days=1)):  # not in the first night
            before.add(day_before)
        of_day = Source([table.name], day, day, table.form)
        codes = []
        for other in sorted(before):
            source = replace(of_day, first=other, last=other)
            code = (own if other in made_up else again).reported(spark, source)
            if code is not None and other in written:
                codes.append(code)
        code = own.reported(spark, of_day)
        unmade.clear()
    if code is None:
        raise NothingToReportError(nothing_of(day, day, options.input))
    return day_by_day.worst([*codes, code, compact.status(options, done)])


@dataclass(slots=True)
class Unmade:
    """The days whose lines are written to the table, and whose reports are not made yet: a file in the folder
    of the reports."""

    spark: "SparkSession"
    folder: str
    days: set[date] = field(default_factory=set)

    def read(self) -> set[date]:
        """The days that a night has left which was killed, or ended with an error."""
        text = files.read_if_there(self.spark, self.folder, _UNMADE)
        self.days = set(map(date.fromisoformat, json.loads(text or "[]")))
        return set(self.days)

    def add(self, day: date) -> None:
        self.days.add(day)
        self._write()

    def clear(self) -> None:
        self.days.clear()
        self._write()

    def _write(self) -> None:
        text = json.dumps(sorted(map(str, self.days)))
        files.write(self.spark, self.folder, _UNMADE, f"{text}\n")


def complete(options: argparse.Namespace) -> None:
    """Name the places that no option names: those of `--store`, and the index above the days' folders. Raises
    UsageError if one stays without a name."""
    for option, folder in _PARTS.items():
        if getattr(options, option) is None and options.store is not None:
            setattr(options, option, f"{options.store.rstrip('/')}/{folder}")
    if options.table is None or options.output is None:
        raise UsageError("night needs --store, or --table and --output")
    if options.index is None and options.rollup is not None:
        options.index = options.output
