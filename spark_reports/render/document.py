"""The frame of a page: one HTML file with its own style, no network and no script."""

from importlib import resources

from tsproxy.model.markup import Markup, element, raw


def document(title: str, body: Markup) -> str:
    """The text of the page."""
    style = resources.files("spark_reports.render").joinpath("report.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", raw(style)),
    )
    return f"<!doctype html>\n{element('html', head, element('body', body), lang='en')}\n"
