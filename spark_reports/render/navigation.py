"""Links from the page to its neighbours and its files."""

from spark_reports.report import links
from spark_reports.report.shape import Report
from tsproxy.model.markup import Markup, element, join


def neighbours(report: Report) -> Markup | None:
    """Links to the report of the day before, to that of the day after, and to all days; None without any."""
    known = report["links"]
    if known is None:
        return None
    named = (("Day before", "day_before"), ("Day after", "day_after"), ("All days", "index"))
    found = [(name, links.relative(known[key])) for name, key in named]  # type: ignore[literal-required]  # keys of `named`
    shown = [element("a", name, href=link) for name, link in found if link]
    return element("nav", join(*shown), aria_label="Other reports") if shown else None


def files(report: Report) -> Markup:
    """A sentence about report.json (latest.json of a team) and report.csv, with links to those that were
    written beside the page."""
    known = report["links"]
    exact = _named(known["json"] if known else None)
    sheet = links.relative(known["csv"]) if known else None
    return join(
        "Exact numbers of everything shown: ",
        exact,
        ". " if sheet else ".",
        join("For a spreadsheet: ", element("a", "report.csv", href=sheet), ".") if sheet else None,
    )


def _named(link: str | None) -> Markup:
    safe = links.relative(link)
    return element("a", safe, href=safe) if safe else join("report.json")
