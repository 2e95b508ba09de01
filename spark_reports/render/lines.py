"""Lists whose lines open: the cells of a row in one line, and its details below them, without a script.

On wide screens the names of the cells stand once above the lines. On narrow ones each cell has its own.
Screen readers always read them with the cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spark_reports.render.tables import Heads
from tsproxy.model.markup import Content, Markup, element


@dataclass(frozen=True, slots=True)
class Line:
    """A row. `cells` are as many as there are heads."""

    cells: Sequence[Content]
    details: Markup
    """Shown when the line is opened."""
    anchor: str | None = None
    """The id of the line, for links."""


def lines(heads: Heads, rows: Sequence[Line], kind: str, *, has_heads: bool = True) -> Markup:
    """A list of lines; `kind` is its CSS class. The first cell is the name of the row. If several lists have
    the same heads, only the first one shows them."""
    names = [element("span", name, class_=own) for name, own in heads]
    return element(
        "div",
        element("div", *names, class_="cells heads", aria_hidden="true") if has_heads else None,
        *[_line(heads, row) for row in rows],
        class_=f"lines {kind}",
    )


def _line(heads: Heads, row: Line) -> Markup:
    name, *others = row.cells
    cells = [
        element("span", element("span", f"{head}: ", class_="label"), cell, class_=own)
        for cell, (head, own) in zip(others, heads[1:], strict=True)
    ]
    summary = element("summary", element("span", element("span", name), *cells, class_="cells"))
    return element(
        "details", summary, element("div", row.details, class_="opened"), class_="line", id=row.anchor
    )


def folded(text: str, content: Markup) -> Markup:
    """Content that opens below its name."""
    return element("details", element("summary", text), content, class_="folded")


def facts(*texts: str | None) -> Markup:
    """Short sentences in one paragraph; None is left out."""
    return element("p", " ".join(filter(None, texts)))
