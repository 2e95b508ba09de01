"""A page as data: sections of a few kinds of parts. `html` and `markdown` each write every kind.

A cell or a sentence is `Content`: plain text, a number, text with a look, or a small picture. No text is
escaped here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spark_reports.report import words


@dataclass(frozen=True, slots=True)
class Text:
    """Text with a look of the page, and perhaps a link, which Markdown leaves out."""

    text: str
    look: str = ""
    """A class of report.css. `name` and `client` are names from the log, which break after their signs."""
    link: str | None = None
    in_markdown: str | None = None
    """Markdown says this instead, if it is not None."""


@dataclass(frozen=True, slots=True)
class Below:
    """Less important text, on a line below what it belongs to; in brackets in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Meter:
    """A bar beside a number: its part of a whole. Markdown leaves it out."""

    part: float
    whole: float


@dataclass(frozen=True, slots=True)
class Spark:
    """A small bar for each hour or day. `label` describes it in words; Markdown has only these.

    `most`: the value of a whole bar, if several have one scale; 0 for a scale of its own.
    """

    values: Sequence[int]
    label: str
    most: int = 0


Content = str | int | Text | Below | Meter | Spark | None | tuple["Content", ...]
"""A number is shown with commas."""


def mistake(cause: str, fix: str) -> Content:
    """A cause with what to do below it."""
    return words.sentence(cause), Below(words.sentence(fix))


@dataclass(frozen=True, slots=True)
class Paragraph:
    content: Content
    look: str = ""
    is_of_page: bool = False
    """True if it is about the page itself: what to click, where to go. Markdown leaves it out."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A text that its reader copies whole. Markdown leaves it out."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    items: Sequence[Content]
    look: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Links:
    """The way to other pages. `label` names it for screen readers. Markdown leaves it out."""

    label: str
    links: Sequence[Content]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with these cells; `kind` is its CSS class. Without rows it is left out."""

    kind: str
    heads: Sequence[str]
    """They begin with `#` above numbers."""
    rows: Sequence[Sequence[Content]]


@dataclass(frozen=True, slots=True)
class Line:
    """A row that opens on the page, without a script. The first cell is its name."""

    cells: Sequence[Content]
    details: "Parts"
    anchor: str | None
    """The id of the details. A browser that follows a link to it opens the line and what the line is in."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A table of lines that open."""

    kind: str
    heads: Sequence[str]
    lines: Sequence[Line]
    has_heads: bool = True
    """If several lists have the same heads, only the first one shows them on the page."""
    tells_details: bool = False
    """True if Markdown has the details, too: below the table."""
    folded: tuple[int, str] | None = None
    """The page folds the lines from this one on into one entry with this name."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The completeness of the log as one mark (`look`), which opens to the sentences about it."""

    look: str
    name: str
    content: "Parts"


@dataclass(frozen=True, slots=True)
class Balance:
    """A number as the sum of its parts: (number, words, look)."""

    whole: int
    parts: Sequence[tuple[int, str, str]]
    note: str


@dataclass(frozen=True, slots=True)
class Hours:
    """A picture: a bar for each hour, stacked by kind. Markdown leaves it out."""

    title: str
    series: Sequence[tuple[str, str, Sequence[int]]]
    """(look, words, a number for each hour)."""
    labels: Sequence[str]


@dataclass(frozen=True, slots=True)
class Days:
    """A picture: a bar for each day. Markdown leaves it out."""

    title: str
    bars: Sequence[tuple[str, str, float, str | None]]
    """(day, number, height from 0 to 1, why it is pale: None if it is not)."""


@dataclass(frozen=True, slots=True)
class Group:
    """Parts below a heading of their own, or none. `look`: how the page holds them together."""

    title: str
    content: "Parts"
    look: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page. Its title carries its number, since it may be closed. It is left out if empty."""

    name: str
    title: str
    content: "Parts"
    is_closed: bool = False
    """Closed until the reader opens it by its title, on paper too."""
    has_head: bool = True
    """False if the page does not show the title; screen readers read it."""


_Written = Paragraph | Copied | Bullets | Facts | Links | Table | Lines
Part = _Written | Proof | Balance | Hours | Days | Group | Section
Parts = Sequence[Part | None]


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
    nav: Links | None = None
    """Above the headline."""


def more(number: int, one: str = "", where: str = " in report.json") -> Paragraph | None:
    """A sentence about what is left out: `And 3 more in report.json.`; None if nothing is."""
    told = words.many(number, f"more {one}") if one else f"{words.count(number)} more"
    return Paragraph(f"And {told}{where}.", "more") if number > 0 else None
