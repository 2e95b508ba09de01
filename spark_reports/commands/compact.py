"""`spark_reports compact`: the decision log as a table, one partition for each day."""

import argparse
import json
import sys
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Final

from spark_reports import arguments
from spark_reports.commands.spark_run import nothing_of, spark_at_work
from spark_reports.exits import GATE_TRIPPED, OK, NothingToReportError
from spark_reports.log.completeness import NEWER, period_text
from spark_reports.report import words

if TYPE_CHECKING:
    from spark_reports.log.compact import Compacted

_EXAMPLES: Final = """examples:
  spark_reports compact --date 2026-11-20 --input s3a://lake/tsproxy --output s3a://lake/tsproxy-lines
  spark_reports daily --input s3a://lake/tsproxy-lines --input-format parquet --output out
"""


def add(commands: arguments.Commands) -> None:
    parser = arguments.add_command(
        commands, "compact", "write JSON lines as a table, one partition per day", _EXAMPLES
    )
    arguments.add_period(parser, arguments.MANY_DAYS)
    arguments.add_input(parser)
    arguments.add_skipping(parser)
    arguments.add_table(parser)
    parser.add_argument(
        "--lookback",
        type=arguments.positive,
        default=7,
        metavar="DAYS",
        help="of these many days before, write again those whose lines came late, and write those that the "
        "table lacks (default 7)",
    )
    parser.add_argument(
        "--max-corrupt",
        type=arguments.percentage,
        metavar="PERCENT",
        help="exit code 3 if more lines than this are unusable, e.g. 0.1%%",
    )
    arguments.add_replace(parser, "table")
    arguments.add_master(parser)
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    arguments.add_quiet(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    first, last = arguments.period_of(options)
    # The folder of a catalog's table is not known.
    places = [] if options.format == "iceberg" else [options.output]
    with spark_at_work(options, is_brief=False, writes=places) as spark:
        from spark_reports.log import store
        from spark_reports.log.compact import compact

        table = store.Table(options.output, store.Form(options.format))
        store.require(spark, table.form)
        done = compact(
            spark,
            options.input,
            first,
            last,
            table,
            may_lose_lines=options.replace,
            lookback_days=options.lookback,
        )
    if not done.lines and not done.quarantined_lines:
        raise NothingToReportError(nothing_of(period_text(first, last), options.input))
    if not options.quiet:
        sys.stdout.write(json.dumps(asdict(done)) + "\n" if options.json else in_words(done))
    if not done.lines:
        raise NothingToReportError(_nothing_usable(done, first, last))
    return _status(options, done)


def _status(options: argparse.Namespace, done: "Compacted") -> int:
    """GATE_TRIPPED, and a line on standard error, if more lines are unusable than `--max-corrupt` allows."""
    if options.max_corrupt is None or done.corrupt_rate <= options.max_corrupt:
        return OK
    sys.stderr.write(f"spark_reports: quality gate: {done.corrupt_rate:.3%} of the lines are unusable\n")
    return GATE_TRIPPED


def in_words(done: "Compacted") -> str:
    """A text about the lines of the days in the table, and about earlier days for which lines came late."""
    return (
        f"{words.many(done.lines, 'line')}, {words.many(done.duplicate_lines, 'duplicate')} left out, "
        f"set aside: {_set_aside(done) or 'none'}."
        + "".join(
            f"\nThe table held nothing of {day}, which was written now: no run had written it."
            for day in done.made_up_days
        )
        + "".join(f"\nLines came late for {day}, which was written again." for day in done.restated_days)
        + "".join(
            f"\nLines came late for {day}, which was not written again: the input lacks "
            f"{words.many(lines, 'line')} that the table holds."
            for day, lines in done.vanished_lines.items()
        )
        + _missing(done)
        + "\n"
    )


def _missing(done: "Compacted") -> str:
    if not done.missing_days:
        return ""
    days = words.days_in_words(done.missing_days)
    return (
        f"\nThe table holds nothing of {days}, and --lookback does not reach as far: give it more "
        "days if the files are there."
    )


def _set_aside(done: "Compacted") -> str:
    return ", ".join(f"{count:,} {problem}" for problem, count in sorted(done.quarantined_lines.items()))


def _nothing_usable(done: "Compacted", first: date, last: date) -> str:
    cure = f" ({NEWER})" if "unknown_version" in done.quarantined_lines else ""
    return (
        f"no line of {period_text(first, last)} can be used, all were set aside: {_set_aside(done)}{cure}. "
        "The table holds them with their problem"
    )
