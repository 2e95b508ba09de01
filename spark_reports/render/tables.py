"""Tables, lists and legends of the page.

On narrow screens the rows of a table become cards, labelled by the names of the columns. With this style, a
screen reader would not recognize a table, so the elements have explicit roles.
"""

from collections.abc import Sequence

from spark_reports.report import words
from tsproxy.model.markup import Content, Markup, element, join
from tsproxy.model.outcome import VerdictName

Heads = Sequence[tuple[str, str | None]]
"""(name, CSS class) of each column; `num` for numbers."""


def heads(*names: str) -> Heads:
    """The columns of a table. The name of a column of numbers begins with `#` here."""
    return [(name.removeprefix("#"), "num" if name.startswith("#") else None) for name in names]


def table(heads: Heads, rows: Sequence[Sequence[Content]], kind: str) -> Markup:
    """A table; `kind` is its CSS class. Every row has as many cells as there are heads."""
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
    """A coloured word for the reason, and for who rejected."""
    is_broker = verdict == VerdictName.BROKER_REJECTED
    word = words.REASON_WORDS.get(reason or "", "other")
    if is_broker and words.is_unspecific(reason):
        word = words.error_name(error_code).partition(" (")[0]
    return element(
        "span", f"broker: {word}" if is_broker else word, class_=f"tag {'broker' if is_broker else 'ours'}"
    )


def bullets(texts: Sequence[Content], class_: str | None = None) -> Markup | None:
    """A list; None if it is empty."""
    return element("ul", *[element("li", text) for text in texts], class_=class_) if texts else None


def legend(**texts: str) -> Markup:
    """The meaning of each colour (CSS class)."""
    signs = [element("span", element("i", class_=kind), text) for kind, text in texts.items()]
    return element("p", join(*signs), class_="legend soft")


def more(count: int) -> Markup | None:
    return (
        element("p", f"And {words.count(count)} more in report.json.", class_="more") if count > 0 else None
    )
