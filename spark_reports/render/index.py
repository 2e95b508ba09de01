"""index.html: the days of a rollup, one row each, with links to their reports, and to the teams' folders."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Final

from spark_reports.log.completeness import State
from spark_reports.render.document import document
from spark_reports.render.tables import of_cells, table
from spark_reports.report import history, teams, words
from spark_reports.report.history import DayFacts
from tsproxy.model.markup import Content, Markup, element, join

_COLUMNS: Final = of_cells("Day", "Log", "#Records", "Rejected", "#Producers rejected", "Largest cause")
_LOG_WORDS: Final = {
    State.COMPLETE: "complete",
    State.COMPLETE_IN_PART: "complete in part",
    State.INCOMPLETE: "incomplete",
    history.NOT_OVER: "day not over",
}
_DAY: Final = timedelta(days=1)


def render(facts: Mapping[str, DayFacts]) -> str:
    """The page. `facts`: by day."""
    days = sorted((date.fromisoformat(day) for day in facts), reverse=True)
    title = "tsproxy daily reports"
    span = f"{days[-1]} to {days[0]}" if days else "no day yet"
    rows = list(_rows(facts, days))
    body = join(
        element(
            "header",
            element("p", element("b", "tsproxy"), f" · {span} · UTC", class_="kicker"),
            element("h1", "Daily reports"),
            _teams(facts[str(days[0])]) if days else None,
        ),
        element(
            "main",
            element("section", table(_COLUMNS, rows, "index"), aria_label="Days")
            if rows
            else element("p", "The rollup holds no day.", class_="none"),
        ),
    )
    return document(f"{title}: {span}", body)


def _teams(own: DayFacts) -> Markup | None:
    """Links to the folders of the teams; None without any."""
    shown = [
        element("a", words.short(team, 80), href=f"{teams.FOLDER}/{teams.folder_of(team)}/{teams.INDEX}")
        for team in own["teams"]
    ]
    return element("nav", "Teams: ", *shown, aria_label="Teams") if shown else None


def _rows(facts: Mapping[str, DayFacts], days: list[date]) -> Iterator[tuple[Content, ...]]:
    """A row for each day, the newest first. Consecutive days that the rollup does not hold share one row."""
    shares = [own["rejected_records"] / own["records"] for own in facts.values() if own["records"]]
    most = max(shares, default=0.0) or 1.0
    for number, day in enumerate(days):
        if number and days[number - 1] - day > _DAY:
            yield _missing(day + _DAY, days[number - 1] - _DAY)
        yield _cells(facts, day, most)


def _missing(first: date, last: date) -> tuple[Content, ...]:
    days = f"{first}" if first == last else f"{first} to {last}"
    return (days, element("span", "missing in the rollup", class_="soft"), "–", "–", "–", "–")


def _cells(facts: Mapping[str, DayFacts], day: date, most: float) -> tuple[Content, ...]:
    own = facts[day.isoformat()]
    page = history.page_of(facts, day)
    state = _LOG_WORDS.get(own["state"], own["state"])
    return (
        element("a", own["day"], href=page) if page else own["day"],
        element("span", state, class_=None if own["state"] == State.COMPLETE else "amber"),
        words.count(own["records"]),
        _rejected(own, most),
        words.count(own["producers_affected"]),
        _cause(own),
    )


def _rejected(own: DayFacts, most: float) -> Content:
    """The share of a day; `most`: the largest of all days, which has the longest bar."""
    if not own["records"]:
        return "–"
    rejected, records, would = own["rejected_records"], own["records"], own["would_reject_records"]
    width = f"width:{min(100.0, max(0.0, 100 * rejected / records / most)):.1f}%"
    return join(
        f"{words.share(rejected, records)} ({words.count(rejected)})",
        element("div", element("span", style=width), class_="meter") if rejected > 0 else None,
        element("div", f"{words.count(would)} would be", class_="soft") if would else None,
    )


def _cause(own: DayFacts) -> Markup | str:
    if own["cause"] is None:
        return "–"
    part = words.share(own["cause_records"], own["rejected_records"])
    return join(words.short(own["cause"], 120), " ", element("span", part, class_="soft"))
