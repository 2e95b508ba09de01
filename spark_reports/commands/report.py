"""`spark_reports report`: the report of a day again, from the rollup, without Spark and Java.

For another file of owners, another form, or pages of a newer release. The rollup is not changed.
"""

import argparse
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from spark_reports import arguments
from spark_reports.commands import daily_run, publishing
from spark_reports.commands.publishing import Publication
from spark_reports.errors import UsageError
from spark_reports.report import kept_days
from spark_reports.report.files import local
from spark_reports.report.shape import DAYS_BEFORE

_EXAMPLE: Final = """example:
  spark_reports report --rollup s3a://lake/rollup --date 2026-11-20 --output again --owners owners.toml
"""


def add(commands: arguments.Commands) -> None:
    parser = arguments.add_command(commands, "report", "make the report of a day again", _EXAMPLE)
    arguments.add_period(parser, most_days=1)
    publishing.add(parser, has_output=True)
    arguments.add_gates(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the report, write its files, check the gates."""
    day, _ = arguments.period_of(options)
    publication = Publication.of(options)
    if publication.rollup is None:
        raise UsageError("report needs --rollup, of which it is made")
    if options.cluster is not None:
        raise UsageError("--cluster: a rollup is of one cluster")
    for place in (publication.output, options.owners):
        if isinstance(place, str) and local(place) is None:
            raise UsageError(f"{place}: must be on this machine; only the rollup may be elsewhere")
    publishing.require_pyarrow()
    from spark_reports.report import stored  # pyarrow, which other commands do without

    week_before = day - timedelta(days=DAYS_BEFORE)
    the_day, now_ms = stored.day(publication.rollup, day)
    the_day = the_day if publication.has_addresses else the_day.without_addresses()
    known = stored.producers(publication.rollup, week_before, day)
    before = stored.days(publication.rollup, *kept_days.around(day, day))
    output = Path(publication.output).absolute()
    if (output.parent / publishing.INDEX).exists():
        publication = replace(publication, index=str(output.parent), is_trial=output.name != str(day))
    report, everybody, _ = publication.completed(the_day, now_ms, known, before, {})
    publication.publish(None, report, everybody)
    return daily_run.status(report, options.fail_on)
