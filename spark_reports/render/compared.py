"""Comparisons: other limits, and the days before."""

from typing import Final

from spark_reports.render import drawings, parts
from spark_reports.report import words
from spark_reports.report.groups import KAFKA_4_AFTER_MS
from spark_reports.report.shape import Change, Report, WhatIf
from spark_reports.report.trend import LEAST_RECORDS
from spark_reports.report.what_if import in_short

_NO_TIMESTAMP: Final = parts.paragraph("No record carried a timestamp.", "none")


def what_if(report: Report) -> parts.Parts:
    """The records that each limit would reject on each side, among all records."""
    counts = report["what_if"]
    whole = counts["records"]
    left_out = [parts.paragraph(text, "soft note") for text in words.left_out(counts["records_left_out"])]
    if not whole or not counts["ahead"] or not counts["behind"]:
        return [_NO_TIMESTAMP, *left_out]
    text = (
        f"Had a limit been in force for every topic, these of {words.many(whole, 'record')} with timestamps "
        "would have been rejected: exactly these, whole batches, as Kafka rejects them. For one topic, any "
        f"limit or both sides at once: spark_reports what-if.{_beyond_all(counts)}"
    )
    rows = [
        (_limit(limit_ms), _part(ahead, whole), _part(behind, whole))
        for limit_ms, ahead, behind in in_short(counts)
    ]
    heads = ("Limit", "Rejected as farther ahead", "Rejected as farther behind")
    return [*left_out, parts.paragraph(text, "soft note"), parts.table("whatif", heads, rows)]


def what_if_title(report: Report) -> str:
    """The title with the records that Kafka 4's default would reject."""
    title, limits = "What other limits would reject", report["what_if"]["ahead"]
    kafkas = [row["records"] for row in limits if row["limit_ms"] == KAFKA_4_AFTER_MS]
    return f"{title}: {words.many(kafkas[0], 'record')} by Kafka 4's default" if kafkas else title


def _beyond_all(counts: WhatIf) -> str:
    """A sentence about records beyond every limit that people use; empty if there are none."""
    farthest = ((counts["ahead"][-1], "ahead"), (counts["behind"][-1], "behind"))
    beyond = [
        f"{words.many(row['records'], 'record')} over {words.duration(row['limit_ms'])} {side}"
        for row, side in farthest
        if row["records"]
    ]
    return f" No limit helps with {' and '.join(beyond)}: look at the unit and the clock." if beyond else ""


def _limit(limit_ms: int) -> parts.Content:
    name = words.duration(limit_ms)
    if limit_ms != KAFKA_4_AFTER_MS:
        return name
    return parts.text(name, "b"), parts.text(" Kafka 4's default, ahead", "soft")


def _part(records: int, whole: int) -> parts.Content:
    """`1,200 (4.0%)` with a bar; `none`."""
    if not records:
        return parts.text("none", "soft")
    return f"{words.count(records)} ({words.share(records, whole)})", drawings.meter(records, whole)


def trend(report: Report, rows: int) -> parts.Parts:
    """The clients that changed; nothing if no day before is known."""
    known = report["trend"]
    if known is None:
        return []
    changes = [
        (
            parts.text(words.short(words.client(change["client_id"])), "client"),
            words.change(known, change["kind"]),
            f"{words.count(change['rejected_records'])} of {words.count(change['records'])}",
            _before(change),
        )
        for change in known["changes"][:rows]
    ]
    least = words.many(LEAST_RECORDS, "record")
    nobody = parts.paragraph(f"Nobody by {least} or more, as far as the log tells.", "none")
    heads = ("Producer", "Change", "#Rejected that day", "#In the days before")
    return [
        parts.table("changes", heads, changes) if known["changes"] else nobody,
        parts.more(known["changed_producers"] - len(changes), "producer", ", not listed"),
    ]


def _before(change: Change) -> str:
    share = words.share(change["rejected_before"], change["records_before"])
    return f"{words.count(change['rejected_before'])} ({share})" if change["rejected_before"] else "none"
