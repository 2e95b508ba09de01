"""The owners of producers: the teams with producers that were rejected, the worst first."""

from spark_reports.render import places
from spark_reports.render.parts import Paragraph, Section, Table, more
from spark_reports.report import words
from spark_reports.report.shape import Report


def owners(report: Report, rows: int) -> Section | None:
    """None without `--owners`."""
    owned = report["owners"]
    if owned is None:
        return None
    teams = [team for team in owned["teams"] if team["producers"]]
    cells = [
        (
            places.team_link(report, team["team"]),
            *(team["rejected_records"], team["producers"]),
            places.channel(team["channel"]),
        )
        for team in teams[:rows]
    ]
    left = words.many(owned["rejected_records_left_out"], "rejected record")
    looked_up = f" with {left}: owners are looked up for the worst ones"
    parts = [
        Table("owners", ("Team", "#Rejected records", "#Producers", "Channel"), cells),
        more(len(teams) - rows),
        more(owned["producers_left_out"], "producer", looked_up),
    ]
    nothing = Paragraph("No producer had a record rejected.", "none")
    return Section("owners", f"By owner: {words.many(len(teams), 'row')}", parts if teams else [nothing])
