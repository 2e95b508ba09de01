"""The outcomes of checked records, for every renderer. Their sum is all checked records."""

from spark_reports.report import words
from spark_reports.report.headline import sent_again_records
from spark_reports.report.shape import Totals


def parts_of(totals: Totals) -> list[tuple[int, str, str]]:
    """(records, words, CSS class) of each outcome that there is."""
    parts = [
        (totals["records_accepted"], "accepted", "accepted"),
        (totals["records_repaired"], "repaired", "repaired"),
        (totals["records_rejected"], "rejected by tsproxy", "ours"),
        (totals["records_broker_rejected"], "rejected by the broker", "broker"),
        (totals["records_unconfirmed"], "unconfirmed", "unconfirmed"),
    ]
    return [part for part in parts if part[0]]


def sent_again(totals: Totals) -> str:
    """A sentence about records that are not among the checked ones; empty if there are none."""
    records = sent_again_records(totals)
    if not records:
        return ""
    return (
        f"Not counted: {words.many(records, 'record')} that failed with an error that most producers retry."
    )
