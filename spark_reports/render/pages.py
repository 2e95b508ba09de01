"""The page of a team's day, and the page of a topic with at least three rejected producers.

People get the page that is theirs instead of a filter, which would need a script.
"""

from collections.abc import Iterator, Sequence

from spark_reports.render import clients, day, html, lists, places, producers, worst
from spark_reports.render.parts import Links, Page, Paragraph, Section, Text, more
from spark_reports.report import links, words
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Producer, Report, Topic
from spark_reports.report.shape_for_readers import Team


def pages(report: Report) -> Iterator[tuple[str, str]]:
    """(file name, text) of the page of each topic that the report lists, and that has one."""
    for topic in report["topics"]:
        if places.has_page(topic):
            yield links.page(topic["topic"]), of_topic(report, topic)


def of_team(report: Report, team: Team) -> str:
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
    channel = Paragraph(("Channel: ", places.channel(team["channel"]))) if team["channel"] else None
    head = [Paragraph(words.short(report["log"]["sentence"], 2_000), "soft"), channel]
    whole = team["producers"], team["rejected_records"]

    def page(rows: int) -> Page:
        sections = [
            *_of_producers(report, shown, whole, rows, of_team=True),
            *clients.sections(team, would_reject, repaired, team["repaired_records"], rows),
        ]
        return day.of_report(report, title, head, sections, day.neighbours(report))

    return html.fitting(page)


def of_topic(report: Report, topic: Topic) -> str:
    """The page of a topic: its limits, and its listed producers with their evidence."""
    name = topic["topic"]
    shown = [
        producer
        for producer in report["producers"]
        if any(rejected_at["topic"] == name for rejected_at in producer["topics"])
    ]
    title = (
        f"{words.short(name, 60)}: {words.share(rejected_records(topic), topic['records_judged'])} of "
        f"{words.many(topic['records_judged'], 'record')} rejected."
    )
    whole = len(shown), sum(producer["rejected_records"] for producer in shown)
    limits = words.limits_by_topic(report["limits"]).get(name, ["–"])
    back = Links("Other reports", [Text("The day's page", link="report.html")])

    def page(rows: int) -> Page:
        sections = [
            *_of_producers(report, shown, whole, rows, topic=name),
            Section("limits", f"Its limits: {', '.join(limits)}", lists.topic_details(report, topic)),
        ]
        return day.of_report(report, title, [], sections, back)

    return html.fitting(page)


def _of_producers(
    report: Report,
    all_: Sequence[Producer],
    whole: tuple[int, int],
    rows: int,
    *,
    of_team: bool = False,
    topic: str | None = None,
) -> list[Section]:
    """The first `rows` producers: whom to talk to, and their evidence. `whole`: the number of all of them,
    listed or not, and their rejected records.

    `of_team`, `topic`: whose page it is. It has no link to itself.
    """
    shown = all_[:rows]
    left, rejected = whole[0] - len(shown), whole[1] - sum(row["rejected_records"] for row in shown)
    records = words.many(rejected, "rejected record")
    rest = more(left, "producer", f" with {records}, not listed")
    if not shown:
        return [Section("producers", "Its producers", [rest])]
    return [
        Section("talk", "Whom to talk to", [worst.talk(report, shown, rows, has_teams=not of_team)]),
        Section(
            "producers",
            f"Evidence, and a text for each owner: {words.many(whole[0], 'producer')}",
            [producers.lines(report, shown, topic), rest],
        ),
    ]
