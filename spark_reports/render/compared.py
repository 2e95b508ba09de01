"""Comparisons: other limits, the days before, and how far timestamps were off.

The ranges of drift end at limits that people use. These are edges of the histogram, so the numbers are exact.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final

from spark_reports.render.parts import Content, Meter, Paragraph, Parts, Table, Text, more
from spark_reports.report import words
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Change, DriftBucket, Report, WhatIf
from spark_reports.report.what_if import KAFKA_4_AFTER_MS, SHOWN_MS, in_short

_NO_TIMESTAMP: Final = Paragraph("No record carried a timestamp.", "none")
_UNITS: Final = {-1: "seconds, sent as milliseconds", 1: "microseconds or nanoseconds, sent as milliseconds"}
"""The usual mistakes beyond the last range, behind and ahead."""


def what_if(report: Report) -> Parts:
    """The records that each limit would reject on each side, among all records."""
    counts = report["what_if"]
    whole = counts["records"]
    left_out = [Paragraph(text, "soft note") for text in words.left_out(counts["records_left_out"])]
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
    return [*left_out, Paragraph(text, "soft note"), Table("whatif", heads, rows)]


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


def _limit(limit_ms: int) -> Content:
    name = words.duration(limit_ms)
    if limit_ms != KAFKA_4_AFTER_MS:
        return name
    return Text(name, "b"), Text(" Kafka 4's default, ahead", "soft")


def _part(records: int, whole: int, look: str = "") -> Content:
    """`1,200 (4.0%)` with a bar; `none`."""
    if not records:
        return Text("none", "soft")
    return f"{words.count(records)} ({words.share(records, whole)})", Meter(records, whole, look)


def trend(report: Report, rows: int) -> Parts:
    """The clients that changed; nothing if no day before is known."""
    known = report["trend"]
    if known is None:
        return []
    changes = [
        (
            Text(words.short(words.client(change["client_id"])), "client"),
            words.change(known, change["kind"]),
            f"{words.count(change['rejected_records'])} of {words.count(change['records'])}",
            _before(change),
        )
        for change in known["changes"]
    ]
    nobody = Paragraph("Nobody: the same producers, rejected as often as before.", "none")
    heads = ("Producer", "Change", "#Rejected that day", "#In the days before")
    return [Table("changes", heads, changes[:rows]) if changes else nobody, more(len(changes) - rows)]


def _before(change: Change) -> str:
    share = words.share(change["rejected_before"], change["records_before"])
    return f"{words.count(change['rejected_before'])} ({share})" if change["rejected_before"] else "none"


@dataclass(frozen=True, slots=True)
class Range:
    """The batches whose drift lies between two of SHOWN_MS on one side (-1 behind, 1 ahead, 0 on time)."""

    report: Report
    side: int
    number: int
    """The place of its end in SHOWN_MS; that of the last range is one beyond."""
    others: int
    rejected: int

    @property
    def text(self) -> str:
        if self.side == 0:
            return "on time"
        side = "ahead" if self.side > 0 else "behind"
        if self.number == 0:
            return f"up to {words.duration(SHOWN_MS[0])} {side}"
        least = words.duration(SHOWN_MS[self.number - 1])
        if self.number == len(SHOWN_MS):
            return f"over {least} {side}"
        return f"{least} to {words.duration(SHOWN_MS[self.number])} {side}"

    @property
    def marks(self) -> str:
        """The limits in force in the range or at its lower end, and beyond all, the mistaken units."""
        known = self.report["limits"] if self.side else []
        limits = {row["before_max_ms"] if self.side < 0 else row["after_max_ms"] for row in known} - {None}
        here = sorted(limit for limit in limits if limit and bisect_right(SHOWN_MS, limit) == self.number)
        units = [_UNITS[self.side]] if self.number == len(SHOWN_MS) else []
        return ", ".join([*(f"limit {words.duration(limit)}" for limit in here), *units]) or "–"


def ranges(report: Report) -> list[Range]:
    """The ranges with records, from the farthest behind to the farthest ahead."""
    sums: dict[tuple[int, int], list[DriftBucket]] = {}
    for bucket in report["drift"]:
        side = (bucket["bucket"] > 0) - (bucket["bucket"] < 0)
        sums.setdefault((side, bisect_left(SHOWN_MS, bucket["up_to_ms"]) if side else 0), []).append(bucket)
    return [
        Range(
            report,
            *key,
            others=sum(bucket["not_rejected_records"] for bucket in sums[key]),
            rejected=sum(bucket["rejected_records"] for bucket in sums[key]),
        )
        for key in sorted(sums, key=lambda key: key[0] * (key[1] + 1))
    ]


def drift(report: Report) -> Parts:
    """How far timestamps were off: records by ranges of drift, with the limits and units that lie in each."""
    if not report["drift"]:
        return [_NO_TIMESTAMP]
    text = (
        "Each batch counts with all its records: behind by its oldest record, ahead by its newest. A "
        "rejected batch counts only on the side that broke the limit."
    )
    rejected = rejected_records(report["totals"])
    others = report["totals"]["records_judged"] - rejected
    rows = [
        (row.text, _part(row.others, others, "passed"), _part(row.rejected, rejected), row.marks)
        for row in ranges(report)
    ]
    heads = ("Drift", "Not rejected", "Rejected", "Limits and units here")
    return [Paragraph(text, "soft note"), Table("drift", heads, rows)]
