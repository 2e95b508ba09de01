"""The history of a report: its last day beside the seven days before it, and what the rollup keeps of a day.

`daily --rollup` keeps the DayFacts of each day beside the rollup's tables. A day without DayFacts is missing;
it never counts as a day without rejections. Plain Python, no Spark, no files.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final, TypedDict, get_type_hints

from spark_reports.log.completeness import State
from spark_reports.log.period import days_between
from spark_reports.report import links, missing, words
from spark_reports.report.causes import main_cause
from spark_reports.report.shape import DAYS_BEFORE, DayOfTrend, Report, of_row
from spark_reports.report.shape_for_readers import History, PastDay

NOT_OVER: Final = "not_over"
MISSING: Final = "missing"
_DOUBTS: Final[Mapping[str, str | None]] = {
    State.COMPLETE: None,
    State.COMPLETE_IN_PART: None,
    NOT_OVER: "not over when its report was made",
    MISSING: "missing",
}


class DayFacts(TypedDict):
    """A day as the rollup keeps it (`DIR/days/2026-11-20.json`)."""

    day: str
    state: str
    """As in PastDay, but never `missing`."""
    records: int
    rejected_records: int
    producers_affected: int
    cause: str | None
    """The cause of most rejected records. Null if there are none, or if the report had several days."""
    cause_records: int
    would_reject_records: int | None
    would_reject_producers: int | None
    """As in Totals. Null if the report had several days, or is one of an earlier release."""
    page: str | None
    """The report's page, relative to the folder of `--index`; null without that option."""
    generated_ts: str
    teams: list[str]
    """The teams that have a folder (`teams`), at most 50: the ones with most rejected records."""
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
                cause=cause[0] if cause else None,
                cause_records=cause[1] if cause else 0,
                would_reject_records=totals and totals["would_reject_records"],
                would_reject_producers=totals and totals["would_reject_producers"],
                page=page,
                generated_ts=report["generated_ts"],
                teams=teams[:_NAMED],
                processes=[[*process] for process in sorted(processes.get(day, ()))[:_NAMED]],
            )
        )
    return facts


def missing_days(history: History | None) -> list[str]:
    """The days before the last one that the rollup does not hold, after the first one that it holds."""
    days = [] if history is None else history["days"][:-1]
    known = [number for number, day in enumerate(days) if day["state"] != MISSING]
    return [day["day"] for day in days[min(known, default=len(days)) :] if day["state"] == MISSING]


def to_text(facts: DayFacts) -> str:
    return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"


def from_text(text: str) -> DayFacts | None:
    """The facts from a file of a rollup. None for anything else: the day is then missing."""
    try:
        facts = of_row(DayFacts, _ADDED | json.loads(text))
        is_day = date.fromisoformat(facts["day"]).isoformat() == facts["day"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    values: Mapping[str, Any] = facts
    is_valid = is_day and all(isinstance(values[name], kind) for name, kind in _FORM.items())
    is_valid = is_valid and all(isinstance(name, str) for name in facts["teams"])
    is_valid = is_valid and all(map(_is_pair, facts["processes"]))
    return facts if is_valid and facts["state"] in (*State, NOT_OVER) else None


_LISTS: Final = ("teams", "processes")
_ADDED: Final[Mapping[str, Any]] = {
    **{name: [] for name in _LISTS},
    "would_reject_records": None,
    "would_reject_producers": None,
}
"""The facts that files of earlier releases lack."""

_FORM: Final[Mapping[str, Any]] = get_type_hints(DayFacts) | dict.fromkeys(_LISTS, list)


def _is_pair(names: Any) -> bool:
    return isinstance(names, list) and len(names) == 2 and all(isinstance(name, str) for name in names)


def beside(facts: Mapping[str, DayFacts], day: date, new_producers: int | None) -> History:
    """The history of `day`. `facts`: by day, including the facts of `day`."""
    known = days_between(day - timedelta(days=DAYS_BEFORE), day)
    days = [_past(str(other), facts.get(str(other))) for other in known]
    return History(days=days, new_producers=new_producers)


def _past(day: str, facts: DayFacts | None) -> PastDay:
    if facts is None:
        return PastDay(day=day, state=MISSING, records=None, rejected_records=None)
    return of_row(PastDay, facts)


def share(day: PastDay) -> float:
    """The part of the day's records that was rejected, from 0 to 1."""
    return (day["rejected_records"] or 0) / day["records"] if day["records"] else 0.0


def in_words(day: PastDay) -> str:
    """The share of a day: `1.1%`."""
    return words.share(day["rejected_records"] or 0, day["records"] or 0)


def doubt(day: PastDay) -> str | None:
    """The reason why the numbers of a day are not those of a whole day; None if they are."""
    if day["records"] == 0:
        return "no records"
    return _DOUBTS.get(day["state"], "incomplete")


def page_of(facts: Mapping[str, DayFacts], day: date) -> str | None:
    """The page of a day; None if there is none. If several days have the same folder, it holds only the last
    report."""
    asked = facts.get(day.isoformat())
    page = links.relative(asked["page"]) if asked else None
    if asked is None or page is None:
        return None
    times = [other["generated_ts"] for other in facts.values() if other["page"] == asked["page"]]
    return page if max(times) <= asked["generated_ts"] else None
