"""Lists whose lines open: the cells of a row in one line, and its details below them, without a script.

On wide screens the names of the cells stand once above the lines. On narrow ones each cell has its own.
Screen readers always read them with the cells.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic

from spark_reports.render.tables import Columns, Row
from tsproxy.model.markup import Markup, element


@dataclass(frozen=True, slots=True)
class Lines(Generic[Row]):
    """A list of lines; `kind` is its CSS class. The first column has the name of the row."""

    kind: str
    columns: Columns[Row]
    details: Callable[[Row], Markup]
    """Shown when the line is opened."""
    anchor: Callable[[Row], str | None]
    """The id of the details. A browser that follows a link to it opens the line and what the line is in."""

    def on_page(self, rows: Iterable[Row], *, has_heads: bool = True) -> Markup:
        """The list. If several lists have the same heads, only the first one shows them."""
        names = [element("span", column.name, class_=column.class_) for column in self.columns]
        return element(
            "div",
            element("div", *names, class_="cells heads", aria_hidden="true") if has_heads else None,
            *[self._line(row) for row in rows],
            class_=f"lines {self.kind}",
        )

    def _line(self, row: Row) -> Markup:
        name, *others = self.columns
        cells = [
            element(
                "span",
                element("span", f"{column.name}: ", class_="label"),
                column.cell(row),
                class_=column.class_,
            )
            for column in others
        ]
        summary = element("summary", element("span", element("span", name.cell(row)), *cells, class_="cells"))
        details = element("div", self.details(row), class_="opened", id=self.anchor(row))
        return element("details", summary, details, class_="line")


def folded(text: str, content: Markup) -> Markup:
    """Content that opens below its name."""
    return element("details", element("summary", text), content, class_="folded")


def facts(*texts: str | None) -> Markup:
    """Short sentences in one paragraph; None is left out."""
    return element("p", " ".join(filter(None, texts)))
