"""A page as HTML: one file that opens anywhere, with no network, no script and at most 300 KB.

Tables are as long as the file allows. The page counts the rows that it leaves out; report.json has them.
"""

from collections.abc import Callable
from importlib import resources
from typing import Final

from spark_reports.render import day
from spark_reports.render.parts import Page, inline
from spark_reports.report.shape import Report
from tsproxy.model.markup import element, raw

MAX_BYTES: Final = 300_000
_ROWS: Final = (1_000, 200, 100, 50, 25, 10, 3, 1, 0)


def render(report: Report) -> str:
    """The page of a day."""
    return fitting(lambda rows: day.page(report, rows))


def fitting(make: Callable[[int], Page]) -> str:
    """The page with as many rows of its tables as the size allows."""
    for rows in _ROWS:
        text = write(make(rows))
        if len(text.encode("utf-8")) <= MAX_BYTES:
            break
    return text


def write(page: Page) -> str:
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
        page.nav,
        element("h1", page.headline),
        *page.head,
    )
    footer = element("footer", element("p", inline(page.foot))) if page.foot else None
    body = element("body", header, element("main", *page.sections), footer)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"
