"""Each team as a reader: a folder with an address that stays, and nothing of another team in it.

    teams/<team>/index.html          the latest day, thirty days as small bars, its producers
    teams/<team>/2026-11-20.html     a day, with the evidence and a text for each producer
    teams/<team>/feed.xml            the days as an Atom feed
    teams/<team>/latest.json         the latest day as a text and as rows, and thirty days: for programs

latest.json is also all that a later run knows of the team's days. index.html and feed.xml are made from it.
Plain Python, no Spark, no files.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Final, Literal, TypedDict

from spark_reports.log.completeness import State
from spark_reports.log.period import day_of
from spark_reports.report import links, missing, notices, words
from spark_reports.report.shape import (
    Client,
    Links,
    Repaired,
    Report,
    Team,
    WouldReject,
    from_json,
    of_row,
)

LATEST: Final = "latest.json"
INDEX: Final = "index.html"
FEED: Final = "feed.xml"
FOLDER: Final = "teams"
"""The folder of the folders, beside the index of all days, or in `--output`."""
DAYS: Final = 30
_VERSION: Final = 1

_HELP: Final = (
    'How to find and fix this: the page "My producer is refused" of tsproxy.\n'
    "If old records must pass for a while, ask the people who run tsproxy for a waiver."
)
"""The end of a text, if the file of owners has no `help`."""

AT_LEAST: Final = ", at least (the log is incomplete)"
"""The end of a subject whose counts are lower bounds."""

OUTCOMES: Final[Mapping[str, str]] = {
    "rejected": "rejected",
    "would_reject": "would be rejected",
    "far_behind": "far behind the clock",
    "repaired": "repaired",
}


class TeamDay(TypedDict):
    """A day of a team."""

    day: str
    generated_ts: str
    state: str
    """As in LogQuality. If it is `incomplete`, the counts are lower bounds."""
    subject: str
    rejected_records: int
    would_reject_records: int
    far_behind_records: int
    repaired_records: int


class TeamRow(Client):
    """Records of a client that ended in the same way for the same cause."""

    outcome: str
    """One of OUTCOMES."""
    cause: str
    fix: str
    since: str | None
    """A time, or the first of the days in a row; null if it is not known."""
    records: int


class Latest(TypedDict):
    """latest.json. Within a version keys are only added."""

    version: int
    team: str | None
    """Null for the producers that nobody owns."""
    cluster_id: str | None
    """As in Report, or of the days before."""
    channel: str | None
    day: str
    subject: str
    """One line, such as `tsproxy, 2026-11-20: 1,000 records rejected`."""
    text: str
    """The texts for the owners of its clients."""
    page: str | None
    """The address of the day's page; null without `--address`."""
    rows: list[TeamRow]
    """At most `--top` of each outcome, the worst."""
    days: list[TeamDay]
    """The last thirty, the oldest first. A day without a report is missing."""


def folder_of(team: str | None) -> str:
    """The name of a team's folder: safe, and different for different teams."""
    return "no-owner" if team is None else links.slug(team)


def page_of(day: str) -> str:
    return f"{day}.html"


def latest(report: Report, team: Team, before: Latest | None, today: str) -> Latest:
    """latest.json after the report of one day. `before`: what was there, maybe of a clock that was ahead of
    `today`."""
    made = _of_day(report, team)
    now = max(today, made["day"])
    known = [day for day in before["days"] if day["day"] <= now] if before is not None else []
    made["cluster_id"] = made["cluster_id"] or (before and before["cluster_id"])
    days = {day["day"]: day for day in (*known, *made["days"])}
    newer = before if before is not None and made["day"] < before["day"] <= now else made
    first = str(date.fromisoformat(newer["day"]) - timedelta(days=DAYS - 1))
    return {**newer, "days": [days[day] for day in sorted(days) if day >= first]}


def _of_day(report: Report, team: Team) -> Latest:
    known, day = report["links"], report["last_day"]
    address = known["address"] if known else None
    page = f"{address}/{FOLDER}/{folder_of(team['team'])}/{page_of(day)}" if address else None
    at_least = AT_LEAST if missing.state(report["log"]) is State.INCOMPLETE else ""
    subject = f"tsproxy, {words.days(report)}: {_summary(team)}{at_least}"
    return of_row(
        Latest,
        team,
        version=_VERSION,
        cluster_id=report["cluster_id"],
        day=day,
        subject=subject,
        text="\n".join(_texts(report, team, page)),
        page=page,
        rows=[*_rows(report, team["team"])],
        days=[
            of_row(
                TeamDay,
                team,
                day=day,
                generated_ts=report["generated_ts"],
                state=report["log"]["state"],
                subject=subject,
            )
        ],
    )


