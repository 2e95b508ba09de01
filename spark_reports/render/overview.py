"""The top of the page: the balance of all records, and six numbers."""

from spark_reports.render.balance import parts_of, sent_again
from spark_reports.report import words
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Report
from tsproxy.model.markup import Markup, element


def balance(report: Report) -> Markup:
    """Checked records as the sum of their outcomes: a bar, and the sum in words."""
    totals = report["totals"]
    parts = parts_of(totals)
    judged = totals["records_judged"]
    bar = [
        element("span", class_=kind, style=f"flex-grow:{records / judged:.5f}")
        for records, _, kind in parts
        if records
    ]
    legend = [
        element(
            "li",
            element("i", class_=kind),
            element("b", words.count(records)),
            f" {text} ",
            element("span", words.share(records, judged), class_="soft"),
        )
        for records, text, kind in parts
    ]
    again = sent_again(totals)
    return element(
        "section",
        element("p", element("b", words.count(judged)), " records checked =", class_="judged"),
        element("div", *bar, class_="bar", role="presentation"),
        element("ul", *legend, class_="legend"),
        element("p", again, class_="soft") if again else None,
        class_="balance",
        aria_label="How the records ended",
    )


def six_numbers(report: Report) -> Markup:
    """The day in six numbers, each with the whole of which it is a part."""
    totals = report["totals"]
    rejected = rejected_records(totals)
    batches = words.many(totals["batches_judged"], "batch", "batches")
    part_of_batches = words.share(totals["batches_rejected"], totals["batches_judged"])
    affected = f"of {words.count(totals['producers'])}{_new(report)}"
    mistaken = words.many(totals["producers_with_unit_mistakes"], "producer")
    numbers: tuple[tuple[int, str, str], ...] = (
        (totals["records_judged"], "records checked", f"in {batches}"),
        (rejected, "records rejected", words.share(rejected, totals["records_judged"])),
        (totals["batches_rejected"], "batches rejected", part_of_batches),
        (totals["collateral_records"], "good records rejected", "in batches with bad ones"),
        (totals["producers_affected"], "producers affected", affected),
        (totals["unit_mistake_records"], "records in a wrong unit", f"from {mistaken}"),
    )
    return element(
        "dl",
        *[
            element(
                "div",
                element("dt", name),
                element("dd", words.count(number)),
                element("dd", note, class_="soft"),
            )
            for number, name, note in numbers
        ],
        class_="six",
    )


def _new(report: Report) -> str:
    """The number of new producers, if the days before are known and there are any."""
    count = len(words.new_clients(report["trend"]))
    return f", {words.count(count)} new" if count else ""
