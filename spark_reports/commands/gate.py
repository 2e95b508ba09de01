"""`spark_reports gate`: check the quality gates of an existing report, without a second run of `daily`.

A scheduler runs it as a task of its own. A retry does not change a gate that tripped, but may help a run that
failed. It needs no Spark. Under spark-submit, it reads the report by the session, which has the settings and
the login of its file systems.
"""

import argparse
from typing import Final

from spark_reports import arguments
from spark_reports.commands import daily_run
from spark_reports.commands.spark_run import spark_at_work
from spark_reports.errors import FailedError, UsageError
from spark_reports.report.files import local, read_if_there, report_of
from spark_reports.report.shape import Report
from spark_reports.spark.session import is_submitted

_FILE: Final = "report.json"
_EXAMPLES: Final = """example:
  spark_reports gate s3a://lake/reports/2026-11-20 --fail-on 'rejected_rate>1%' --fail-on 'incomplete>0'
"""


def add(commands: arguments.Commands) -> None:
    parser = arguments.add_command(
        commands, "gate", "check the quality gates of an existing report", _EXAMPLES
    )
    parser.add_argument("report", metavar="DIR", help=f"the folder of a report, or its {_FILE}")
    arguments.add_gates(parser, is_required=True)
    parser.set_defaults(run=run, input=(), master=None, quiet=True)


def run(options: argparse.Namespace) -> int:
    """Check the gates. The exit code is 3 if one of them trips."""
    report = _read(options)
    try:
        return daily_run.status(report, options.fail_on, report["first_day"])
    except (KeyError, TypeError, AttributeError) as error:
        raise FailedError(f"{options.report} lacks a part of a report: {error}") from error


def _read(options: argparse.Namespace) -> Report:
    is_file = options.report.endswith(".json")
    place = options.report if is_file else f"{options.report.rstrip('/')}/{_FILE}"
    if (here := local(place)) is not None:
        return report_of(here.read_text(encoding="utf-8", errors="replace"), place)
    if not is_submitted():
        from spark_reports.report import stored  # pyarrow, which a report on this machine does not need

        return report_of(stored.text(place), place)
    with spark_at_work(options) as spark:
        text = read_if_there(spark, *place.rsplit("/", 1))
    if text is None:
        raise UsageError(f"{place} does not exist")
    return report_of(text, place)
