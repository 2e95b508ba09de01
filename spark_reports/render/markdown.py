"""A page as Markdown for tickets, wikis and chat. Tables are GitHub's; all text is escaped.

It leaves out what needs a page: links, pictures, and the evidence of each producer.
"""

import re
from collections.abc import Sequence
from typing import Final, assert_never

from spark_reports.render import day, parts
from spark_reports.report import words
from spark_reports.report.shape import Report
from tsproxy.decisions.text import bounded

_ROWS: Final = 25
_TEXT_CHARS: Final = 2_000
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~&!])")
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}


def escape(text: str) -> str:
    """The text in a form that Markdown shows as it is: no link, no markup, no end of a table's cell.

    `&` and `<` become entities, because HTML inside Markdown is HTML. Unprintable characters, line ends
    among them, are escaped as in the decision log.
    """
    shown = bounded(text, _TEXT_CHARS)
    written = _SPECIAL.sub(lambda special: _ENTITIES.get(special[1], f"\\{special[1]}"), shown)
    # Most renderers make an address in plain text a link. A client's id must not become one.
    return written.replace("://", ":&#8203;//").replace("www.", "www&#8203;.").replace("@", "&#64;")


def render(report: Report) -> str:
    """The page of a day."""
    return write(day.page(report, _ROWS))


def write(page: parts.Page) -> str:
    head = (f"# tsproxy{escape(page.kicker)}", f"**{escape(page.headline)}**")
    return "\n\n".join([*head, *_all(page.head), *_all(page.sections)]) + "\n"


def _inline(content: parts.Content) -> str:
    match content:
        case None | parts.Meter():
            return ""
        case str():
            return escape(content)
        case int():
            return words.count(content)
        case tuple():
            return "".join(map(_inline, content))
        case parts.Text():
            return escape(content.text if content.in_markdown is None else content.in_markdown)
        case parts.Below(text):
            return f" ({escape(text)})" if text else ""
        case parts.Spark():
            return escape(content.label)
        case _:
            assert_never(content)


def _all(content: parts.Parts) -> list[str]:
    """The texts of the parts that have one."""
    return [text for text in map(_part, content) if text]


def _part(part: parts.Part | None) -> str:
    match part:
        case None | parts.Copied() | parts.Links() | parts.Hours() | parts.Days():
            return ""
        case parts.Paragraph(content):
            return "" if part.is_of_page else _inline(content).strip()
        case parts.Bullets(items):
            return "\n".join(f"* {_inline(item)}" for item in items)
        case parts.Facts(pairs):
            return "\n".join(f"* {escape(name)}: {escape(value)}" for name, value in pairs)
        case parts.Table(_, heads, rows):
            return _table(heads, rows)
        case parts.Lines(_, heads, lines):
            details = _details(lines) if part.tells_details else ""
            return "\n\n".join(filter(None, (_table(heads, [line.cells for line in lines]), details)))
        case parts.Balance():
            return _balance(part)
        case parts.Proof():
            return "\n\n".join(_all(part.content))
        case parts.Group(title) | parts.Section(_, title):
            texts, level = _all(part.content), "##" if isinstance(part, parts.Section) else "###"
            return "\n\n".join([*([f"{level} {escape(title)}"] if title else []), *texts]) if texts else ""
        case _:
            assert_never(part)


def _table(heads: Sequence[str], rows: Sequence[Sequence[parts.Content]]) -> str:
    """Empty without rows."""
    names = [head.removeprefix("#") for head in heads]
    lines = [
        [name[:1].lower() + name[1:] for name in names],
        ["---"] * len(heads),
        *[[_inline(cell) for cell in cells] for cells in rows],
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) if rows else ""


def _details(lines: Sequence[parts.Line]) -> str:
    """The details of each line, behind its name."""
    return "\n".join(f"* {_inline(line.cells[0])}: {' '.join(_all(line.details))}" for line in lines)


def _balance(balance: parts.Balance) -> str:
    rows: list[Sequence[parts.Content]] = [("records checked", balance.whole, "")]
    rows += [(text, number, words.share(number, balance.whole)) for number, text, _ in balance.parts]
    return "\n\n".join(filter(None, (_table(("", "records", "share"), rows), balance.note)))
