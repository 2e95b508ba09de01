"""Tables for everybody: on narrow screens rows become cards, labelled by their column's name.

Explicit roles keep such a table a table for a screen reader, which the style would otherwise take away.
"""

from collections.abc import Sequence

from spark_reports.report import words
from tsproxy.model.markup import Content, Markup, element
from tsproxy.model.outcome import VerdictName

Heads = Sequence[tuple[str, str | None]]
"""(name, CSS class) of each column; `num` for numbers."""


def table(heads: Heads, rows: Sequence[Sequence[Content]], kind: str) -> Markup:
    """`kind` is the table's CSS class. Every row has as many cells as there are heads."""
    head = [element("th", name, scope="col", role="columnheader", class_=own) for name, own in heads]
    return element(
        "table",
        element("thead", element("tr", *head, role="row"), role="rowgroup"),
        element("tbody", *[_row(heads, row) for row in rows], role="rowgroup"),
        class_=f"cards {kind}",
        role="table",
    )


def _row(heads: Heads, row: Sequence[Content]) -> Markup:
    cells = [
        element("td", element("div", cell), role="cell", class_=own, data_label=name)
        for cell, (name, own) in zip(row, heads, strict=True)
    ]
    return element("tr", *cells, role="row")


def tag(verdict: str, reason: str | None, error_code: int) -> Markup:
    """A coloured word for why, and by whom."""
    is_broker = verdict == VerdictName.BROKER_REJECTED
    word = words.REASON_WORDS.get(reason or "", "other")
    if is_broker and words.is_unspecific(reason):
        word = words.error_name(error_code).partition(" (")[0]
    return element(
        "span", f"broker: {word}" if is_broker else word, class_=f"tag {'broker' if is_broker else 'ours'}"
    )
