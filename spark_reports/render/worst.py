"""Tables of the worst producers: whom to talk to, their eight days, and those whose mistake is known.

On a day on which rules are in audit, one talks to the producers whose records would be rejected.
"""

from collections.abc import Container, Sequence
from operator import itemgetter
from typing import Final

from spark_reports.render import drawings, parts, places, producers
from spark_reports.report import words
from spark_reports.report.groups import CLIENT, grouped
from spark_reports.report.shape import Client, Producer, Report, WouldReject
from tsproxy.model.markup import Markup

WHAT_TO_DO: Final = "Mistake, and what to do"
_FIRST: Final = 5
_FIRST_ON_PHONES: Final = 3
"""The rows of the first screen. The style sheet hides the others on narrow screens."""
_STRIPS: Final = 20


def first(report: Report, here: Container[str]) -> parts.Parts:
    """The worst producers, and how many more there are. If nothing was rejected, those of which records would
    be. `here`: the places on the page, as in `places`."""
    if shown := [producer for producer in report["producers"] if not producer["known"]][:_FIRST]:
        affected = report["totals"]["producers_affected"]
        return [talk(report, shown, here), *_more(affected, shown, "producers")]
    listed, totals = would_reject(report), report["totals"]
    is_cut = sum(records for _, records in listed) < totals["would_reject_records"]
    watched = listed[:_FIRST]
    rows = [
        (
            places.team_link(report, largest["team"]),
            parts.text(words.application(largest, 60), "name"),
            parts.mistake(largest["cause"], largest["fix"]),
            words.rule(largest["rule"]),
            f"{'at least ' if is_cut else ''}{words.count(records)}",
        )
        for largest, records in watched
    ]
    heads = ("Team", "Producer", WHAT_TO_DO, "By", "#Would be rejected")
    table = _by_team("talk", heads, rows, has_teams=report["owners"] is not None)
    affected = totals["would_reject_producers"]
    return [table, *_more(affected, [row for row, _ in watched], "watched")] if rows else []


def would_reject(report: Report) -> list[tuple[WouldReject, int]]:
    """The clients and owners with records that would be rejected: the row with most of them, and all their
    records. The ones with most are the first; records far behind the clock are left out."""
    clients = grouped(words.far_behind(report["would_reject"])[1], itemgetter(*CLIENT, "team"))
    counts = [
        (max(rows, key=itemgetter("records")), sum(row["records"] for row in rows))
        for rows in clients.values()
    ]
    return sorted(counts, key=lambda client: -client[1])


def _more(affected: int, shown: Sequence[Client], section: str) -> parts.Parts:
    """How many producers a wide and a narrow first screen leave out, as links to their section."""
    rows = {"wide": shown, "narrow": shown[:_FIRST_ON_PHONES]}
    left = {kind: affected - len(words.clients(listed)) for kind, listed in rows.items()}
    return [
        parts.paragraph(parts.text(f"And {words.count(n)} more", link=f"#{section}"), f"more {kind}")
        for kind, n in left.items()
        if n > 0
    ]


def _by_team(
    kind: str, heads: Sequence[str], rows: Sequence[Sequence[parts.Content]], *, has_teams: bool
) -> Markup | None:
    """The table, or without its first column, of teams."""
    first = 0 if has_teams else 1
    return parts.table(kind, heads[first:], [cells[first:] for cells in rows])


def talk(
    report: Report, shown: Sequence[Producer], here: Container[str], *, has_teams: bool = True
) -> Markup | None:
    """The table of these producers."""
    rows = [
        (
            places.team_link(report, producer["team"]),
            places.producer_link(producer, here),
            _mistake(producer),
            words.since(report, producer),
            (words.count(producer["rejected_records"]), parts.below(_part(producer))),
        )
        for producer in shown
    ]
    heads = ("Team", "Producer", WHAT_TO_DO, "Since", "#Rejected")
    return _by_team("talk", heads, rows, has_teams=has_teams and report["owners"] is not None)


def _mistake(producer: Producer) -> parts.Content:
    first = producer["reasons"][:1]
    return parts.mistake(first[0]["cause"], first[0]["fix"]) if first else "–"


def _part(producer: Producer) -> str:
    share = words.share(producer["rejected_records"], producer["records"])
    bad = f"{words.count(producer['bad_records'])} bad, " if producer["collateral_records"] else ""
    return f"{bad}{share} of what it sent"


def strips(report: Report, here: Container[str]) -> parts.Parts:
    """Eight days of the worst producers, by team, all on one scale, so that a line that fell is seen; nothing
    if no day before is known."""
    known = [producer for producer in report["producers"][:_STRIPS] if producer["week"]]
    if not known:
        return []
    most = max(records or 0 for producer in known for records in producer["week"])
    known.sort(key=lambda producer: (producer["team"] is None, producer["team"] or ""))
    rows = [
        (
            places.team_link(report, producer["team"]),
            places.producer_link(producer, here),
            drawings.spark(
                [records or 0 for records in producer["week"]], producers.counts(producer["week"]), most
            ),
            producer["rejected_records"],
        )
        for producer in known
    ]
    scale = (
        f"Rejected records, {producers.span(report, known[0]['week'])}, all on one scale: a whole bar is "
        f"{words.count(most)}."
    )
    heads = ("Team", "Producer", "Eight days", "#Rejected")
    table = _by_team("strips", heads, rows, has_teams=report["owners"] is not None)
    return [parts.paragraph(scale, "soft note"), table]


def known(report: Report, here: Container[str], rows: int) -> parts.Parts:
    """The producers at whose mistake somebody works. They stand at the foot of the page alone."""
    shown = [
        (
            places.producer_link(producer, here),
            "; ".join(dict.fromkeys(reason["cause"] for reason in producer["reasons"])),
            producer["known"]["until"],
            words.short(producer["known"]["ticket"] or "–", 80),
            producer["rejected_records"],
        )
        for producer in report["producers"]
        if producer["known"]
    ]
    return [
        parts.table("watched", ("Producer", "Mistake", "Known until", "Ticket", "#Rejected"), shown[:rows]),
        parts.more(len(shown) - rows),
    ]


def owners(report: Report, rows: int) -> Markup | None:
    """The teams with producers that were rejected, the worst first; None without `--owners`."""
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
    listed = [
        parts.table("owners", ("Team", "#Rejected records", "#Producers", "Channel"), cells),
        parts.more(len(teams) - rows),
        parts.more(owned["producers_left_out"], "producer", looked_up),
    ]
    nothing = parts.paragraph("No producer had a record rejected.", "none")
    return parts.section(
        "owners", f"By owner: {words.many(len(teams), 'row')}", listed if teams else [nothing]
    )
