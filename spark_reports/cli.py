"""The command `spark_reports`: arguments in, exit code out; no logic of its own.

Exit codes: 0 done · 1 failed · 2 usage (also an input that is not there) · 3 a quality gate tripped.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final

from spark_reports import gates
from spark_reports.render import html, markdown, terminal
from spark_reports.session import SparkUnavailableError, spark_session
from spark_reports.shape import Report
from spark_reports.write import NotAReportError, read_report, to_json, write_text

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
GATE_TRIPPED: Final = 3

MAX_DAYS: Final = 7
"""Beyond a week the hours of a daily report are too many to look at."""

FORMATS: Final[Mapping[str, Callable[[Report], str]]] = MappingProxyType(
    {"html": html.render, "md": markdown.render, "json": to_json}
)

_EXAMPLES: Final = """examples:
  spark_reports daily --date 2026-11-20 --input /var/lib/tsproxy/decisions --output reports/2026-11-20
  spark_reports daily --input s3a://lake/tsproxy --output out --fail-on 'rejected_rate>1%'
  spark_reports render out/report.json --format html -o report.html
"""


class UsageError(Exception):
    """What the user asked for cannot be done as asked; the text says why."""


class NothingToReportError(Exception):
    """The inputs are there, but hold nothing of the days; a scheduler should hear of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except UsageError as error:
        return _complain(str(error), USAGE)
    except (SparkUnavailableError, NothingToReportError, NotAReportError, OSError) as error:
        return _complain(str(error), FAILED)
    except KeyboardInterrupt:
        return _complain("interrupted", FAILED)


def _complain(text: str, code: int) -> int:
    sys.stderr.write(f"spark_reports: {text}\n")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spark_reports",
        description="Reports from tsproxy's decision log. All days are UTC days.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    raw = argparse.RawDescriptionHelpFormatter
    daily = commands.add_parser(
        "daily", help="one day's report (or a few days')", epilog=_EXAMPLES, formatter_class=raw
    )
    _daily_arguments(daily)
    again = commands.add_parser(
        "render", help="a report.json in another form, without Spark", epilog=_EXAMPLES, formatter_class=raw
    )
    again.add_argument("report", type=Path, metavar="REPORT.json")
    again.add_argument("--format", choices=[*FORMATS, "terminal"], default="terminal")
    again.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
    again.set_defaults(run=_render)
    return parser


def _daily_arguments(daily: argparse.ArgumentParser) -> None:
    daily.add_argument(
        "--date",
        type=_period,
        metavar="DAY[..DAY]",
        help=f"UTC day such as 2026-11-20, or up to {MAX_DAYS} days; default: yesterday",
    )
    daily.add_argument(
        "--input",
        nargs="+",
        required=True,
        metavar="PATH",
        help="directories, files or globs of decision logs, on any file system that Spark knows",
    )
    daily.add_argument("--output", type=Path, required=True, metavar="DIR", help="where report.* go")
    daily.add_argument(
        "--format", type=_formats, default=("html", "md", "json"), metavar="LIST", help="of html,md,json"
    )
    daily.add_argument("--top", type=_positive, default=50, metavar="N", help="rows a table (default 50)")
    daily.add_argument("--master", metavar="URL", help="Spark master; default: spark-submit's, else local[*]")
    daily.add_argument(
        "--fail-on",
        action="append",
        type=_gate,
        default=[],
        metavar="GATE",
        help=f"exit code 3 where it holds, e.g. 'rejected_rate>1%%'; of {', '.join(gates.MEASURES)}",
    )
    daily.add_argument("--json", action="store_true", help="print report.json instead of the summary")
    daily.add_argument("--quiet", action="store_true", help="print nothing but errors")
    daily.set_defaults(run=_daily)


def _daily(options: argparse.Namespace) -> int:
    now = datetime.now(UTC)
    yesterday = now.date() - timedelta(days=1)
    first, last = options.date or (yesterday, yesterday)
    report = _make(options, first, last, now)
    for name in options.format:
        write_text(options.output / f"report.{name}", FORMATS[name](report))
    if not options.quiet:
        sys.stdout.write(to_json(report) if options.json else _for_terminal(report))
        sys.stdout.flush()
        if not options.json:
            written = ", ".join(str(options.output / f"report.{name}") for name in options.format)
            sys.stdout.write(f"\nWritten: {written}\n")
    tripped = [said for gate in options.fail_on if (said := gate.tripped_by(report)) is not None]
    for said in tripped:
        _complain(f"quality gate: {said}", GATE_TRIPPED)
    return GATE_TRIPPED if tripped else OK


def _make(options: argparse.Namespace, first: date, last: date, now: datetime) -> Report:
    """The report itself. Raises UsageError, NothingToReportError, SparkUnavailableError."""
    progress = _Progress(shown=sys.stderr.isatty() and not options.quiet)
    progress.say("starting Spark")
    with spark_session(options.master) as spark:
        # Imported here, so that `render` and `--help` need neither pyspark nor Java.
        from pyspark.errors import PySparkException

        from spark_reports import report, tables
        from spark_reports.read import Source

        progress.say("reading the decision log")
        try:
            source = Source(options.input, first, last)
            collected = tables.collect(spark, source, options.top)
        except PySparkException as error:
            condition = error.getCondition() or "Spark failed"
            text = str(error).strip().partition("\n")[0]
            if condition == "PATH_NOT_FOUND":
                raise UsageError(text) from error
            raise SparkUnavailableError(f"{condition}: {text}") from error
        progress.done()
    if collected is None:
        days = f"{first}" if first == last else f"{first}..{last}"
        raise NothingToReportError(
            f"no decision log lines of {days} under {' '.join(options.input)} (days are UTC)"
        )
    return report.assemble(collected, first, last, int(now.timestamp() * 1000))


def _render(options: argparse.Namespace) -> int:
    report = read_report(options.report)
    text = _for_terminal(report) if options.format == "terminal" else FORMATS[options.format](report)
    if options.output is None:
        sys.stdout.write(text)
    else:
        write_text(options.output, text)
    return OK


def _for_terminal(report: Report) -> str:
    is_terminal = sys.stdout.isatty()
    return terminal.render(
        report,
        columns=shutil.get_terminal_size().columns if is_terminal else 100,
        has_colour=is_terminal and "NO_COLOR" not in os.environ,
    )


class _Progress:
    """What is being done, on one line of standard error, where somebody is looking."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._began = time.monotonic()

    def say(self, doing: str) -> None:
        if self._shown:
            sys.stderr.write(f"\r\x1b[K{doing} … ({time.monotonic() - self._began:.0f} s)")
            sys.stderr.flush()

    def done(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _period(text: str) -> tuple[date, date]:
    first, _, last = text.partition("..")
    try:
        days = date.fromisoformat(first), date.fromisoformat(last or first)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a day such as 2026-11-20, or two with .."
        ) from None
    if not 0 <= (days[1] - days[0]).days < MAX_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a period of 1 to {MAX_DAYS} days")
    return days


def _formats(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in FORMATS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(FORMATS)}")
    return names


def _positive(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 10000")
    return int(text)


def _gate(text: str) -> gates.Gate:
    try:
        return gates.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
