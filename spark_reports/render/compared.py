"""Comparisons: other limits, rules in audit, and the days before."""

from collections.abc import Sequence
from typing import Final

from spark_reports.render.tables import heads, more, table
from spark_reports.report import words
from spark_reports.report.shape import Change, DayOfTrend, Report, WhatIf, WouldReject
from spark_reports.report.what_if import KAFKA_4_AFTER_MS
from spark_reports.report.what_if import in_short as what_if_in_short
from tsproxy.model.markup import Content, Markup, element, join

_WHAT_IF_HEADS: Final = heads("Limit", "Rejected as farther ahead", "Rejected as farther behind")
_WATCHED_HEADS: Final = heads("Producer", "Topic", "Rule", "Cause", "#Batches", "#Records", "#Bad")
_DAY_HEADS: Final = heads("Day", "#Checked", "Rejected", "#Producers rejected")
_CHANGE_HEADS: Final = heads("Producer", "Change", "#Rejected that day", "#In the days before")


def what_if(report: Report) -> Markup:
    """The records that each limit would reject on each side, among all records."""
    found = report["what_if"]
    whole = found["records"]
    if not whole or not found["ahead"] or not found["behind"]:
        return element("p", "No record carried a timestamp.", class_="none")
    rows = [
        (_limit(limit_ms), _metered(ahead, whole), _metered(behind, whole))
        for limit_ms, ahead, behind in what_if_in_short(found)
    ]
    return join(
        element(
            "p",
            f"Had a limit been in force for every topic, these of {words.many(whole, 'record')} with "
            "timestamps would have been rejected: exactly these, whole batches, as Kafka rejects them. For "
            "one topic, any limit or both sides at once: spark_reports what-if.",
            _beyond_all(found),
            class_="soft note",
        ),
        table(_WHAT_IF_HEADS, rows, "whatif"),
    )


def _beyond_all(found: WhatIf) -> str | None:
    """A sentence about records beyond every limit that people use; None if there are none."""
    farthest = ((found["ahead"][-1], "ahead"), (found["behind"][-1], "behind"))
    beyond = [
        f"{words.many(row['records'], 'record')} over {words.duration(row['limit_ms'])} {side}"
        for row, side in farthest
        if row["records"]
    ]
    return f" No limit helps with {' and '.join(beyond)}: look at the unit and the clock." if beyond else None


def _limit(limit_ms: int) -> Content:
    name = words.duration(limit_ms)
    if limit_ms != KAFKA_4_AFTER_MS:
        return name
    return join(element("b", name), " ", element("span", "Kafka 4's default, ahead", class_="soft"))


def _part(records: int, whole: int) -> Content:
    if not records:
        return element("span", "none", class_="soft")
    return f"{words.count(records)} ({words.share(records, whole)})"


def _metered(records: int, whole: int) -> Content:
    if not records:
        return _part(records, whole)
    width = f"width:{max(0.5, 100 * records / whole):.1f}%"
    return join(_part(records, whole), element("div", element("span", style=width), class_="meter"))


def watched(report: Report, rows: int) -> Markup:
    """Records that rules in audit and the candidate limits would have rejected."""
    _, found = words.far_behind(report["would_reject"])
    if not found:
        nothing = "No rule in audit, and no candidate limit, would have rejected anything more."
        return element("p", nothing, class_="none")
    return _watched_table(found, rows)


def far_behind(report: Report, rows: int) -> Markup | None:
    """Likely mistakes that no rule rejects; None if there are none."""
    found, _ = words.far_behind(report["would_reject"])
    return join(element("p", words.FAR_BEHIND, class_="soft"), _watched_table(found, rows)) if found else None


def _watched_table(found: Sequence[WouldReject], rows: int) -> Markup:
    cells = [_watched_cells(row) for row in found[:rows]]
    return join(table(_WATCHED_HEADS, cells, "watched"), more(len(found) - rows))


def _watched_cells(row: WouldReject) -> tuple[Content, ...]:
    return (
        element("span", words.short(words.client(row["client_id"])), class_="client"),
        element("span", words.short(row["topic"], 60), class_="name"),
        _counted_by(row),
        join(row["cause"], element("div", row["fix"], class_="soft")),
        words.count(row["batches"]),
        words.count(row["records"]),
        words.count(row["bad_records"]),
    )


def _counted_by(row: WouldReject) -> Content:
    """The rule in audit, or the rule and the waiver that held its rejection back."""
    waiver = words.waiver(row, "waiver ")
    return join(
        element("span", words.rule(row["rule"]), class_="name"),
        element("div", waiver, class_="name soft") if waiver else None,
    )


def trend(report: Report, rows: int) -> Markup | None:
    """The days of the week, and the clients that changed; None if no day before is known."""
    known = report["trend"]
    if known is None:
        return None
    news = [_change_cells(change) for change in known["changes"][:rows]]
    return join(
        table(_DAY_HEADS, [_day_cells(day) for day in known["days"]], "days"),
        element("h3", "Who changed"),
        table(_CHANGE_HEADS, news, "changes")
        if known["changes"]
        else element("p", "Nobody: the same producers, rejected as often as before.", class_="none"),
        more(len(known["changes"]) - rows),
    )


def _day_cells(day: DayOfTrend) -> tuple[Content, ...]:
    return (
        day["day"],
        words.count(day["records"]),
        _metered(day["rejected_records"], day["records"] or 1),
        day["producers_affected"],
    )


def _change_cells(change: Change) -> tuple[Content, ...]:
    before = words.share(change["rejected_before"], change["records_before"])
    return (
        element("span", words.short(words.client(change["client_id"])), class_="client"),
        words.CHANGE_WORDS.get(change["kind"], change["kind"]),
        f"{words.count(change['rejected_records'])} of {words.count(change['records'])}",
        f"{words.count(change['rejected_before'])} ({before})" if change["rejected_before"] else "none",
    )
