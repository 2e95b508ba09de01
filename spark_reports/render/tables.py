"""Columns of tables, and the tables, lists and legends of the page.

On narrow screens the rows of a table become cards, labelled by the names of the columns. With this style, a
screen reader would not recognize a table, so the elements have explicit roles.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

from spark_reports.report import words
from tsproxy.model.markup import Content, Markup, element, join, raw
from tsproxy.model.outcome import VerdictName

Row = TypeVar("Row")
_AFTER_A_SIGN: Final = re.compile(r"(?<=[._/:])(?=\w)")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column, said once: the page and report.md show it."""

    head: str
    """It begins with `#` above numbers."""
    text: Callable[[Row], str] | None
    """The cell in report.md; None if only the page has this column."""
    look: Callable[[Row], Content] | None = None
    """The cell on the page; None if it is the text."""

    @property
    def name(self) -> str:
        return self.head.removeprefix("#")

    @property
    def class_(self) -> str | None:
        return "num" if self.head.startswith("#") else None

    def cell(self, row: Row) -> Content:
        """The cell on the page."""
        shown: Callable[[Row], Content] | None = self.look or self.text
        assert shown is not None, self.head
        return shown(row)


Columns = Sequence[Column[Row]]


def count(head: str, key: str) -> Column[Any]:
    """A column of the numbers that the rows have by this key."""
    return Column(f"#{head}", lambda row: words.count(row[key]))


def name(head: str, text: Callable[[Row], str], class_: str = "name") -> Column[Row]:
    """A column of names from the log."""
    return Column(head, text, lambda row: element("span", breakable(text(row)), class_=class_))


def breakable(name: str) -> Markup:
    """The name. A browser breaks it after its signs, and within a word only if the word is too wide."""
    first, *others = _AFTER_A_SIGN.split(name)
    return join(first, *[join(raw("<wbr>"), other) for other in others])


CAUSE_AND_FIX: Final = itemgetter("cause", "fix")


def mistake(head: str, of: Callable[[Row], tuple[str, str]]) -> Column[Row]:
    """A column of causes, each with what to do below it."""
    return Column(
        head,
        lambda row: ": ".join(of(row)),
        lambda row: join(
            words.sentence(of(row)[0]), element("div", words.sentence(of(row)[1]), class_="soft")
        ),
    )


def of_cells(*heads: str) -> Columns[Sequence[Any]]:
    """The columns of rows that are their cells."""
    return [Column(head, itemgetter(place)) for place, head in enumerate(heads)]


def table(columns: Columns[Row], rows: Iterable[Row], kind: str) -> Markup:
    """A table; `kind` is its CSS class."""
    head = [
        element("th", column.name, scope="col", role="columnheader", class_=column.class_)
        for column in columns
    ]
    return element(
        "table",
        element("thead", element("tr", *head, role="row"), role="rowgroup"),
        element("tbody", *[_row(columns, row) for row in rows], role="rowgroup"),
        class_=f"cards {kind}",
        role="table",
    )


def _row(columns: Columns[Row], row: Row) -> Markup:
    cells = [
        element("td", element("div", each.cell(row)), role="cell", class_=each.class_, data_label=each.name)
        for each in columns
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


def more(count: int) -> Markup | None:
    return (
        element("p", f"And {words.count(count)} more in report.json.", class_="more") if count > 0 else None
    )
