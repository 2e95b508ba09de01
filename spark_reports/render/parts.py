"""The kinds of parts of a page, as HTML. Their text is escaped.

On narrow screens the rows of a table become cards, labelled by the names of the columns. With this style, a
screen reader would not recognize a table, so the elements have explicit roles.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spark_reports.report import words
from tsproxy.model.markup import Markup, element, join, raw

Content = str | int | None | tuple["Content", ...]
"""A cell or a sentence. A number is shown with commas."""
Parts = Sequence[Markup | None]

_AFTER_A_SIGN: Final = re.compile(r"(?<=[._/:])(?=\w)")
_BREAKABLE: Final = frozenset({"name", "client"})
_ELEMENTS: Final = {"b": "b", "code": "code"}
"""The looks that are elements of HTML."""


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    """The title of the window."""
    kicker: str
    """The line above the headline, after `tsproxy`."""
    headline: str
    head: Parts
    """Below the headline, before the sections."""
    sections: Parts
    foot: Content = None
    nav: Markup | None = None
    """Above the headline."""


def inline(content: Content) -> Markup:
    if isinstance(content, tuple):
        return join(*map(inline, content))
    return join(words.count(content) if isinstance(content, int) else content)


def text(shown: str, look: str = "", link: str | None = None) -> Markup:
    """Text with a look (a class of report.css), and perhaps a link. The looks `name` and `client` are of
    names from the log. A browser breaks these after their signs, and within a word only if it is too wide."""
    first, *others = _AFTER_A_SIGN.split(shown) if look in _BREAKABLE else [shown]
    breakable = join(first, *[join(raw("<wbr>"), other) for other in others])
    name = "a" if link else _ELEMENTS.get(look, "span")
    return element(name, breakable, href=link, class_=None if look in _ELEMENTS else look or None)


def below(shown: str) -> Markup:
    """Less important text, on a line below what it belongs to."""
    return element("div", shown, class_="soft")


def mistake(cause: str, fix: str) -> Content:
    """A cause with what to do below it."""
    return words.sentence(cause), below(words.sentence(fix))


def paragraph(content: Content, look: str = "") -> Markup:
    return element("p", inline(content), class_=look or None)


def copied(shown: str) -> Markup:
    """A text that its reader copies whole."""
    return element("pre", shown)


def bullets(items: Sequence[Content], look: str = "") -> Markup | None:
    listed = [element("li", inline(item)) for item in items]
    return element("ul", *listed, class_=look or None) if listed else None


def facts(pairs: Sequence[tuple[str, str]]) -> Markup:
    """Names and values."""
    terms = [element("div", element("dt", name), element("dd", value)) for name, value in pairs]
    return element("dl", *terms, class_="facts")


def links(label: str, shown: Sequence[Content]) -> Markup:
    """The way to other pages. `label` names it for screen readers."""
    return element("nav", *map(inline, shown), aria_label=label)


def table(kind: str, heads: Sequence[str], rows: Sequence[Sequence[Content]]) -> Markup | None:
    """A table with these cells; `kind` is its CSS class. `heads` begin with `#` above numbers. None without
    rows."""
    columns = _columns(heads)
    named = [element("th", name, scope="col", role="columnheader", class_=class_) for name, class_ in columns]
    written = element(
        "table",
        element("thead", element("tr", *named, role="row"), role="rowgroup"),
        element("tbody", *[_row(columns, cells) for cells in rows], role="rowgroup"),
        class_=f"cards {kind}",
        role="table",
    )
    return written if rows else None


def _columns(heads: Sequence[str]) -> list[tuple[str, str | None]]:
    """The name of each column, and its class."""
    return [(head.removeprefix("#"), "num" if head.startswith("#") else None) for head in heads]


def _row(columns: Sequence[tuple[str, str | None]], cells: Sequence[Content]) -> Markup:
    shown = [
        element("td", element("div", inline(cell)), role="cell", class_=class_, data_label=name)
        for (name, class_), cell in zip(columns, cells, strict=True)
    ]
    return element("tr", *shown, role="row")


@dataclass(frozen=True, slots=True)
class Line:
    """A row that opens on the page, without a script. The first cell is its name."""

    cells: Sequence[Content]
    details: Parts
    anchor: str | None
    """The id of the details. A browser that follows a link to it opens the line and what the line is in."""


def lines(
    kind: str,
    heads: Sequence[str],
    listed: Sequence[Line],
    *,
    has_heads: bool = True,
    folded: tuple[int, str] | None = None,
) -> Markup | None:
    """A table of lines that open. `folded`: the lines from this one on are in one entry with this name.

    On wide screens the names of the cells stand once above the lines, unless a list before has the same. On
    narrow ones each cell has its own. Screen readers always read them with the cells.
    """
    columns, class_ = _columns(heads), f"lines {kind}"
    names = [element("span", name, class_=class_) for name, class_ in columns]
    head = element("div", *names, class_="cells heads", aria_hidden="true") if has_heads else None
    written = [_line(columns, line) for line in listed]
    end, name = folded or (len(written), "")
    shown = element("div", head, *written[:end], class_=class_)
    rest = element("div", *written[end:], class_=class_)
    entry = element("details", element("summary", name), rest, class_="folded")
    return join(shown, entry if written[end:] else None) if written else None


def _line(columns: Sequence[tuple[str, str | None]], line: Line) -> Markup:
    first, *others = map(inline, line.cells)
    cells = [
        element("span", element("span", f"{name}: ", class_="label"), cell, class_=class_)
        for (name, class_), cell in zip(columns[1:], others, strict=True)
    ]
    summary = element("summary", element("span", element("span", first), *cells, class_="cells"))
    details = element("div", *line.details, class_="opened", id=line.anchor)
    return element("details", summary, details, class_="line")


def proof(look: str, name: str, content: Parts) -> Markup:
    """The completeness of the log as one mark (`look`), which opens to the sentences about it."""
    mark = element("span", "✓" if look == "complete" else "!", aria_hidden="true")
    summary = element("summary", mark, name)
    return element("details", summary, *content, class_=f"proof {look}")


def group(title: str, content: Parts, look: str = "") -> Markup:
    """Parts below a heading of their own, or none. `look`: how the page holds them together."""
    inside = join(element("h3", title) if title else None, *content)
    return element("div", inside, class_=look) if look else inside


def section(
    name: str, title: str, content: Parts, *, is_closed: bool = False, has_head: bool = True
) -> Markup | None:
    """A part of a page; None if it is empty. Its title carries its number, since it may be closed until the
    reader opens it by its title, on paper too. Without a head, only screen readers read the title."""
    inside = join(*content)
    if not inside:
        return None
    if not has_head:
        return element("section", inside, aria_label=title)
    head = element("h2", title, id=name)
    if is_closed:
        head, inside = element("details", element("summary", head), inside, class_="part"), join()
    return element("section", head, inside, aria_labelledby=name)


def more(number: int, one: str = "", where: str = " in report.json") -> Markup | None:
    """A sentence about what is left out: `And 3 more in report.json.`; None if nothing is."""
    told = words.many(number, f"more {one}") if one else f"{words.count(number)} more"
    return paragraph(f"And {told}{where}.", "more") if number > 0 else None
