"""The page of a team's day, and the page of a topic with at least three rejected producers.

People get the page that is theirs instead of a filter, which would need a script.
"""

from collections.abc import Callable, Iterator, Sequence

from spark_reports.render import compared, html, lists, navigation, owners, producers, talk
from spark_reports.render.html import Section
from spark_reports.report import links, words
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Producer, Report, Topic
from spark_reports.report.shape_for_readers import Team
from spark_reports.report.topics import has_page
from tsproxy.model.markup import Markup, element


def pages(report: Report) -> Iterator[tuple[str, str]]:
    """(file name, text) of the page of each topic that the report lists, and that has one."""
    for topic in report["topics"]:
        if has_page(topic):
            yield links.page(topic["topic"]), of_topic(report, topic)


def of_team(report: Report, team: Team) -> str:
    """The page of a team: its producers with their evidence and texts, and what would be rejected. Nothing on
    it is of another team, if `report` has the links of `report.teams.linked`."""
    own = [each for each in report["producers"] if each.get("team") == team["team"]]
    would_reject = [row for row in report["would_reject"] if row["team"] == team["team"]]
    repaired = [row for row in report["repaired"] if row["team"] == team["team"]]
    would = compared.how_many(team["would_reject_records"], team["would_reject_producers"])
    name = words.team(team["team"])
    rejected = compared.how_many(team["rejected_records"], team["producers"])
    title = f"{name}: {rejected} rejected" + (f", {would} would be." if would != "nothing" else ".")

    def sections(rows: int) -> list[Section]:
        return [
            *_of_producers(report, own, (team["producers"], team["rejected_records"]), rows, of_team=True),
            *html.of_clients(team, would_reject, repaired, team["repaired_records"], rows),
        ]

    proof = element("p", words.short(report["log"]["sentence"], 2_000), class_="soft")
    channel = element("p", "Channel: ", owners.channel(team["channel"])) if team["channel"] else None
    return _page(report, title, navigation.neighbours(report), [proof, channel], sections)


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
            *_of_producers(
                report, own, (len(own), sum(p["rejected_records"] for p in own)), rows, topic=name
            ),
            Section("limits", f"Its limits: {', '.join(limits.limits)}", lists.topic_details(limits)),
        ]

    back = element("nav", element("a", "The day's page", href="report.html"), aria_label="Other reports")
    return _page(report, title, back, [], sections)


def _of_producers(
    report: Report,
    own: Sequence[Producer],
    whole: tuple[int, int],
    rows: int,
    *,
    of_team: bool = False,
    topic: str | None = None,
) -> list[Section]:
    """The rows of these producers, then the evidence of each. `whole`: the number of all of them,
    listed or not, and their rejected records.

    `of_team`, `topic`: whose page it is. It has no link to itself.
    """
    shown = own[:rows]
    left, rejected = whole[0] - len(shown), whole[1] - sum(each["rejected_records"] for each in shown)
    records = words.many(rejected, "rejected record")
    more = element("p", f"And {words.many(left, 'more producer')} with {records}, not listed.", class_="more")
    if not shown:
        return [Section("producers", "Its producers", more)] if left > 0 else []
    return [
        Section("talk", "Whom to talk to", talk.rows(report, shown, rows, names_teams=not of_team)),
        Section(
            "producers",
            f"Evidence, and a text for each owner: {words.many(whole[0], 'producer')}",
            element("div", producers.lines(report, shown, topic), more if left > 0 else None),
        ),
    ]


def _page(
    report: Report,
    title: str,
    nav: Markup | None,
    top: Sequence[Markup | None],
    sections: Callable[[int], Sequence[Section]],
) -> str:
    head = element("header", html.kicker(report), nav, element("h1", title), *top)

    def page(rows: int) -> str:
        return html.page(report, title, head, [], sections(rows))

    return html.fitting(page)
