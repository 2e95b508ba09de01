"""`spark_reports daily`: one day's report, or a few days'."""

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final

from spark_reports import arguments, gates
from spark_reports.commands.render import FORMATS, for_terminal
from spark_reports.commands.running import spark_at_work
from spark_reports.exits import GATE_TRIPPED, OK
from spark_reports.notices import notices
from spark_reports.problems import NothingToReportError
from spark_reports.shape import Report
from spark_reports.write import local, to_json, write_far, write_text

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_EXAMPLES: Final = """examples:
  spark_reports daily --date 2026-11-20 --input /var/lib/tsproxy/decisions --output reports/2026-11-20
  spark_reports daily --input s3a://lake/tsproxy --output out --fail-on 'rejected_rate>1%'
  spark_reports daily --input s3a://lake/tsproxy-lines --input-format parquet --output out
"""


def add(commands: "Commands") -> None:
    """The command on the parser."""
    parser = commands.add_parser(
        "daily",
        help="one day's report (or a few days')",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
        help="keep what `trend` and `what-if` read, and compare with the seven days before",
    )
    arguments.add_master(parser)
    parser.add_argument(
        "--fail-on",
        action="append",
        type=_gate,
        default=[],
        metavar="GATE",
        help=f"exit code 3 where it holds, e.g. 'rejected_rate>1%%'; of {', '.join(gates.MEASURES)}",
    )
    printed = parser.add_mutually_exclusive_group()
    printed.add_argument(
        "--notify",
        action="store_true",
        help="print a text for the owner of each producer that was rejected, or would be by a rule in audit",
    )
    printed.add_argument("--json", action="store_true", help="print report.json instead of the summary")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the report, write its files, print the summary, ask the gates."""
    report = _make(options, *arguments.period_of(options))
    if (folder := local(options.output)) is not None:
        for name, text in _files(options, report):
            write_text(folder / name, text)
    if not options.quiet:
        sys.stdout.write(to_json(report) if options.json else for_terminal(report))
        sys.stdout.flush()
        if not options.json:
            folder_name = options.output.rstrip("/")
            written = ", ".join(f"{folder_name}/report.{name}" for name in options.format)
            sys.stdout.write(f"\nWritten: {written}\n")
    if options.notify:
        sys.stdout.write("".join(f"\n{text}" for text in notices(report)))
    tripped = [said for gate in options.fail_on if (said := gate.tripped_by(report)) is not None]
    for said in tripped:
        sys.stderr.write(f"spark_reports: quality gate: {said}\n")
    return GATE_TRIPPED if tripped else OK


def _make(options: argparse.Namespace, first: date, last: date) -> Report:
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    # A table is as a rule of a day that is too long to be read as lines.
    is_brief = options.input_format == "json"
    with spark_at_work(options, "reading the decision log", is_brief=is_brief) as spark:
        # Imported here, so that `render` and `--help` need neither pyspark nor Java.
        from spark_reports import report, store, tables
        from spark_reports.read import Source

        source = Source(options.input, first, last, store.Form(options.input_format))
        store.require(spark, source.form)
        collected = tables.collect(spark, source, options.top, options.rollup)
        if collected is None:
            raise NothingToReportError(arguments.nothing_of(first, last, options.input))
        made = report.assemble(collected, first, last, now_ms)
        if local(options.output) is None:
            for name, text in _files(options, made):
                write_far(spark, options.output, name, text)
    return made


def _files(options: argparse.Namespace, report: Report) -> Iterator[tuple[str, str]]:
    """The name and the text of each file that was asked for."""
    return ((f"report.{name}", FORMATS[name](report)) for name in options.format)


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
