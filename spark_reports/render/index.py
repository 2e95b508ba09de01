"""index.html: the days of a rollup, one row each, with links to their reports, and to the teams' folders."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Final

from spark_reports.log.completeness import State
from spark_reports.render import drawings, html, parts
from spark_reports.report import history, teams, words
from spark_reports.report.history import DayFacts
from tsproxy.model.markup import Markup

_LOG_WORDS: Final = {
    State.COMPLETE: "complete",
    State.COMPLETE_IN_PART: "complete in part",
    State.INCOMPLETE: "incomplete",
    history.NOT_OVER: "day not over",
}
_DAY: Final = timedelta(days=1)


_HEADS: Final = ("Day", "Log", "#Records", "Rejected", "#Producers rejected", "Largest cause")


def render(facts: Mapping[str, DayFacts]) -> str:
    """The page. `facts`: by day."""
    days = sorted((date.fromisoformat(day) for day in facts), reverse=True)
    span = f"{days[-1]} to {days[0]}" if days else "no day yet"
    table = parts.table("index", _HEADS, list(_rows(facts, days)))
    none = parts.paragraph("The rollup holds no day.", "none")
    return html.write(
        parts.Page(
            title=f"tsproxy daily reports: {span}",
            kicker=f" · {span} · UTC",
            headline="Daily reports",
            head=[_teams(facts[str(days[0])]) if days else None],
            sections=[parts.section("index", "Days", [table], has_head=False) if days else none],
        )
    )


def _teams(day: DayFacts) -> Markup | None:
    """Links to the folders of the teams; None without any."""
    shown = [
        parts.text(words.short(team, 80), link=f"{teams.FOLDER}/{teams.folder_of(team)}/{teams.INDEX}")
        for team in day["teams"]
    ]
    return parts.links("Teams", ["Teams: ", *shown]) if shown else None


def _rows(facts: Mapping[str, DayFacts], days: list[date]) -> Iterator[tuple[parts.Content, ...]]:
    """A row for each day, the newest first. Consecutive days that the rollup does not hold share one row."""
    shares = [day["rejected_records"] / day["records"] for day in facts.values() if day["records"]]
    most = max(shares, default=0.0) or 1.0
    for number, day in enumerate(days):
        if number and days[number - 1] - day > _DAY:
            first, last = day + _DAY, days[number - 1] - _DAY
            span = f"{first}" if first == last else f"{first} to {last}"
            yield span, parts.text("missing in the rollup", "soft"), *("–",) * 4
        yield _cells(facts[str(day)], history.page_of(facts, day), most)


def _cells(day: DayFacts, page: str | None, most: float) -> tuple[parts.Content, ...]:
    state = _LOG_WORDS.get(day["state"], day["state"])
    return (
        parts.text(day["day"], link=page) if page else day["day"],
        parts.text(state, "" if day["state"] == State.COMPLETE else "amber"),
        day["records"],
        _rejected(day, most),
        day["producers_affected"],
        _cause(day),
    )


def _rejected(day: DayFacts, most: float) -> parts.Content:
    """The share of a day; `most`: the largest of all days, which has the longest bar."""
    if not day["records"]:
        return "–"
    rejected, would = day["rejected_records"], day["would_reject_records"]
    return (
        f"{words.share(rejected, day['records'])} ({words.count(rejected)})",
        drawings.meter(rejected / day["records"], most) if rejected > 0 else None,
        parts.below(f"{words.count(would)} would be") if would else None,
    )


def _cause(day: DayFacts) -> parts.Content:
    if day["cause"] is None:
        return "–"
    part = words.share(day["cause_records"], day["rejected_records"])
    return f"{words.short(day['cause'], 120)} ", parts.text(part, "soft")
