"""Each team as a reader: a folder with an address that stays, and nothing of another team in it.

    teams/<team>/index.html          the latest day, thirty days as small bars, its producers
    teams/<team>/2026-11-20.html     a day, with the evidence and a text for each producer
    teams/<team>/feed.xml            the days as an Atom feed
    teams/<team>/latest.json         the latest day as a text and as rows, and thirty days: for programs

latest.json is also all that a later run knows of the team's days. index.html and feed.xml are made from it.
Plain Python, no Spark, no files.
"""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, Final, Literal, TypedDict, cast, get_type_hints

from spark_reports.report import links, notices, words
from spark_reports.report.shape import Producer, Repaired, Report, WouldReject
from spark_reports.report.shape_for_readers import Links, Team

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

Outcome = Literal["rejected", "would_reject", "far_behind", "repaired"]


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


class TeamRow(TypedDict):
    """Records of a client that ended in the same way for the same cause."""

    outcome: Outcome
    client_id: str | None
    principal: str | None
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
    """At most thirty, the oldest first. A day without a report is missing."""


def folder_of(team: str | None) -> str:
    """The name of a team's folder: safe, and different for different teams."""
    return "no-owner" if team is None else links.slug(team)


def page_of(day: str) -> str:
    return f"{day}.html"


def latest(report: Report, team: Team, before: Latest | None) -> Latest:
    """latest.json after the report of one day. `before`: what was there."""
    own = _of_day(report, team)
    [day] = own["days"]
    known = {} if before is None else {each["day"]: each for each in before["days"]}
    days = [each for _, each in sorted((known | {day["day"]: day}).items())][-DAYS:]
    newer = before if before is not None and before["day"] > own["day"] else own
    return {**newer, "days": days}


def _of_day(report: Report, team: Team) -> Latest:
    known, day = report["links"], report["last_day"]
    address = known["address"] if known else None
    page = f"{address}/{FOLDER}/{folder_of(team['team'])}/{page_of(day)}" if address else None
    subject = f"tsproxy, {words.days(report)}: {_summary(team)}"
    return Latest(
        version=_VERSION,
        team=team["team"],
        channel=team["channel"],
        day=day,
        subject=subject,
        text="\n".join(_texts(report, team, page)),
        page=page,
        rows=[*_rows(report, team["team"])],
        days=[
            TeamDay(
                day=day,
                generated_ts=report["generated_ts"],
                state=report["log"]["state"],
                subject=subject,
                rejected_records=team["rejected_records"],
                would_reject_records=team["would_reject_records"],
                far_behind_records=team["far_behind_records"],
                repaired_records=team["repaired_records"],
            )
        ],
    )


def _summary(team: Team) -> str:
    """`1,000 records rejected, 20 repaired`; `nothing rejected`."""
    outcomes = (
        ("rejected_records", "rejected"),
        ("would_reject_records", "would be rejected"),
        ("far_behind_records", "far behind the clock"),
        ("repaired_records", "repaired"),
    )
    first, *others = [(team[name], text) for name, text in outcomes if team[name]] or [(0, "")]  # type: ignore[literal-required]  # keys of `outcomes`
    if not first[0]:
        return "nothing rejected"
    return ", ".join(
        [f"{words.many(first[0], 'record')} {first[1]}", *[f"{words.count(n)} {text}" for n, text in others]]
    )


def _texts(report: Report, team: Team, page: str | None) -> Iterator[str]:
    """The texts for the team's clients, the records that they leave out, the address, and where help is."""
    name = team["team"]
    yield from notices.by_team(report).get(name, [])
    listed = [each for each in report["producers"] if each["team"] == name and notices.has_owner(each)]
    if more := team["producers"] - len(listed):
        records = team["rejected_records"] - sum(each["rejected_records"] for each in listed)
        yield (
            f"And {words.many(more, 'more producer')} with {words.many(records, 'rejected record')}, without "
            "a text here; `daily --top N` lists more.\n"
        )
    _, watched = words.far_behind([each for each in report["would_reject"] if each["team"] == name])
    if left := team["would_reject_records"] - sum(
        each["records"] for each in watched if notices.has_owner(each)
    ):
        yield f"And {words.many(left, 'more record')} would be rejected, without a text here.\n"
    if page is not None:
        yield f"Evidence, and the days before: {page}\n"
    owned = report["owners"]
    yield f"{(owned and owned['help']) or _HELP}\n"


def _rows(report: Report, team: str | None) -> Iterator[TeamRow]:
    for producer in report["producers"]:
        if producer["team"] == team:
            for reason in producer["reasons"]:
                since = producer["since"] or producer["first_ts"]
                yield _row("rejected", producer, reason["cause"], reason["fix"], since, reason["records"])
    for row in report["would_reject"]:
        if row["team"] == team:
            is_old = words.is_far_behind(row)
            records = row["bad_records"] if is_old else row["records"]
            outcome: Outcome = "far_behind" if is_old else "would_reject"
            yield _row(outcome, row, row["cause"], row["fix"], None, records)
    for each in report["repaired"]:
        if each["team"] == team:
            yield _row("repaired", each, each["cause"], each["fix"], each["first_ts"], each["records"])


def _row(
    outcome: Outcome,
    client: Producer | WouldReject | Repaired,
    cause: str,
    fix: str,
    since: str | None,
    records: int,
) -> TeamRow:
    return TeamRow(
        outcome=outcome,
        client_id=client["client_id"],
        principal=client["principal"],
        cause=cause,
        fix=fix,
        since=since,
        records=records,
    )


def linked(report: Report, known: Latest) -> Report:
    """The report with the links of the team's page: to the team's other days, and to nothing else."""
    days, day = {each["day"] for each in known["days"]}, date.fromisoformat(report["last_day"])
    before, after = (
        page_of(str(other)) if str(other := day + timedelta(days=step)) in days else None for step in (-1, 1)
    )
    own = Links(
        json=LATEST,
        csv=None,
        index=INDEX,
        day_before=before,
        day_after=after,
        pages=False,
        teams=None,
        address=None,
    )
    return {**report, "links": own}


def to_text(found: Latest) -> str:
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def from_text(text: str | None) -> Latest | None:
    """The file that `to_text` wrote; None for anything else, whose days are then lost."""
    try:
        found: Any = json.loads(text or "")
        days = [_read(TeamDay, each) for each in found["days"]]
        rows = [_read(TeamRow, each) for each in found["rows"]]
        own: Any = _read(Latest, found) | {"days": days, "rows": rows}
        dates = [date.fromisoformat(day) for day in (own["day"], *(each["day"] for each in days))]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return cast(Latest, own) if own["version"] == _VERSION and len(dates) > 1 else None


def _read(shape: type, found: Any) -> dict[str, Any]:
    """The values of a shape's keys. Raises KeyError, TypeError or ValueError for anything else."""
    hints = get_type_hints(shape).items()
    return {
        name: hint(found[name]) if hint in (str, int) else None if found[name] is None else str(found[name])
        for name, hint in hints
    }
