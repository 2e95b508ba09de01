"""`spark_reports trend`: the days side by side, and the clients whose rejections changed."""

import argparse
import json
import sys
from datetime import timedelta
from typing import Any, Final

from spark_reports import arguments
from spark_reports.commands import question
from spark_reports.errors import NothingToReportError
from spark_reports.report import kept_days, trend, words
from spark_reports.report.shape import DAYS_BEFORE
from tsproxy.model.exits import OK

_EXAMPLE: Final = """example:
  spark_reports trend --rollup s3a://lake/rollup --date 2026-11-20 --days 30
"""


def add(commands: arguments.Commands) -> None:
    parser = arguments.add_command(
        commands, "trend", "compare days, and show who changed since the week before", _EXAMPLE
    )
    arguments.add_question(parser)
    parser.add_argument(
        "--days", type=arguments.positive, default=7, metavar="N", help="days shown (default 7)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the days up to the last day of the period, and the clients that changed on it."""
    from spark_reports.report import stored  # pyarrow, which other commands do without

    owners = question.owners_of(options)
    _, last = arguments.period_of(options)
    first = last - timedelta(days=max(options.days - 1, DAYS_BEFORE))
    clients = stored.producers(options.rollup, first, last)
    rows = question.asked(clients, options.team, owners).grouped(trend.CLIENT_DAYS)
    facts = stored.days(options.rollup, first, last)
    there = {row["day"] for row in clients.table(trend.DAYS)}.union(question.without_records(facts))
    is_whole = str(last) in facts and facts[str(last)]["is_compared"]
    changes = trend.changes(rows, last, is_whole=is_whole) if len(there) > 1 else []
    first = last - timedelta(days=options.days - 1)
    shown = [day for day in trend.days(rows, there) if day["day"] >= first.isoformat()]
    if not shown:
        raise NothingToReportError(
            f"the rollup {options.rollup} holds no day of {first}..{last} (UTC): {kept_days.NO_ROLLUP}"
        )
    missing = question.missing_days(first, last, {day["day"] for day in shown})
    if options.json:
        answer = {
            "days": shown,
            "changes": changes[: options.top],
            "changed_producers": len(changes),
            "missing_days": missing,
            "logs": question.logs(facts),
        }
        sys.stdout.write(json.dumps(answer, indent=1) + "\n")
    else:
        doubts = list(question.sentences(facts, there, missing))
        sys.stdout.write(_text(shown, changes, doubts, options.top))
    return OK


def _text(shown: list[dict[str, Any]], changes: list[dict[str, Any]], doubts: list[str], top: int) -> str:
    lines = [f"{'day':10} {'checked':>16} {'rejected':>16} {'share':>8} {'producers':>10}"]
    lines += [
        f"{day['day']} {day['records']:>16,} {day['rejected_records']:>16,} "
        f"{words.share(day['rejected_records'], day['records']):>8} {day['producers_affected']:>10,}"
        for day in shown
    ]
    lines += doubts
    lines += [
        f"{change['kind']:>10}: {words.producer(change, 60)}, "
        f"{change['rejected_records']:,} of {change['records']:,} rejected, "
        f"{change['rejected_before']:,} of {change['records_before']:,} in the days before"
        for change in changes[:top]
    ]
    lines += question.left_out(len(changes[top:]))
    return "\n".join(lines) + "\n"
