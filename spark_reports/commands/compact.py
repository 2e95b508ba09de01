"""`spark_reports compact`: the decision log as a table, one partition for each day."""

import argparse
import sys
from typing import TYPE_CHECKING, Final

from spark_reports import arguments
from spark_reports.commands.spark_run import spark_at_work
from spark_reports.exits import OK, NothingToReportError
from spark_reports.log.completeness import NEWER
from spark_reports.log.inputs import nothing_of
from spark_reports.log.period import period_text
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
    parser.add_argument(
        "--output", required=True, metavar="TABLE", help="a directory on any file system that Spark knows"
    )
    arguments.add_replace(parser, "table")
    arguments.add_master(parser)
    arguments.add_quiet(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    first, last = arguments.period_of(options)
    period = period_text(first, last)
    with spark_at_work(options, is_brief=False, writes=[options.output]) as spark:
        from spark_reports.log.compact import compact
        from spark_reports.log.read import Source
        from spark_reports.log.store import Table

        source = Source(options.input, first, last)
        done = compact(spark, source, Table(options.output), may_lose_lines=options.may_lose_lines)
    if not done.lines and not done.quarantined_lines:
        raise NothingToReportError(nothing_of(period, options.input))
    if not options.quiet:
        sys.stdout.write(in_words(done))
    if not done.lines:
        cure = f" ({NEWER})" if "unknown_version" in done.quarantined_lines else ""
        raise NothingToReportError(
            f"no line of {period} can be used, all were set aside: {_set_aside(done)}{cure}. The table holds "
            "them with their problem"
        )
    return OK


def in_words(done: "Compacted") -> str:
    """A text about the lines of the days in the table."""
    return (
        f"{words.many(done.lines, 'line')}, {words.many(done.duplicate_lines, 'duplicate')} left out, "
        f"set aside: {_set_aside(done) or 'none'}.\n"
    )


def _set_aside(done: "Compacted") -> str:
    return ", ".join(f"{count:,} {problem}" for problem, count in sorted(done.quarantined_lines.items()))
