"""The page of a team's day. A team gets it instead of a filter, which would need a script."""

from collections.abc import Sequence

from spark_reports.render import clients, day, html, parts, places, producers, worst
from spark_reports.report import words
from spark_reports.report.shape import Producer, Report
from spark_reports.report.shape_for_readers import Team


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
    channel = parts.paragraph(("Channel: ", places.channel(team["channel"]))) if team["channel"] else None
    head = [parts.paragraph(words.short(report["log"]["sentence"], 2_000), "soft"), channel]
    whole = team["producers"], team["rejected_records"]

    def page(rows: int) -> parts.Page:
        sections = [
            *_of_producers(report, shown, whole, rows),
            *clients.sections(team, would_reject, repaired, team["repaired_records"], rows),
        ]
        return day.of_report(report, title, head, sections, day.neighbours(report))

    return html.fitting(page)


def _of_producers(report: Report, all_: Sequence[Producer], whole: tuple[int, int], rows: int) -> parts.Parts:
    """The first `rows` producers: whom to talk to, and their evidence. `whole`: the number of all of them,
    listed or not, and their rejected records."""
    shown = all_[:rows]
    left, rejected = whole[0] - len(shown), whole[1] - sum(row["rejected_records"] for row in shown)
    records = words.many(rejected, "rejected record")
    rest = parts.more(left, "producer", f" with {records}, not listed")
    if not shown:
        return [parts.section("producers", "Its producers", [rest])]
    return [
        parts.section("talk", "Whom to talk to", [worst.talk(report, shown, rows, has_teams=False)]),
        parts.section(
            "producers",
            f"Evidence, and a text for each owner: {words.many(whole[0], 'producer')}",
            [producers.lines(report, shown), rest],
        ),
    ]
