"""Comparisons: other limits, rules in audit, and the days before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spark_reports.render.tables import (
    CAUSE_AND_FIX,
    Column,
    Columns,
    breakable,
    count,
    mistake,
    more,
    name,
    table,
)
from spark_reports.report import words
from spark_reports.report.shape import Change, RefusedClient, Report, Trend, WhatIf, WouldReject
from spark_reports.report.what_if import KAFKA_4_AFTER_MS
from spark_reports.report.what_if import in_short as what_if_in_short
from tsproxy.model.markup import Content, Markup, element, join


def what_if(report: Report) -> Markup:
    """The records that each limit would reject on each side, among all records."""
    found = report["what_if"]
    whole = found["records"]
    left_out = [element("p", text, class_="soft note") for text in words.left_out(found["records_left_out"])]
    if not whole or not found["ahead"] or not found["behind"]:
        return join(element("p", "No record carried a timestamp.", class_="none"), *left_out)
    return join(
        *left_out,
        element(
            "p",
            f"Had a limit been in force for every topic, these of {words.many(whole, 'record')} with "
            "timestamps would have been rejected: exactly these, whole batches, as Kafka rejects them. For "
            "one topic, any limit or both sides at once: spark_reports what-if.",
            _beyond_all(found),
            class_="soft note",
        ),
        table(WHAT_IF, limits(found), "whatif"),
    )


def what_if_title(report: Report) -> str:
    """The title with the records that Kafka 4's default would reject."""
    title, found = "What other limits would reject", report["what_if"]["ahead"]
    kafkas = [row["records"] for row in found if row["limit_ms"] == KAFKA_4_AFTER_MS]
    return f"{title}: {words.many(kafkas[0], 'record')} by Kafka 4's default" if kafkas else title


def how_many(records: int, producers: int) -> str:
    """`102,000 records of 2 producers`; `nothing`."""
    if not records:
        return "nothing"
    return f"{words.many(records, 'record')} of {words.many(producers, 'producer')}"


def _beyond_all(found: WhatIf) -> str | None:
    """A sentence about records beyond every limit that people use; None if there are none."""
    farthest = ((found["ahead"][-1], "ahead"), (found["behind"][-1], "behind"))
    beyond = [
        f"{words.many(row['records'], 'record')} over {words.duration(row['limit_ms'])} {side}"
        for row, side in farthest
        if row["records"]
    ]
    return f" No limit helps with {' and '.join(beyond)}: look at the unit and the clock." if beyond else None


@dataclass(frozen=True, slots=True)
class LimitRow:
    """A limit, and the records among `whole` that it would reject on each side."""

    limit_ms: int
    ahead: int
    behind: int
    whole: int


def limits(found: WhatIf) -> list[LimitRow]:
    return [LimitRow(*row, found["records"]) for row in what_if_in_short(found)]


def _limit_text(row: LimitRow) -> str:
    is_kafkas = row.limit_ms == KAFKA_4_AFTER_MS
    return words.duration(row.limit_ms) + (", Kafka 4's default ahead" if is_kafkas else "")


def _limit(limit_ms: int) -> Content:
    name = words.duration(limit_ms)
    if limit_ms != KAFKA_4_AFTER_MS:
        return name
    return join(element("b", name), " ", element("span", "Kafka 4's default, ahead", class_="soft"))


def part(records: int, whole: int) -> str:
    """`1,200 (4.0%)`; `none`."""
    return f"{words.count(records)} ({words.share(records, whole)})" if records else "none"


def metered(records: int, whole: int, class_: str = "") -> Content:
    """The same with a bar."""
    if not records:
        return element("span", part(records, whole), class_="soft")
    width = f"width:{min(100.0, max(0.5, 100 * records / max(1, whole))):.1f}%"
    bar = element("div", element("span", style=width), class_=f"meter {class_}".strip())
    return join(part(records, whole), bar)


