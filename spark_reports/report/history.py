"""The history of a report: its last day beside the seven days before it, and what the rollup keeps of a day.

`daily --rollup` keeps the DayFacts of each day beside the rollup's tables. A day without DayFacts is missing;
it never counts as a day without rejections. A day is compared if it is over, if it had records, and if its
log lacks nothing from the times at which proxies wrote heartbeats, or too little to matter (_LACKS_PERCENT).
Plain Python, no Spark, no files.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from spark_reports.log.completeness import LogQuality, State
from spark_reports.log.period import day_of, days_between
from spark_reports.report import links, missing, words
from spark_reports.report.causes import main_cause
from spark_reports.report.shape import (
    DAYS_BEFORE,
    DayOfTrend,
    History,
    PastDay,
    Report,
    Usual,
    from_json,
    of_row,
)
from spark_reports.report.trend import LEAST_RECORDS

_LACKS_PERCENT: Final = 1
"""A log that lacks at most this part of its lines and of its time is compared, too. In a fleet, some process
is killed every day: that leaves at most one interval uncounted."""

_DAY_MS: Final = 86_400_000
_ALIKE_PERCENT: Final = 25
"""A share is as usual if it differs from the median by at most this percentage of the median."""

NOT_OVER: Final = "not_over"
MISSING: Final = "missing"
STATE_WORDS: Final[Mapping[str, str]] = {
    State.INCOMPLETE: "incomplete",
    NOT_OVER: "not over when its report was made",
    MISSING: "missing",
}
DIRECTION_WORDS: Final[Mapping[str, str]] = {
    "better": "better than usual",
    "worse": "worse than usual",
    "as_usual": "as usual",
}


class DayFacts(DayOfTrend):
    """A day as the rollup keeps it (`DIR/days/2026-11-20.json`)."""

    state: str
    """As in PastDay, but never `missing`."""
    is_compared: bool
    cause: str | None
    """The cause of most rejected records. Null if there are none, or if the report had several days."""
    cause_records: int
    would_reject_records: int | None
    would_reject_producers: int | None
    """As in Totals. Null if the report had several days, or is one of an earlier release."""
    page: str | None
    """The report's page, relative to the folder of the index; null for a report alone."""
    generated_ts: str
    teams: list[str]
    """The teams that have a folder (`teams`), the ones with most rejected records first."""
    processes: list[list[str]]
    """Proxy and boot of the processes that wrote the day's log, at most 50. A log that lacks one of them is
    another one."""


_NAMED: Final = 50


def of_report(
    report: Report,
    days: Sequence[DayOfTrend],
    page: str | None,
    processes: Mapping[str, Collection[tuple[str, str]]] = {},
) -> list[DayFacts]:
    """The facts of each day of a report. `days`: the days of the rollup; only days of the report are used.
    `processes`: proxy and boot of those that wrote the log, by day.

    Completeness is known only for the log of all days of a report together. So, in a report of several days,
    a day without a record is left out unless the whole log is complete: proxies may have written nothing on
    that day.
    """
    first, last = (date.fromisoformat(report[key]) for key in ("first_day", "last_day"))
    counted = {row["day"]: row for row in days}
    state = missing.state(report["log"])
    is_one_day = first == last
    cause = main_cause(report["reasons"]) if is_one_day else None
    owned, totals = report["owners"], report["totals"] if is_one_day else None
    teams = [row["team"] for row in owned["teams"] if row["team"]] if owned and is_one_day else []
    facts = []
    for day in map(str, days_between(first, last)):
        if day not in counted and not is_one_day and state is not State.COMPLETE:
            continue
        counts = counted.get(day) or DayOfTrend(day=day, records=0, rejected_records=0, producers_affected=0)
        is_over = report["generated_ts"][:10] > day
        facts.append(
            of_row(
                DayFacts,
                counts,
                state=state if is_over else NOT_OVER,
                is_compared=is_over and counts["records"] > 0 and is_whole(report["log"], first, last),
                cause=cause[0] if cause else None,
                cause_records=cause[1] if cause else 0,
                would_reject_records=totals and totals["would_reject_records"],
                would_reject_producers=totals and totals["would_reject_producers"],
                page=page,
                generated_ts=report["generated_ts"],
                teams=teams,
                processes=[[*process] for process in sorted(processes.get(day, ()))[:_NAMED]],
            )
        )
    return facts


def is_whole(log: LogQuality, first: date, last: date) -> bool:
    """True if nothing is missing from the times at which proxies wrote heartbeats, or too little to
    matter.

    The number of killed processes says nothing: each one leaves at most an interval uncounted. If its proxy
    is not heard afterwards, its last lines may not have come, so that time counts as well.
    """
    if missing.state(log) is not State.INCOMPLETE:
        return True
    uncounted = log["missing_intervals"] + log["silent_boots"]
    parts = (
        (log["lost_lines"] + log["lines_unusable"], log["lines"]),
        (uncounted, log["intervals"]),
        (sum(_unheard_ms(log)), ((last - first).days + 1) * _DAY_MS * log["proxies"]),
    )
    return all(100 * part <= _LACKS_PERCENT * whole for part, whole in parts)


def _unheard_ms(log: LogQuality) -> Iterator[int]:
    """The times without a heartbeat that follow a process without a stop line, at its proxy."""
    for boot in log["silent"]:
        after = boot["counted_to_ts"] or boot["last_ts"]
        for span in log["unheard"]:
            if span["proxy"] == boot["proxy"] and span["to_ts"] > after:
                yield words.epoch_ms(span["to_ts"]) - words.epoch_ms(max(span["from_ts"], after))


