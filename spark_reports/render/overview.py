"""The top of the page: the balance of all records, and six numbers."""

from collections.abc import Sequence
from typing import Final

from spark_reports.render import history
from spark_reports.render.balance import parts_of, sent_again
from spark_reports.report import words
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Report
from tsproxy.model.markup import Markup, element, join

_SENTENCE_CHARS: Final = 2_000


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
    """The day in six numbers, each with the whole of which it is a part.

    With a rollup, two of them compare the day with the week before, and a sentence below says more.
    """
    totals = report["totals"]
    rejected = rejected_records(totals)
    part_of_batches = words.share(totals["batches_rejected"], totals["batches_judged"])
    mistaken = words.many(totals["producers_with_unit_mistakes"], "producer")
    numbers: list[tuple[str, str, str]] = [
        _number(rejected, "records rejected", words.share(rejected, totals["records_judged"])),
        _number(totals["collateral_records"], "good records rejected", "in batches with bad ones"),
        _number(totals["producers_affected"], "producers affected", f"of {words.count(totals['producers'])}"),
        _number(totals["unit_mistake_records"], "records in a wrong unit", f"from {mistaken}"),
    ]
    found = history.of(report)
    if found is None:
        batches = words.many(totals["batches_judged"], "batch", "batches")
        checked = _number(totals["records_judged"], "records checked", f"in {batches}")
        rest = _number(totals["batches_rejected"], "batches rejected", part_of_batches)
        return _cards([checked, numbers[0], rest, *numbers[1:]])
    week, new = history.against_the_week(found), history.new_producers(report)
    return join(
        _cards([numbers[0], week, new, *numbers[1:]], history.sparkline(found)),
        element("p", words.short(found["sentence"], _SENTENCE_CHARS), class_="soft note"),
    )


def _number(number: int, name: str, note: str) -> tuple[str, str, str]:
    return words.count(number), name, note


def _cards(numbers: Sequence[tuple[str, str, str]], second_has: Markup | None = None) -> Markup:
    """The cards, from (number, name, note) of each; `second_has` is a drawing in the second card."""
    return element(
        "dl",
        *[
            element(
                "div",
                element("dt", name),
                element("dd", number),
                element("dd", note, second_has if place == 1 else None, class_="soft"),
            )
            for place, (number, name, note) in enumerate(numbers)
        ],
        class_="six",
    )
