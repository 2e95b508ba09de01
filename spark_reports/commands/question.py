"""The questions of `trend` and `what-if`: about which producers, each as its application, and what the rollup
cannot say about the days."""

import argparse
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from functools import cache, partial
from typing import TYPE_CHECKING

from spark_reports.errors import UsageError
from spark_reports.log.completeness import State
from spark_reports.log.period import days_between
from spark_reports.report import owners
from spark_reports.report.applications import name_of
from spark_reports.report.history import NOT_OVER, DayFacts
from spark_reports.report.owners import Owners, OwnersError
from spark_reports.report.words import days_in_words, many

if TYPE_CHECKING:
    from spark_reports.report.table_source import TableSource


def owners_of(options: argparse.Namespace) -> Owners:
    """The owners of `--owners`; none without it. Raises UsageError for a mistake in the file, and for a team
    that it lacks."""
    from spark_reports.report import stored  # pyarrow, which other commands do without

    try:
        path = options.owners
        known = owners.parse(stored.text(path), path) if isinstance(path, str) else path or Owners(())
    except OwnersError as error:
        raise UsageError(str(error)) from error
    teams = dict.fromkeys(entry.team for entry in known.entries)
    if options.team is not None and options.team not in teams:
        raise UsageError(f"--team {options.team!r}: --owners has {', '.join(teams) or 'no team'}")
    of_topics = next((entry.clients.place for entry in known.entries if entry.clients.topics), None)
    if options.team is not None and of_topics is not None:
        raise UsageError(
            f"--team asks about clients, and {of_topics} of --owners has topics: ask by --client"
        )
    return known


def asked(rows: "TableSource", team: str | None, known: Owners) -> "TableSource":
    """The rows about clients of `--team`, each as its application; all rows without it."""

    @cache
    def is_asked(client_id: str | None, principal: str | None) -> bool:
        return known.team_of({"client_id": client_id, "principal": principal}) == team

    of_team = rows if team is None else rows.where(is_asked)
    return of_team.of_applications(partial(name_of, entries=known.applications))


def sentences(
    facts: Mapping[str, DayFacts], there: Collection[str], missing: Sequence[str] = ()
) -> Iterator[str]:
    """One sentence for each kind of doubt. `there`: the days for which the rollup holds numbers; `missing`:
    those of which it holds nothing."""
    if missing:
        yield f"The rollup holds nothing of {days_in_words(missing)}."
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


def left_out(number: int) -> list[str]:
    """A sentence about producers beyond `--top`; nothing if there are none."""
    return [f"And {many(number, 'more producer')}; --top N lists more."] if number else []


def missing_days(first: date, last: date, there: Collection[str]) -> list[str]:
    """The days from `first` to `last`, such as `2026-11-20`, that are not in `there`."""
    return [day for day in map(str, days_between(first, last)) if day not in there]


def without_records(facts: Mapping[str, DayFacts]) -> list[str]:
    """The days with a report and without a record. The tables of the rollup have no rows of them."""
    return [day for day in sorted(facts) if facts[day]["records"] == 0]


def logs(facts: Mapping[str, DayFacts]) -> list[dict[str, str]]:
    """The state of the log of each day, for `--json`."""
    return [{"day": day, "state": facts[day]["state"]} for day in sorted(facts)]


def _days(facts: Mapping[str, DayFacts], state: str) -> str:
    return days_in_words([day for day in sorted(facts) if facts[day]["state"] == state])