def _summary(team: Team) -> str:
    """`1,000 records rejected, 20 repaired`; `nothing rejected`."""
    counts = [(team[f"{outcome}_records"], text) for outcome, text in OUTCOMES.items()]  # type: ignore[literal-required]  # keys of Team
    known = [(records, text) for records, text in counts if records]
    told = [f"{words.many(records, 'record')} {text}" for records, text in known[:1]]
    told += [f"{words.count(records)} {text}" for records, text in known[1:]]
    return ", ".join(told) or "nothing rejected"


def _texts(report: Report, team: Team, page: str | None) -> Iterator[str]:
    """The lack of the log, the texts for the team's clients, the records that they leave out, the address,
    and where help is."""
    name = team["team"]
    if missing.state(report["log"]) is State.INCOMPLETE:
        yield f"The counts are lower bounds. {report['log']['sentence']}\n"
    yield from notices.by_team(report).get(name, [])
    listed = [row for row in report["producers"] if row["team"] == name and notices.has_owner(row)]
    if more := team["producers"] - len(listed):
        records = words.many(
            team["rejected_records"] - sum(row["rejected_records"] for row in listed), "rejected record"
        )
        is_cut = team["producers"] > sum(row["team"] == name for row in report["producers"])
        yield (
            f"And {words.many(more, 'more producer')} with {records}, without a text here"
            f"{'; `daily --top N` lists more' if is_cut else ''}.\n"
        )
    behind, watched = words.far_behind([row for row in report["would_reject"] if row["team"] == name])
    repaired = [row for row in report["repaired"] if row["team"] == name]
    for all_of_them, told, ended in (
        (team["would_reject_records"], _told(watched, "records"), "would be rejected"),
        (team["far_behind_records"], _told(behind, "bad_records"), "far behind the clock"),
        (team["repaired_records"], _told(repaired, "records"), "repaired"),
    ):
        if left := all_of_them - told:
            yield f"And {words.many(left, 'more record')} {ended}, without a text here.\n"
    if page is not None:
        yield f"Evidence, and the days before: {page}\n"
    owned = report["owners"]
    yield f"{(owned and owned['help']) or _HELP}\n"


def _told(rows: Sequence[WouldReject | Repaired], column: Literal["records", "bad_records"]) -> int:
    return sum(row[column] for row in rows if notices.has_owner(row))


def _rows(report: Report, team: str | None) -> Iterator[TeamRow]:
    for producer in report["producers"]:
        if producer["team"] == team:
            for reason in producer["reasons"]:
                since = producer["since"] or producer["first_ts"]
                yield of_row(TeamRow, {**producer, **reason}, outcome="rejected", since=since)
    for row in report["would_reject"]:
        if row["team"] == team:
            is_old = row["is_far_behind"]
            records = row["bad_records"] if is_old else row["records"]
            outcome = "far_behind" if is_old else "would_reject"
            yield of_row(TeamRow, row, outcome=outcome, since=None, records=records)
    for fixed in report["repaired"]:
        if fixed["team"] == team:
            yield of_row(TeamRow, fixed, outcome="repaired", since=fixed["first_ts"])


def linked(report: Report, known: Latest) -> Report:
    """The report with the links of the team's page: to the team's other days, and to nothing else."""
    days, last = {day["day"] for day in known["days"]}, date.fromisoformat(report["last_day"])
    before, after = (
        page_of(str(other)) if str(other := last + timedelta(days=step)) in days else None for step in (-1, 1)
    )
    beside = Links(
        json=LATEST,
        csv=None,
        index=INDEX,
        day_before=before,
        day_after=after,
        teams=None,
        address=None,
    )
    return {**report, "links": beside}


def from_text(text: str | None) -> Latest | None:
    """The file that `to_json` wrote; None for anything else, whose days are then lost."""
    known = from_json(Latest, text or "", {"cluster_id": None})
    if known is None or known["version"] != _VERSION or not known["days"]:
        return None
    return known if all(day_of(day["day"]) for day in (known, *known["days"])) else None
