"""A page as HTML: one file that opens anywhere, with no network, no script and at most 300 KB.

Tables are as long as the file allows. The page counts the rows that it leaves out; report.json has them.

On narrow screens the rows of a table become cards, labelled by the names of the columns. With this style, a
screen reader would not recognize a table, so the elements have explicit roles.
"""

import re
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Final, assert_never

from spark_reports.render import day, drawings, parts
from spark_reports.report import words
from spark_reports.report.shape import Report
from tsproxy.model.markup import Markup, element, join, raw

MAX_BYTES: Final = 300_000
_ROWS: Final = (1_000, 200, 100, 50, 25, 10, 3, 1, 0)

_AFTER_A_SIGN: Final = re.compile(r"(?<=[._/:])(?=\w)")
_BREAKABLE: Final = frozenset({"name", "client"})
_ELEMENTS: Final = {"b": "b", "code": "code"}
"""The looks that are elements of HTML."""


def render(report: Report) -> str:
    """The page of a day."""
    return fitting(lambda rows: day.page(report, rows))


def fitting(make: Callable[[int], parts.Page]) -> str:
    """The page with as many rows of its tables as the size allows."""
    for rows in _ROWS:
        text = write(make(rows))
        if len(text.encode("utf-8")) <= MAX_BYTES:
            break
    return text


def write(page: parts.Page) -> str:
    """The text of the page, with its style in it."""
    style = resources.files("spark_reports.render").joinpath("report.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", page.title),
        element("style", raw(style)),
    )
    header = element(
        "header",
        element("p", element("b", "tsproxy"), page.kicker, class_="kicker"),
        _part(page.nav),
        element("h1", page.headline),
        _all(page.head),
    )
    footer = element("footer", element("p", _inline(page.foot))) if page.foot else None
    body = element("body", header, element("main", _all(page.sections)), footer)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _inline(content: parts.Content) -> Markup:
    match content:
        case None | str():
            return join(content)
        case int():
            return join(words.count(content))
        case tuple():
            return join(*map(_inline, content))
        case parts.Text(text, look, link):
            shown = _breakable(text) if look in _BREAKABLE else text
            name = "a" if link else _ELEMENTS.get(look, "span")
            return element(name, shown, href=link, class_=None if look in _ELEMENTS else look or None)
        case parts.Below(text):
            return element("div", text, class_="soft")
        case parts.Meter():
            return drawings.meter(content)
        case parts.Spark():
            return drawings.sparkline(content)
        case _:
            assert_never(content)


def _breakable(name: str) -> Markup:
    """The name. A browser breaks it after its signs, and within a word only if the word is too wide."""
    first, *others = _AFTER_A_SIGN.split(name)
    return join(first, *[join(raw("<wbr>"), other) for other in others])


def _all(content: parts.Parts) -> Markup:
    return join(*map(_part, content))


def _part(part: parts.Part | None) -> Markup | None:
    match part:
        case None:
            return None
        case parts.Paragraph(content, look):
            return element("p", _inline(content), class_=look or None)
        case parts.Copied(text):
            return element("pre", text)
        case parts.Bullets(items, look):
            shown = [element("li", _inline(item)) for item in items]
            return element("ul", *shown, class_=look or None) if shown else None
        case parts.Facts(pairs):
            terms = [element("div", element("dt", name), element("dd", value)) for name, value in pairs]
            return element("dl", *terms, class_="facts")
        case parts.Links(label, links):
            return element("nav", *map(_inline, links), aria_label=label)
        case parts.Table():
            return _table(part) if part.rows else None
        case parts.Lines():
            return _lines(part) if part.lines else None
        case parts.Proof():
            return _proof(part)
        case parts.Balance():
            return drawings.balance(part)
        case parts.Hours():
            return drawings.hours(part)
        case parts.Days():
            return drawings.days(part)
        case parts.Group(title, content, look):
            inside = join(element("h3", title) if title else None, _all(content))
            return element("div", inside, class_=look) if look else inside
        case parts.Section():
            return _section(part)
        case _:
            assert_never(part)


def _section(section: parts.Section) -> Markup | None:
    content = _all(section.content)
    if not content:
        return None
    if not section.has_head:
        return element("section", content, aria_label=section.title)
    head = element("h2", section.title, id=section.name)
    if section.is_closed:
        head, content = element("details", element("summary", head), content, class_="part"), join()
    return element("section", head, content, aria_labelledby=section.name)


def _columns(heads: Sequence[str]) -> list[tuple[str, str | None]]:
    """The name of each column, and its class."""
    return [(head.removeprefix("#"), "num" if head.startswith("#") else None) for head in heads]


def _table(table: parts.Table) -> Markup:
    columns = _columns(table.heads)
    heads = [element("th", name, scope="col", role="columnheader", class_=class_) for name, class_ in columns]
    return element(
        "table",
        element("thead", element("tr", *heads, role="row"), role="rowgroup"),
        element("tbody", *[_row(columns, cells) for cells in table.rows], role="rowgroup"),
        class_=f"cards {table.kind}",
        role="table",
    )


def _row(columns: Sequence[tuple[str, str | None]], cells: Sequence[parts.Content]) -> Markup:
    shown = [
        element("td", element("div", _inline(cell)), role="cell", class_=class_, data_label=name)
        for (name, class_), cell in zip(columns, cells, strict=True)
    ]
    return element("tr", *shown, role="row")


def _lines(lines: parts.Lines) -> Markup:
    """On wide screens the names of the cells stand once above the lines. On narrow ones each cell has its
    own. Screen readers always read them with the cells."""
    columns, class_ = _columns(lines.heads), f"lines {lines.kind}"
    names = [element("span", name, class_=class_) for name, class_ in columns]
    heads = element("div", *names, class_="cells heads", aria_hidden="true") if lines.has_heads else None
    written = [_line(columns, line) for line in lines.lines]
    end, name = lines.folded or (len(written), "")
    shown = element("div", heads, *written[:end], class_=class_)
    rest = element("div", *written[end:], class_=class_)
    folded = element("details", element("summary", name), rest, class_="folded")
    return join(shown, folded if written[end:] else None)


def _line(columns: Sequence[tuple[str, str | None]], line: parts.Line) -> Markup:
    first, *others = map(_inline, line.cells)
    cells = [
        element("span", element("span", f"{name}: ", class_="label"), cell, class_=class_)
        for (name, class_), cell in zip(columns[1:], others, strict=True)
    ]
    summary = element("summary", element("span", element("span", first), *cells, class_="cells"))
    details = element("div", _all(line.details), class_="opened", id=line.anchor)
    return element("details", summary, details, class_="line")


def _proof(proof: parts.Proof) -> Markup:
    mark = element("span", "✓" if proof.look == "complete" else "!", aria_hidden="true")
    summary = element("summary", mark, proof.name)
    return element("details", summary, _all(proof.content), class_=f"proof {proof.look}")
