"""The pages beside report.html: one for each team, and one for each topic with rejections.

People get the page that is theirs instead of a filter, which would need a script.
"""

from collections.abc import Callable, Iterator, Sequence

from spark_reports.render import compared, html, lists, owners, producers, talk
from spark_reports.render.html import Section
from spark_reports.report import links, words
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Producer, Report, Topic
from spark_reports.report.shape_for_readers import Team
from spark_reports.report.topics import has_page
from tsproxy.model.markup import Markup, element


def pages(report: Report) -> Iterator[tuple[str, str]]:
    """(file name, text) of each page: a team with producers that were, or would be, rejected; a topic that
    the report lists, with at least three rejected producers."""
    owned = report.get("owners")
    for team in owned["teams"] if owned else []:
        if team["producers"] or any(row["team"] == team["team"] for row in report["would_reject"]):
            yield links.page("team", team["team"]), of_team(report, team)
    for topic in report["topics"]:
        if has_page(topic):
            yield links.page("topic", topic["topic"]), of_topic(report, topic)


def of_team(report: Report, team: Team) -> str:
    """The page of a team: its producers with their evidence and letters, and what would be rejected."""
    own = [each for each in report["producers"] if each.get("team") == team["team"]]
    only_counted = [row for row in report["would_reject"] if row["team"] == team["team"]]
    name = words.team(team["team"])
    title = (
        f"{name}: {words.many(team['rejected_records'], 'record')} of "
        f"{words.many(team['producers'], 'producer')} rejected."
    )

    def sections(rows: int) -> list[Section]:
        return [
            *_of_producers(report, own, team["producers"], rows, of_team=True),
            Section(
                "watched",
                f"What would be rejected: {words.many(len(only_counted), 'row')}",
                compared.watched_table(only_counted, rows) if only_counted else None,
            ),
        ]

    channel = element("p", "Channel: ", owners.channel(team["channel"])) if team["channel"] else None
    return _page(report, title, channel, sections)


def of_topic(report: Report, topic: Topic) -> str:
    """The page of a topic: its limits, and its listed producers with their evidence."""
    name = topic["topic"]
    own = [each for each in report["producers"] if any(t["topic"] == name for t in each["topics"])]
    rejected = rejected_records(topic)
    title = (
        f"{words.short(name, 60)}: {words.share(rejected, topic['records_judged'])} of "
        f"{words.many(topic['records_judged'], 'record')} rejected."
    )

    def sections(rows: int) -> list[Section]:
        limits = next(row for row in lists.topics_of(report) if row.topic is topic)
        return [
            *_of_producers(report, own, len(own), rows, topic=name),
            Section("limits", f"Its limits: {', '.join(limits.limits)}", lists.topic_details(limits)),
        ]

    return _page(report, title, None, sections)


def _of_producers(
    report: Report,
    own: Sequence[Producer],
    count: int,
    rows: int,
    *,
    of_team: bool = False,
    topic: str | None = None,
) -> list[Section]:
    """The rows of these producers, then the evidence of each. `count`: all of them, listed or not.

    `of_team`, `topic`: whose page it is. It has no link to itself.
    """
    shown = own[:rows]
    left = count - len(shown)
    more = element("p", f"And {words.many(left, 'more producer')}, not listed.", class_="more")
    if not shown:
        return [Section("producers", "Its producers", more)] if left > 0 else []
    return [
        Section("talk", "Whom to talk to", talk.rows(report, shown, rows, names_teams=not of_team)),
        Section(
            "producers",
            f"Evidence and letters: {words.many(count, 'producer')}",
            element("div", producers.lines(report, shown, topic), more if left > 0 else None),
        ),
    ]


def _page(
    report: Report, title: str, top: Markup | None, sections: Callable[[int], Sequence[Section]]
) -> str:
    back = element("nav", element("a", "The day's page", href="report.html"), aria_label="Other reports")

    def page(rows: int) -> str:
        return html.page(report, title, element("header", html.kicker(report), back, element("h1", title)),
                         [top], sections(rows))  # fmt: skip

    return html.fitting(page)
