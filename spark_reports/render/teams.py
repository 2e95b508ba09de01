"""The files of a team's folder: its latest day, a day with the evidence, the days as an Atom feed."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from spark_reports.log.completeness import State
from spark_reports.render import owners, pages, talk
from spark_reports.render.charts import sparkline
from spark_reports.render.document import document
from spark_reports.render.tables import CAUSE_AND_FIX, Column, Columns, mistake, name, table
from spark_reports.report import teams, words
from spark_reports.report.shape import Report
from spark_reports.report.shape_for_readers import Team
from spark_reports.report.teams import Latest, Outcome, TeamDay, TeamRow
from tsproxy.model.markup import Markup, element, join, raw

_ROWS: Final = 200
_OUTCOMES: Final[dict[Outcome, str]] = {
    "rejected": "rejected",
    "would_reject": "would be rejected",
    "far_behind": "far behind the clock",
    "repaired": "repaired",
}


def files(report: Report, team: Team, known: Latest) -> dict[str, str]:
    """The files of a team by name. `known`: its latest.json, which has the report's day."""
    return {
        teams.page_of(report["last_day"]): pages.of_team(teams.linked(report, known), team),
        teams.INDEX: index(known),
        teams.FEED: feed(known),
        teams.LATEST: teams.to_text(known),
    }


def index(known: Latest) -> str:
    """The page whose address stays: the latest day, and thirty days."""
    *_, day = known["days"]
    title = f"{words.team(known['team'])}: {_told(day)}"
    evidence = element(
        "a", f"Evidence, and a text for each owner: {day['day']}", href=teams.page_of(day["day"])
    )
    shown = known["rows"][:_ROWS]
    left = len(known["rows"]) - len(shown)
    body = join(
        element(
            "header",
            element(
                "p",
                element("b", "tsproxy"),
                f" · {words.team(known['team'])} · {day['day']} · UTC",
                class_="kicker",
            ),
            element("h1", title),
            element("p", "Channel: ", owners.channel(known["channel"])) if known["channel"] else None,
            element("p", evidence),
        ),
        element(
            "main",
            element("section", table(_COLUMNS, shown, "owners"), aria_label="Its producers")
            if shown
            else None,
            element("p", f"And {words.count(left)} more in {teams.LATEST}.", class_="more") if left else None,
            _month(known["days"]),
        ),
        element(
            "footer",
            element(
                "p", "For programs: ", _link(teams.LATEST), ". For a feed reader: ", _link(teams.FEED), "."
            ),
        ),
    )
    return document(f"tsproxy {title}", body)


def _told(day: TeamDay) -> str:
    """The subject without the day, and whether it is a lower bound."""
    at_least = ", at least (the log is incomplete)" if day["state"] == State.INCOMPLETE else ""
    return f"{day['subject'].partition(': ')[2]}{at_least}"


def _link(file: str) -> Markup:
    return element("a", file, href=file)


_COLUMNS: Final[Columns[TeamRow]] = (
    name("Producer", lambda row: words.producer(row, 60), "client"),
    mistake(talk.WHAT_TO_DO, CAUSE_AND_FIX),
    Column("Since", None, lambda row: _since(row["since"])),
    Column("Outcome", lambda row: _OUTCOMES.get(row["outcome"], row["outcome"])),
    Column("#Records", lambda row: words.count(row["records"])),
)


def _since(since: str | None) -> str:
    """A day, or a time of the latest day."""
    return "–" if since is None else since[11:16] or since


def _month(days: Sequence[TeamDay]) -> Markup:
    """Thirty small bars for each outcome that there is, then the days as links, the newest first."""
    by_day, last = {day["day"]: day for day in days}, date.fromisoformat(days[-1]["day"])
    month = [str(last - timedelta(days=n)) for n in range(teams.DAYS - 1, -1, -1)]
    bars = []
    for outcome, text in _OUTCOMES.items():
        counts = [day[f"{outcome}_records"] for day in days]  # type: ignore[literal-required]  # keys of TeamDay
        if any(counts) or outcome == "rejected":
            label = f"{text}: {words.many(sum(counts), 'record')} on {words.many(len(days), 'day')}"
            by_date = dict(zip(by_day, counts, strict=True))
            line = sparkline([by_date.get(day, 0) for day in month], label)
            bars.append(element("li", line, element("span", words.sentence(label), class_="soft")))
    listed = [
        element("li", element("a", day["day"], href=teams.page_of(day["day"])), f" {_told(day)}")
        for day in reversed(days)
    ]
    return element(
        "section",
        element("h2", f"{month[0]} to {month[-1]}", id="days"),
        element("ul", *bars, class_="month"),
        element("ul", *listed, class_="month days"),
        aria_labelledby="days",
    )


def feed(known: Latest) -> str:
    """The days as an Atom feed (RFC 4287), the newest first."""
    base = known["page"].rpartition("/")[0] + "/" if known["page"] else ""
    own = teams.folder_of(known["team"])
    entries = [
        element(
            "entry",
            element("id", _urn(own, day["day"])),
            element("title", words.short(day["subject"])),
            element("updated", day["generated_ts"]),
            element("link", href=f"{base}{teams.page_of(day['day'])}"),
            element("summary", words.sentence(_told(day))),
        )
        for day in reversed(known["days"])
    ]
    return raw('<?xml version="1.0" encoding="utf-8"?>\n') + element(
        "feed",
        element("id", _urn(own, "")),
        element("title", f"tsproxy: {words.team(known['team'])}"),
        element("author", element("name", "tsproxy")),
        element("updated", max(day["generated_ts"] for day in known["days"])),
        element("link", rel="self", href=f"{base}{teams.FEED}"),
        *entries,
        xmlns="http://www.w3.org/2005/Atom",
    )


def _urn(folder: str, day: str) -> str:
    """The id of a feed or an entry: the same wherever the folder is."""
    return uuid5(NAMESPACE_URL, f"tsproxy/{folder}/{day}").urn