_ADDED: Final[Mapping[str, object]] = {
    "teams": [],
    "processes": [],
    "would_reject_records": None,
    "would_reject_producers": None,
}
"""The facts that files of earlier releases lack."""


def from_text(text: str) -> DayFacts | None:
    """The facts from a file of a rollup. None for anything else: the day is then missing."""
    facts = from_json(DayFacts, text, _ADDED)
    if facts is None or day_of(facts["day"]) is None or facts["state"] not in (*State, NOT_OVER):
        return None
    return facts if all(len(process) == 2 for process in facts["processes"]) else None


def compared(facts: Mapping[str, DayFacts], day: date, new_producers: int | None) -> History:
    """The history of `day`. `facts`: by day, including the facts of `day`. `new_producers` is None if no day
    before is known."""
    known = days_between(day - timedelta(days=DAYS_BEFORE), day)
    days = [_past(str(other), facts.get(str(other))) for other in known]
    *before, today = days
    usual = _usual(before) if today["is_compared"] else None
    direction = _direction(today, usual["share_of"]) if usual else "not_compared"
    first = min(facts, default=str(day))
    return History(
        days=days,
        missing_days=[each["day"] for each in before if each["state"] == MISSING and each["day"] > first],
        direction=direction,
        usual=usual,
        sentence=_sentence(days, usual, direction, new_producers),
    )


def _past(day: str, facts: DayFacts | None) -> PastDay:
    if facts is None:
        return PastDay(day=day, state=MISSING, is_compared=False, records=None, rejected_records=None)
    return of_row(PastDay, facts)


def _counts(day: PastDay) -> tuple[int, int]:
    """Rejected records, and all that were judged."""
    return day["rejected_records"] or 0, day["records"] or 0


def share(day: PastDay) -> float:
    """The part of the day's records that was rejected, from 0 to 1."""
    rejected, records = _counts(day)
    return rejected / records if records else 0.0


def _usual(before: Iterable[PastDay]) -> Usual | None:
    """The medians of the days that can be compared; None if there are none."""
    known = [day for day in before if day["is_compared"]]
    if not known:
        return None
    middle = (len(known) - 1) // 2
    return Usual(
        days=len(known),
        rejected_records=sorted(_counts(day)[0] for day in known)[middle],
        share_of=sorted(known, key=share)[middle],
    )


def _direction(today: PastDay, usual: PastDay) -> str:
    (rejected, records), (rejected_before, records_before) = _counts(today), _counts(usual)
    now, before = rejected * records_before, rejected_before * records  # the shares, times both wholes
    if abs(now - before) * 100 <= _ALIKE_PERCENT * before:
        return "as_usual"
    return "worse" if now > before else "better"


def _sentence(days: Sequence[PastDay], usual: Usual | None, direction: str, new_producers: int | None) -> str:
    *before, today = days
    if usual is None:
        return " ".join(["Not compared with the days before.", *_why_not(today, before)])
    median = f"{in_words(usual['share_of'])} ({words.count(usual['rejected_records'])})"
    parts = [
        f"{words.sentence(DIRECTION_WORDS[direction])}: {in_words(today)} of the records of "
        f"{today['day']} were rejected ({words.count(today['rejected_records'] or 0)})",
        f"{median} in the median of {words.many(usual['days'], 'day')} before",
        *([f"{in_words(before[-1])} on the day before"] if before[-1]["is_compared"] else []),
    ]
    new = [] if new_producers is None else [f"{_new(new_producers)}."]
    return " ".join([f"{', '.join(parts)}.", *new, *_nearly_whole(before), *_left_out(before)])


def in_words(day: PastDay) -> str:
    """The share of a day: `1.1%`."""
    return words.share(*_counts(day))


def _nearly_whole(before: Sequence[PastDay]) -> list[str]:
    """A sentence about incomplete days that are compared; nothing if there are none."""
    count = sum(day["is_compared"] and day["state"] == State.INCOMPLETE for day in before)
    if not count:
        return []
    are = "is" if count == 1 else "are"
    return [f"Of these days, {words.count(count)} {are} incomplete, by at most {_LACKS_PERCENT}%."]


def _new(count: int) -> str:
    producers, least = words.many(count, "producer"), words.many(LEAST_RECORDS, "rejected record")
    are = "are" if count > 1 else "is"
    return f"{producers if count else 'No producer'} with {least} or more {are} new"


def _why_not(today: PastDay, before: Sequence[PastDay]) -> list[str]:
    if not today["is_compared"]:
        is_bound = today["records"] and today["state"] == State.INCOMPLETE
        at_least = f"; at least {words.many(_counts(today)[0], 'record')} rejected" if is_bound else ""
        return [f"The day itself: {reason(today)}{at_least}."]
    return _left_out(before)


def _left_out(before: Sequence[PastDay]) -> list[str]:
    """A sentence that names the days that are not compared, with the reason; nothing if there are none."""
    left_out = [day for day in before if not day["is_compared"]]
    if not left_out:
        return []
    named = ", ".join(f"{day['day']} ({reason(day)})" for day in left_out)
    return [f"Left out: {named}."]


def reason(day: PastDay) -> str:
    """The reason why a day is not compared."""
    if day["records"] == 0:
        return "no records"
    return STATE_WORDS.get(day["state"], day["state"])


def page_of(facts: Mapping[str, DayFacts], day: date) -> str | None:
    """The page of a day; None if there is none. If several days have the same folder, it holds only the last
    report."""
    asked = facts.get(day.isoformat())
    page = links.relative(asked["page"]) if asked else None
    if asked is None or page is None:
        return None
    times = [other["generated_ts"] for other in facts.values() if other["page"] == asked["page"]]
    return page if max(times) <= asked["generated_ts"] else None
