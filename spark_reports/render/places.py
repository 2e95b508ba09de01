"""The names of teams and producers, each with a link if its place is on this page or on another."""

from collections.abc import Container

from spark_reports.render import parts
from spark_reports.report import links, teams, words
from spark_reports.report.shape import Producer, Report
from tsproxy.model.markup import Markup


def team_link(report: Report, team: str | None) -> Markup:
    """A team's name, and a link to its page if there is one."""
    folder = links.relative(report["links"]["teams"]) if report["links"] else None
    page = f"{folder}/{teams.folder_of(team)}/{teams.page_of(report['last_day'])}" if folder else None
    return parts.text(words.team(team), "soft" if team is None else "team", page)


def producer_link(producer: Producer, here: Container[str]) -> Markup:
    """The producer's name, and a link to its place if that is on this page (`here`, by `producer_id`)."""
    place = producer_id(producer)
    return parts.text(words.application(producer, 60), "name", f"#{place}" if place in here else None)


def producer_id(producer: Producer) -> str:
    return links.anchor("producer", producer["client_id"], producer["principal"])


def topic_id(topic: str) -> str:
    return links.anchor("topic", topic)


def channel(text: str | None) -> parts.Content:
    """A channel: a link for a mail address or an address with https, a text for anything else."""
    shown, link = words.short(text or "–", 80), links.channel_link(text)
    return parts.text(shown, "name", link) if link else shown
