"""The owners of producers: a section of the page, a table in Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spark_reports.render.tables import Column, Columns, breakable, more, table
from spark_reports.report import links, teams, words
from spark_reports.report.shape import Producer, Report
from spark_reports.report.shape_for_readers import Team
from spark_reports.report.topics import has_page
from tsproxy.model.markup import Content, Markup, element, join


@dataclass(frozen=True, slots=True)
class OwnedTeam:
    """A team of a report."""

    report: Report
    team: Team


def owners(report: Report, rows: int) -> Markup | None:
    """The teams, the one with most rejected records first; None without `--owners`."""
    teams = rejected_teams(report)
    if teams is None:
        return None
    if not teams:
        return element("p", "No producer had a record rejected.", class_="none")
    return join(
        table(COLUMNS, owned_teams(report)[:rows], "owners"),
        more(len(teams) - rows),
        element("p", left_out, class_="more") if (left_out := left_out_of(report)) else None,
    )


def owned_teams(report: Report) -> list[OwnedTeam]:
    """The rows of the teams."""
    return [OwnedTeam(report, team) for team in rejected_teams(report) or ()]


def rejected_teams(report: Report) -> Sequence[Team] | None:
    """The teams with producers that were rejected; None without `--owners`."""
    owned = report["owners"]
    return None if owned is None else [team for team in owned["teams"] if team["producers"]]


def left_out_of(report: Report) -> str:
    """A sentence about producers whose owners were not looked up; empty if there are none."""
    owned = report["owners"]
    if not owned or owned["producers_left_out"] <= 0:
        return ""
    producers = words.many(owned["producers_left_out"], "more producer")
    rejected = words.many(owned["rejected_records_left_out"], "rejected record")
    return f"And {producers} with {rejected}: owners are looked up for the worst ones."


COLUMNS: Final[Columns[OwnedTeam]] = (
    Column(
        "Team", lambda row: words.team(row.team["team"]), lambda row: team_link(row.report, row.team["team"])
    ),
    Column("#Rejected records", lambda row: words.count(row.team["rejected_records"])),
    Column("#Producers", lambda row: words.count(row.team["producers"])),
    Column(
        "Channel",
        lambda row: words.short(row.team["channel"] or "–", 80),
        lambda row: channel(row.team["channel"]),
    ),
)


def team_link(report: Report, team: str | None) -> Markup:
    """A team's name, and a link to its page if there is one."""
    class_ = "soft" if team is None else "team"
    folder = links.relative(report["links"]["teams"]) if report["links"] else None
    if folder is None:
        return element("span", words.team(team), class_=class_)
    page = f"{folder}/{teams.folder_of(team)}/{teams.page_of(report['last_day'])}"
    return element("a", words.team(team), href=page, class_=class_)


def topic_link(report: Report, topic: str) -> Content:
    """A topic's name, and a link to its page if there is one."""
    name = words.short(topic, 60)
    own = [each for each in report["topics"] if each["topic"] == topic and has_page(each)]
    if not own or report["links"] is None or report["links"]["pages"] is not True:
        return name
    return element("a", name, href=links.page(topic))


def producer_link(producer: Producer, *, is_here: bool) -> Markup:
    """The producer's name, and a link to its place if that is on this page."""
    name = words.application(producer, 60)
    if not is_here:
        return element("span", breakable(name), class_="name")
    return element("a", breakable(name), class_="name", href=f"#{producer_id(producer)}")


def producer_id(producer: Producer) -> str:
    return links.anchor("producer", producer["client_id"], producer["principal"])


def topic_id(topic: str) -> str:
    return links.anchor("topic", topic)


def channel(text: str | None) -> Content:
    """A channel: a link for a mail address or an address with https, a text for anything else."""
    shown = words.short(text or "–", 80)
    link = links.channel_link(text)
    return shown if link is None else element("a", shown, href=link, class_="name")