WHAT_IF: Final[Columns[LimitRow]] = (
    Column("Limit", _limit_text, lambda row: _limit(row.limit_ms)),
    Column(
        "Rejected as farther ahead",
        lambda row: part(row.ahead, row.whole),
        lambda row: metered(row.ahead, row.whole),
    ),
    Column(
        "Rejected as farther behind",
        lambda row: part(row.behind, row.whole),
        lambda row: metered(row.behind, row.whole),
    ),
)


def behind_table(shown: Sequence[WouldReject], records: int) -> Markup | None:
    """Likely mistakes that no rule rejects, and a sentence about the bad records that are left out of
    `records`; None without any."""
    if not shown:
        return None
    left = records - sum(row["bad_records"] for row in shown)
    text = f"And {words.many(left, 'more bad record')}, not listed."
    return join(
        element("p", words.FAR_BEHIND, class_="soft"),
        table(WATCHED, shown, "watched"),
        element("p", text, class_="more") if left else None,
    )


def watched_table(shown: Sequence[WouldReject], records: int, producers: int) -> Markup | None:
    """The records that rules in audit and the candidate limits would have rejected, and a sentence about
    those that are left out of `records` and `producers`; None without any."""
    if not shown:
        return None
    left = not_listed(shown, records, producers)
    return join(table(WATCHED, shown, "watched"), element("p", left, class_="more") if left else None)


def not_listed(shown: Sequence[WouldReject], records: int, producers: int) -> str:
    """A sentence about the records that these rows leave out; empty if they are all."""
    left = records - sum(row["records"] for row in shown)
    others = producers - len({(row["client_id"], row["principal"]) for row in shown})
    of_others = f", {words.many(others, 'more producer')}" if others > 0 else ""
    return f"And {words.many(left, 'more record')}{of_others}, not listed." if left else ""


def _counted_by(row: WouldReject) -> Content:
    """The rule in audit, or the rule and the waiver that held its rejection back."""
    waiver = words.waiver(row, "waiver ")
    return join(
        element("span", breakable(words.rule(row["rule"])), class_="name"),
        element("div", waiver, class_="name soft") if waiver else None,
    )


WATCHED: Final[Columns[WouldReject]] = (
    name("Producer", words.application, "client"),
    name("Topic", lambda row: words.short(row["topic"], 60)),
    Column("Rule", lambda row: words.rule(row["rule"]) + words.waiver(row, ", waiver "), _counted_by),
    mistake("Cause", CAUSE_AND_FIX),
    count("Batches", "batches"),
    count("Records", "records"),
    count("Bad", "bad_records"),
)


def trend(report: Report, rows: int) -> Markup | None:
    """The clients that changed; None if no day before is known."""
    known = report["trend"]
    if known is None:
        return None
    return join(
        table(changes(known), known["changes"][:rows], "changes")
        if known["changes"]
        else element("p", "Nobody: the same producers, rejected as often as before.", class_="none"),
        more(len(known["changes"]) - rows),
    )


def _before(change: Change) -> str:
    share = words.share(change["rejected_before"], change["records_before"])
    return f"{words.count(change['rejected_before'])} ({share})" if change["rejected_before"] else "none"


def changes(trend: Trend) -> Columns[Change]:
    """The columns of the clients that changed."""
    return (
        name("Producer", lambda change: words.short(words.client(change["client_id"])), "client"),
        Column("Change", lambda change: words.change(trend, change["kind"])),
        Column(
            "#Rejected that day",
            lambda change: f"{words.count(change['rejected_records'])} of {words.count(change['records'])}",
        ),
        Column("#In the days before", _before),
    )


def refused_by_kafka_4(clients: Sequence[RefusedClient], rows: int) -> Markup | None:
    """The clients that Kafka 4 refuses, whatever their records are; None without any."""
    if not clients:
        return None
    uses = [element("li", words.old_use(row)) for row in clients[:rows]]
    text = "Kafka 4 does not take these versions of the protocol (KIP-896): update the client's library."
    return join(element("p", text, class_="soft"), element("ul", *uses), more(len(clients) - len(uses)))
