"""The outcomes of judged records, whose sum is all judged records; for every renderer."""

from typing import Final

from spark_reports.report.shape import Totals

PARTS: Final = (
    ("records_accepted", "accepted", "accepted"),
    ("records_repaired", "repaired", "repaired"),
    ("records_rejected", "rejected by tsproxy", "ours"),
    ("records_broker_rejected", "rejected by the broker", "broker"),
    ("records_unconfirmed", "unconfirmed", "unconfirmed"),
)
"""Key of Totals, words, CSS class: together they are `records_judged`."""


def parts_of(totals: Totals) -> list[tuple[int, str, str]]:
    """(records, words, class) of every outcome; repairs only if there are any."""
    counts = {
        "records_accepted": totals["records_accepted"],
        "records_repaired": totals["records_repaired"],
        "records_rejected": totals["records_rejected"],
        "records_broker_rejected": totals["records_broker_rejected"],
        "records_unconfirmed": totals["records_unconfirmed"],
    }
    return [(counts[key], said, kind) for key, said, kind in PARTS if counts[key] or kind != "repaired"]
