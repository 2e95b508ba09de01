"""`spark_reports daily`: the report of one day, or of a few days."""

import argparse
import sys
from datetime import date
from typing import Final

from spark_reports import arguments
from spark_reports.commands import making
from spark_reports.commands.render import for_terminal
from spark_reports.commands.running import nothing_of, spark_at_work
from spark_reports.exits import NothingToReportError
from spark_reports.report.files import require_writable, to_json
from spark_reports.report.notices import notices
from spark_reports.report.shape import Report

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
    making.add_report(parser)
    printed = parser.add_mutually_exclusive_group()
    printed.add_argument(
        "--notify",
        action="store_true",
        help="print a text for the owner of each producer that was rejected, or would be by a rule in audit",
    )
    printed.add_argument("--json", action="store_true", help="print report.json instead of the summary")
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
    return making.status(report, options.fail_on)


def _make(options: argparse.Namespace, first: date, last: date) -> Report:
    # A log that was made a table is usually a large one.
    is_brief = options.input_format == "json"
    with spark_at_work(options, "reading the decision log", is_brief=is_brief) as spark:
        from spark_reports.log import store
        from spark_reports.log.read import Source

        source = Source(options.input, first, last, store.Form(options.input_format))
        store.require(spark, source.form)
        report = making.made(spark, options, source, options.output)
    if report is None:
        raise NothingToReportError(nothing_of(first, last, options.input))
    return report
