"""The comparison with the days before."""

from spark_reports.render import parts
from spark_reports.report import words
from spark_reports.report.shape import Change, Report


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
        for change in known["changes"]
    ]
    nobody = parts.paragraph("Nobody: the same producers, rejected as often as before.", "none")
    heads = ("Producer", "Change", "#Rejected that day", "#In the days before")
    return [
        parts.table("changes", heads, changes[:rows]) if changes else nobody,
        parts.more(len(changes) - rows),
    ]


def _before(change: Change) -> str:
    share = words.share(change["rejected_before"], change["records_before"])
    return f"{words.count(change['rejected_before'])} ({share})" if change["rejected_before"] else "none"
