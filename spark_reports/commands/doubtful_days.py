"""Sentences about days of the rollup whose numbers may be incomplete, for `trend` and `what-if`."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date, timedelta

from spark_reports.log.completeness import State
from spark_reports.report.history import NOT_OVER, DayFacts
from spark_reports.report.words import days_in_words


def sentences(facts: Mapping[str, DayFacts], there: Collection[str]) -> Iterator[str]:
    """One sentence for each kind of doubt. `there`: the days for which the rollup holds numbers."""
    if days := _days(facts, State.INCOMPLETE):
        yield f"The log of {days} is incomplete: the numbers are a lower bound."
    if days := _days(facts, State.COMPLETE_IN_PART):
        yield f"The log of {days} is complete only for the times at which each proxy was heard."
    if days := _days(facts, NOT_OVER):
        yield f"The report of {days} was made before the end of the day."
    if days := days_in_words(sorted(set(there) - facts.keys())):
        yield (
            f"The rollup does not say whether the log of {days} is complete: an earlier release wrote it. "
            "Run `daily --rollup` again for these days."
        )


def missing_days(first: date, last: date, there: Collection[str]) -> list[str]:
    """The days from `first` to `last`, such as `2026-11-20`, that are not in `there`."""
    days = (first + timedelta(days=n) for n in range((last - first).days + 1))
    return [day.isoformat() for day in days if day.isoformat() not in there]


def without_records(facts: Mapping[str, DayFacts]) -> list[str]:
    """The days with a report and without a record. The tables of the rollup have no rows of them."""
    return [day for day in sorted(facts) if facts[day]["records"] == 0]


def logs(facts: Mapping[str, DayFacts]) -> list[dict[str, str]]:
    """The state of the log of each day, for `--json`."""
    return [{"day": day, "state": facts[day]["state"]} for day in sorted(facts)]


def _days(facts: Mapping[str, DayFacts], state: str) -> str:
    return days_in_words([day for day in sorted(facts) if facts[day]["state"] == state])
