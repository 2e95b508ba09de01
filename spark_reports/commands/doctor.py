"""`spark_reports doctor`: the faults of a decision log, and nothing else."""

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, Final

from spark_reports import arguments
from spark_reports.commands import shippers
from spark_reports.commands.spark_run import spark_at_work
from spark_reports.errors import NothingToReportError
from spark_reports.log.completeness import Evidence, LogQuality, State, quality
from spark_reports.log.inputs import nothing_of
from spark_reports.log.period import period_text
from spark_reports.report import missing, words
from tsproxy.model.exits import OK, TRIPPED

_EXAMPLE: Final = """example:
  spark_reports doctor --input /var/lib/tsproxy/decisions --date 2026-11-20
"""


def add(commands: arguments.Commands) -> None:
    parser = arguments.add_command(
        commands, "doctor", "find gaps, unusable lines and silent processes in a log", _EXAMPLE
    )
    arguments.add_period(parser)
    arguments.add_input(parser)
    arguments.add_input_format(parser)
    arguments.add_master(parser)
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.set_defaults(run=run, quiet=False)


def run(options: argparse.Namespace) -> int:
    """Print the faults of the log. The exit code is 3 if it has any."""
    first, last = arguments.period_of(options)
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    with spark_at_work(options) as spark:
        from spark_reports.log import log_reader, read

        source = read.Source(options.input, first, last, is_table=options.input_format == "parquet")
        with log_reader.lines(spark, source) as log:
            evidence = log.evidence()
    if not evidence.files:
        raise NothingToReportError(nothing_of(period_text(first, last), options.input))
    judged = quality(evidence, first, last, now_ms)
    sys.stdout.write(json.dumps(judged, indent=1) + "\n" if options.json else _text(judged, evidence))
    is_sound = judged["state"] != State.INCOMPLETE and not judged["quarantined_lines"]
    return OK if is_sound else TRIPPED


def _text(log: LogQuality, evidence: Evidence) -> str:
    lines = [
        log["sentence"] if evidence.boots else "No line of these days can be used.",
        *missing.sentences(log),
        *(
            f"{words.many(count, 'unusable line')}, {words.PROBLEM_WORDS.get(problem, problem)} ({problem})."
            for problem, count in sorted(log["quarantined_lines"].items())
        ),
        *(f"  {words.short(example, 240)}" for example in log["quarantined_examples"]),
    ]
    if changed := log["changed_lines"]:
        lines.append(
            f"{words.many(changed, 'line')} changed on the way, by a shipper or another tool, and still read:"
        )
        lines += _changed(evidence.files)
    if log["duplicate_lines"]:
        lines.append(f"{words.many(log['duplicate_lines'], 'repeated line')} left out: each counts once.")
    if log["lines_dropped"]:
        lines.append(f"The proxies themselves dropped {words.many(log['lines_dropped'], 'line')}.")
    processes = words.many(log["boots"], "process", "processes")
    proxies = words.many(log["proxies"], "proxy", "proxies")
    lines.append(
        f"{words.many(log['files'], 'file')}, {log['open_files']:,} still being written; "
        f"{processes} of {proxies}; {words.many(log['lines'], 'line')}."
    )
    return "\n".join(lines) + "\n"


def _changed(files: list[dict[str, Any]]) -> Iterator[str]:
    """The first line of each form as it came, and what leaves the line alone in the shippers that fit."""
    told: set[tuple[str, ...]] = set()
    for row in sorted((row for row in files if row["changed"] and row["file"]), key=itemgetter("file")):
        fitting = shippers.that_fit(row["example"])
        if (form := tuple(shipper.name for shipper in fitting)) not in told:
            told.add(form)
            example = f"{row['file']}: {row['example']}"
            yield f"  {words.short(example, 240)}"
            yield from (
                f"    {shipper.name}: leave the line whole with {shipper.whole_with}." for shipper in fitting
            )
