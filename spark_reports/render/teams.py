"""The files of a team's folder: its latest day, a day with the evidence, the days as an Atom feed."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from spark_reports.log.completeness import State
from spark_reports.render import clients, day, drawings, html, parts, places, producers, worst
from spark_reports.report import teams, words
from spark_reports.report.shape import Producer, Report, Team, to_json
from spark_reports.report.teams import Latest, TeamDay
from tsproxy.model.markup import Markup, element, raw

_ROWS: Final = 200


def files(report: Report, team: Team, known: Latest) -> dict[str, str]:
    """The files of a team by name. `known`: its latest.json, which has the report's day."""
    return {
        teams.page_of(report["last_day"]): page(teams.linked(report, known), team),
        teams.INDEX: index(known),
        teams.FEED: feed(known),
        teams.LATEST: to_json(known),
    }


def page(report: Report, team: Team) -> str:
    """The page of a team: its producers with their evidence and texts, and what would be rejected. Nothing on
    it is of another team, if `report` has the links of `report.teams.linked`."""
    shown = [producer for producer in report["producers"] if producer.get("team") == team["team"]]
    would_reject = [row for row in report["would_reject"] if row["team"] == team["team"]]
    repaired = [row for row in report["repaired"] if row["team"] == team["team"]]
    would = clients.how_many(team["would_reject_records"], team["would_reject_producers"])
    rejected = clients.how_many(team["rejected_records"], team["producers"])
    title = f"{words.team(team['team'])}: {rejected} rejected" + (
        f", {would} would be." if would != "nothing" else "."
    )
    channel = parts.paragraph(("Channel: ", places.channel(team["channel"]))) if team["channel"] else None
    head = [parts.paragraph(words.short(report["log"]["sentence"], 2_000), "soft"), channel]
    whole = team["producers"], team["rejected_records"]

    def made(rows: int) -> parts.Page:
        sections = [
            *_of_producers(report, shown, whole, rows),
            *clients.sections(team, would_reject, repaired, team["repaired_records"], rows),
        ]
        return day.of_report(report, title, head, sections, day.neighbours(report))

    return html.fitting(made)


def _of_producers(report: Report, all_: Sequence[Producer], whole: tuple[int, int], rows: int) -> parts.Parts:
    """The first `rows` producers: whom to talk to, and their evidence. `whole`: the number of all of them,
    listed or not, and their rejected records."""
    shown = all_[:rows]
    left, rejected = whole[0] - len(shown), whole[1] - sum(row["rejected_records"] for row in shown)
    records = words.many(rejected, "rejected record")
    rest = parts.more(left, "producer", f" with {records}, not listed")
    if not shown:
        return [parts.section("producers", "Its producers", [rest])]
    talk = worst.talk(report, shown, {*map(places.producer_id, shown)}, has_teams=False)
    return [
        parts.section("talk", "Whom to talk to", [talk]),
        parts.section(
            "producers",
            f"Evidence, and a text for each owner: {words.many(whole[0], 'producer')}",
            [producers.lines(report, shown), rest],
        ),
    ]


def index(known: Latest) -> str:
    """The page whose address stays: the latest day, and thirty days."""
    *_, day = known["days"]
    team = words.team(known["team"])
    title = f"{team}: {_told(day)}"
    evidence = parts.text(
        f"Evidence, and a text for each owner: {day['day']}", link=teams.page_of(day["day"])
    )
    channel = parts.paragraph(("Channel: ", places.channel(known["channel"]))) if known["channel"] else None
    rows = [
        (
            parts.text(words.producer(row, 60), "client"),
            parts.mistake(row["cause"], row["fix"]),
            _since(row["since"]),
            teams.OUTCOMES.get(row["outcome"], row["outcome"]),
            row["records"],
        )
        for row in known["rows"]
    ]
    table = parts.table(
        "owners", ("Producer", worst.WHAT_TO_DO, "Since", "Outcome", "#Records"), rows[:_ROWS]
    )
    return html.write(
        parts.Page(
            title=f"tsproxy {title}",
            kicker=f" · {team} · {day['day']} · UTC",
            headline=title,
            head=[channel, parts.paragraph(evidence)],
            sections=[
                parts.section("team", "Its producers", [table], has_head=False),
                parts.more(len(rows) - _ROWS, where=f" in {teams.LATEST}"),
                _month(known["days"]),
            ],
            foot=("For programs: ", _link(teams.LATEST), ". For a feed reader: ", _link(teams.FEED), "."),
        )
    )


def _told(day: TeamDay) -> str:
    """The subject without the day. One that an older release made does not say that it is a lower bound."""
    told = day["subject"].partition(": ")[2].removesuffix(teams.AT_LEAST)
    return f"{told}{teams.AT_LEAST if day['state'] == State.INCOMPLETE else ''}"


def _link(file: str) -> Markup:
    return parts.text(file, link=file)


def _since(since: str | None) -> str:
    """A day, or a time of the latest day."""
    return "–" if since is None else since[11:16] or since


def _month(days: Sequence[TeamDay]) -> Markup | None:
    """Thirty small bars for each outcome that there is, then the days as links, the newest first."""
    last = date.fromisoformat(days[-1]["day"])
    month = [str(last - timedelta(days=n)) for n in range(teams.DAYS - 1, -1, -1)]
    bars: list[parts.Content] = []
    for outcome, text in teams.OUTCOMES.items():
        counts = {day["day"]: day[f"{outcome}_records"] for day in days}  # type: ignore[literal-required]  # keys of TeamDay
        records = sum(counts.values())
        if records or outcome == "rejected":
            label = f"{text}: {words.many(records, 'record')} on {words.many(len(days), 'day')}"
            line = drawings.spark([counts.get(day, 0) for day in month], label)
            bars.append((line, parts.text(words.sentence(label), "soft")))
    listed = [
        (parts.text(day["day"], link=teams.page_of(day["day"])), f" {_told(day)}") for day in reversed(days)
    ]
    title = f"{month[0]} to {month[-1]}"
    return parts.section("days", title, [parts.bullets(bars, "month"), parts.bullets(listed, "month days")])


def feed(known: Latest) -> str:
    """The days as an Atom feed (RFC 4287), the newest first."""
    base = known["page"].rpartition("/")[0] + "/" if known["page"] else ""
    entries = [
        element(
            "entry",
            element("id", _urn(known, day["day"])),
            element("title", words.short(day["subject"])),
            element("updated", day["generated_ts"]),
            element("link", href=f"{base}{teams.page_of(day['day'])}"),
            element("summary", words.sentence(_told(day))),
        )
        for day in reversed(known["days"])
    ]
    return raw('<?xml version="1.0" encoding="utf-8"?>\n') + element(
        "feed",
        element("id", _urn(known, "")),
        element("title", f"tsproxy: {words.team(known['team'])}"),
        element("author", element("name", "tsproxy")),
        element("updated", max(day["generated_ts"] for day in known["days"])),
        element("link", rel="self", href=f"{base}{teams.FEED}"),
        *entries,
        xmlns="http://www.w3.org/2005/Atom",
    )


def _urn(known: Latest, day: str) -> str:
    """The id of a feed or an entry: the same wherever the folder is, and another one for each cluster."""
    cluster = f"{known['cluster_id']}/" if known["cluster_id"] else ""
    return uuid5(NAMESPACE_URL, f"tsproxy/{cluster}{teams.folder_of(known['team'])}/{day}").urn
