"""Comparisons: other limits, rules in audit, and the days before."""

from typing import Final

from spark_reports.render import curve
from spark_reports.render.tables import table
from spark_reports.report import words
from spark_reports.report.shape import Change, DayOfTrend, OutOfOrderTopic, Report, WhatIf, WouldReject
from spark_reports.report.what_if import KAFKA_4_AFTER_MS, Between
from spark_reports.report.what_if import in_short as what_if_in_short
from tsproxy.model.markup import Content, Markup, element, join

_WHAT_IF_HEADS: Final = (
    ("Limit", None),
    ("Farther ahead", None),
    ("Farther behind", None),
    ("Either side", None),
)
_WATCHED_HEADS: Final = (
    ("Producer", None),
    ("Topic", None),
    ("Rule", None),
    ("Cause", None),
    ("Batches", "num"),
    ("Records", "num"),
    ("At fault", "num"),
)
_OUT_OF_ORDER_HEADS: Final = (
    ("Topic", None),
    ("Accepted", "num"),
    ("Out of order", "num"),
    ("Share", "num"),
    ("The latest", None),
)
_DAY_HEADS: Final = (("Day", None), ("Judged", "num"), ("Rejected", None), ("Producers rejected", "num"))
_CHANGE_HEADS: Final = (
    ("Producer", None),
    ("Change", None),
    ("Rejected that day", "num"),
    ("In the days before", "num"),
)


def what_if(report: Report) -> Markup:
    """For each limit, on each side, the records that it would reject, among all records."""
    found = report["what_if"]
    whole = found["records"]
    if not whole or not found["ahead"] or not found["behind"]:
        return element("p", "No record carried a timestamp.", class_="none")
    rows = [
        (_limit(limit_ms), _part(ahead, whole), _part(behind, whole), _between(either, whole))
        for limit_ms, ahead, behind, either in what_if_in_short(found)
    ]
    return join(
        element(
            "p",
            element("span", element("i", class_="ahead"), "farther ahead than the limit"),
            element("span", element("i", class_="behind"), "farther behind it (dashed)"),
            class_="legend soft",
        ),
        element(
            "p",
            "Had a limit been in force for every topic, these records would have been rejected: "
            "exactly these, whole batches, as Kafka rejects them. For a limit on both sides two bounds are "
            "known, as a batch may lie beyond it on one side or on both. For one topic or any limit: "
            "spark_reports what-if.",
            _beyond_all(found),
            class_="soft note",
        ),
        curve.both(found),
        table(_WHAT_IF_HEADS, rows, "whatif"),
    )


def _beyond_all(found: WhatIf) -> str | None:
    """A sentence about records beyond every limit that people use; None if there are none."""
    farthest = [(rows[-1], side) for rows, side in ((found["ahead"], "ahead"), (found["behind"], "behind"))]
    said = [
        f"{words.many(row['records'], 'record')} over {words.duration(row['limit_ms'])} {side}"
        for row, side in farthest
        if row["records"]
    ]
    return f" No limit helps with {' and '.join(said)}: look at the unit and the clock." if said else None


def _limit(limit_ms: int) -> Content:
    name = words.duration(limit_ms)
    if limit_ms != KAFKA_4_AFTER_MS:
        return name
    return join(element("b", name), " ", element("span", "Kafka 4's default, ahead", class_="soft"))


def _part(records: int, whole: int) -> Content:
    if not records:
        return element("span", "none", class_="soft")
    return f"{words.count(records)} ({words.share(records, whole)})"


def _between(records: Between, whole: int) -> Content:
    low, high = records["at_least"], records["at_most"]
    return _part(low, whole) if low == high else words.between(low, high, whole)


def _metered(records: int, whole: int) -> Content:
    if not records:
        return _part(records, whole)
    width = f"width:{max(0.5, 100 * records / whole):.1f}%"
    return join(_part(records, whole), element("div", element("span", style=width), class_="meter"))


def watched(report: Report, rows: int) -> Markup:
    """Records that rules in audit and the candidate limits would have rejected."""
    found = [row for row in report["would_reject"] if not words.is_far_behind(row)]
    if not found:
        return element(
            "p", "No rule in audit, and no candidate limit, would have rejected anything more.", class_="none"
        )
    return join(
        table(_WATCHED_HEADS, [_watched_cells(row) for row in found[:rows]], "watched"),
        _more(len(found) - rows),
    )


def far_behind(report: Report, rows: int) -> Markup | None:
    """The section on timestamps that no rule rejects but that are likely mistakes; None if there are none."""
    found = [row for row in report["would_reject"] if words.is_far_behind(row)]
    if not found:
        return None
    return join(
        element("p", words.FAR_BEHIND, class_="soft"),
        table(_WATCHED_HEADS, [_watched_cells(row) for row in found[:rows]], "watched"),
        _more(len(found) - rows),
    )


def _more(count: int) -> Markup | None:
    return (
        element("p", f"And {words.count(count)} more in report.json.", class_="more") if count > 0 else None
    )


def _watched_cells(row: WouldReject) -> tuple[Content, ...]:
    return (
        element("span", words.short(words.client(row["client_id"])), class_="client"),
        element("span", words.short(row["topic"], 60), class_="name"),
        _who_let_pass(row),
        join(row["cause"], element("div", row["fix"], class_="soft")),
        words.count(row["batches"]),
        words.count(row["records"]),
        words.count(row["bad_records"]),
    )


def _who_let_pass(row: WouldReject) -> Content:
    """The rule in audit, or the rule and the waiver that held its rejection back."""
    rule = words.rule(row["rule"])
    waiver = row.get("waiver")  # a report of an earlier release has none
    if not waiver:
        return rule
    return join(rule, element("div", f"waiver {words.short(waiver, 60)}", class_="soft"))


def out_of_order(report: Report, rows: int) -> Markup | None:
    """Topics with records out of order; None if there are none, or no rule tracks stream time."""
    found = report.get("out_of_order", [])  # a report of an earlier release has none
    if not found:
        return None
    return join(
        table(_OUT_OF_ORDER_HEADS, [_out_of_order_cells(row) for row in found[:rows]], "out_of_order"),
        _more(len(found) - rows),
    )


def _out_of_order_cells(row: OutOfOrderTopic) -> tuple[Content, ...]:
    return (
        element("span", words.short(row["topic"], 60), class_="name"),
        words.count(row["records"]),
        words.count(row["out_of_order_records"]),
        words.share(row["out_of_order_records"], row["records"]),
        f"{words.duration(row['out_of_order_max_ms'])} older",
    )


def trend(report: Report, rows: int) -> Markup | None:
    """The days of the week, and who changed; None if no day before is known."""
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
        _more(len(known["changes"]) - rows),
    )


def _day_cells(day: DayOfTrend) -> tuple[Content, ...]:
    judged = words.count(day["records"])
    return (
        day["day"],
        judged,
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
