"""`spark_reports what-if`: the records that other limits would have rejected, from a rollup of `daily`."""

import argparse
import json
import re
import sys
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from spark_reports import arguments
from spark_reports.commands import question
from spark_reports.errors import NothingToReportError
from spark_reports.log.period import period_text
from spark_reports.report import kept_days, what_if, words
from spark_reports.report.groups import TOTALS
from spark_reports.report.what_if import Between, Beyond
from tsproxy.model.exits import OK

if TYPE_CHECKING:
    from spark_reports.report.table_source import TableSource

_EXAMPLES: Final = """examples:
  spark_reports what-if --rollup s3a://lake/rollup --date 2026-11-20 --after 1h
  spark_reports what-if --rollup rollup --date 2026-11-20 --before 7d --topic 'orders-*'
"""
_UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def add(commands: arguments.Commands) -> None:
    parser = arguments.add_command(
        commands, "what-if", "show what other limits would have rejected", _EXAMPLES
    )
    arguments.add_question(parser)
    for side, name in (("after", "ahead"), ("before", "behind")):
        parser.add_argument(
            f"--{side}", type=_duration_ms, metavar="LIMIT", help=f"how far {name} a record may be, e.g. 1h"
        )
    parser.add_argument("--topic", metavar="GLOB", help="only these topics")
    parser.add_argument("--client", metavar="GLOB", help="only these client ids")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the answer. Without limits, it is a table of the limits that people use."""
    from spark_reports.report import stored  # pyarrow, which other commands do without

    owners = question.owners_of(options)
    first, last = arguments.period_of(options)
    facts = stored.days(options.rollup, first, last)
    judged, timed = (stored.days_of(options.rollup, name, first, last) for name in ("producers", "drift"))
    empty = set(question.without_records(facts))
    there = timed | judged | empty
    drift = stored.drift(options.rollup, first, last, options.topic, options.client)
    drift = question.asked(drift, options.team, owners)
    if not len(drift.rows):
        raise NothingToReportError(_nothing(options, first, last, there))
    answer = _answer(drift, options.after, options.before, options.top)
    missing, untimed = question.missing_days(first, last, there), sorted(judged - timed - empty)
    answer["missing_days"] = sorted({*missing, *untimed})
    answer["logs"] = question.logs(facts)
    doubts = [*question.sentences(facts, there, missing), *_untimed(untimed)]
    sys.stdout.write(json.dumps(answer, indent=1) + "\n" if options.json else _text(answer, doubts))
    return OK


def _nothing(options: argparse.Namespace, first: date, last: date, there: set[str]) -> str:
    """The error text for a question without an answer; `there`: the days that the rollup holds."""
    period = period_text(first, last)
    if not there:
        return f"the rollup {options.rollup} holds nothing of {period} (UTC): {kept_days.NO_ROLLUP}"
    globs = (("--topic", options.topic), ("--client", options.client), ("--team", options.team))
    only = " and ".join(f"{name} {glob!r}" for name, glob in globs if glob)
    if not only:
        return f"the rollup {options.rollup} holds no records with timestamps of {period}"
    return f"the rollup {options.rollup} holds {period}, but no records with timestamps of {only}"


def _untimed(days: list[str]) -> list[str]:
    """A sentence about days with records that are not in the answer: none of them has a timestamp, or a run
    was killed while it wrote the day."""
    return [f"The rollup holds no records with timestamps of {words.days_in_words(days)}."] if days else []


def _answer(drift: "TableSource", after_ms: int | None, before_ms: int | None, top: int) -> dict[str, Any]:
    totals = drift.table(TOTALS)
    batches, records = what_if.whole(totals)
    nothing = Beyond(batches=Between(at_least=0, at_most=0), records=Between(at_least=0, at_most=0))
    ahead = nothing if after_ms is None else what_if.beyond(totals, "ahead", after_ms)
    behind = nothing if before_ms is None else what_if.beyond(totals, "behind", before_ms)
    past = what_if.by_client(drift, after_ms, before_ms)
    return {
        "batches": batches,
        "records": records,
        "records_left_out": what_if.left_out(totals),
        "after_ms": after_ms,
        "before_ms": before_ms,
        "ahead": ahead,
        "behind": behind,
        "either": what_if.either(ahead, behind, batches, records),
        "producers": past[:top],
        "producers_left_out": len(past[top:]),
        "curve": {side: what_if.curve(totals, side) for side in what_if.SIDES},
    }


def _text(answer: dict[str, Any], doubts: list[str]) -> str:
    whole = answer["records"]
    batches = words.many(answer["batches"], "batch", "batches")
    lines = [f"{words.many(whole, 'record')} with timestamps, in {batches}."]
    lines += words.left_out(answer["records_left_out"])
    lines += doubts
    if answer["after_ms"] is None and answer["before_ms"] is None:
        lines += [f"{'limit':>8} {'farther ahead':>24} {'farther behind':>24}"]
        for ahead, behind in zip(answer["curve"]["ahead"], answer["curve"]["behind"], strict=True):
            cells = [
                f"{side['records']:,} ({words.share(side['records'], whole)})" for side in (ahead, behind)
            ]
            lines.append(f"{words.duration(ahead['limit_ms']):>8} {cells[0]:>24} {cells[1]:>24}")
        return "\n".join(lines) + "\n"
    for name, side in (("after", "ahead"), ("before", "behind")):
        if (limit_ms := answer[f"{name}_ms"]) is not None:
            limit = f"{name} {words.duration(limit_ms)}"
            lines.append(f"{limit:>16}: {_between(answer[side]['records'], whole)} would be rejected")
    either = answer["either"]["records"]
    lines.append(f"{'either':>16}: {_between(either, whole)}")
    at_least = "at least " if either["at_least"] < either["at_most"] else ""
    lines += [
        f"{words.producer(row, 40):>40}: {at_least}{words.many(row['records'], 'record')}"
        for row in answer["producers"]
    ]
    lines += question.left_out(answer["producers_left_out"])
    return "\n".join(lines) + "\n"


def _between(records: Between, whole: int) -> str:
    low, high = records["at_least"], records["at_most"]
    share = f" ({words.share(low, whole)})" if whole else ""
    if low == high:
        return f"{low:,}{share} {'record' if low == 1 else 'records'}"
    return f"between {low:,}{share} and {words.many(high, 'record')}"


def _duration_ms(text: str) -> int:
    duration = re.fullmatch(r"(\d{1,12})(ms|s|m|h|d)", text)
    if duration is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 250ms, 10s, 1h or 7d")
    return int(duration[1]) * _UNITS_MS[duration[2]]
