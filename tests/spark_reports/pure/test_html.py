"""report.html: one safe, small, self-contained file. People judged its looks."""

import re
from html.parser import HTMLParser

from spark_reports.render import html
from spark_reports.render.producers import SAYS_NOTHING
from tests.spark_reports import reports
from tsproxy.model.markup import element, join, raw
from tsproxy.policy import timestamps

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "nav", "a"),
    *(
        "h1",
        "h2",
        "h3",
        "p",
        "pre",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "div",
        "span",
        "b",
        "i",
        "code",
    ),
    *("table", "thead", "tbody", "tr", "th", "td", "details", "summary"),
    "wbr",
    *("svg", "rect", "line", "path", "circle", "text"),
}
VOID = {"meta", "wbr"}


class Page(HTMLParser):
    """Every element and attribute of a page, and whether its elements nest."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.open, self.crossed = set(), set(), [], [], []
        self.ids, self.labelled_by, self.links = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value for name, value in attrs if name == "id"]
        self.labelled_by += [value for name, value in attrs if name == "aria-labelledby"]
        self.links += [value for name, value in attrs if name == "href"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self):
        return " ".join("".join(self.text).split())


def test_the_page_asks_nobody_for_anything():
    """The page needs no network: it has no address, import, image, script or SVG namespace."""
    text = html.render(reports.fixed())
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<script|<link|<img|<iframe|src=|href=(?!\"#)", text)


def test_a_page_is_small_even_where_a_report_is_large():
    report = reports.large()
    page = html.render(report)
    assert len(page.encode()) <= html.MAX_BYTES == 300_000
    found = re.search(r"And ([\d,]+) more producers", Page(page).words)
    shown = page[page.index('id="producers"') : page.index('id="watched"')].count('class="client"')
    omitted = report["producers_omitted"]["count"]
    assert int(found[1].replace(",", "")) + shown == len(report["producers"]) + omitted


def test_an_ordinary_page_is_far_below_the_limit():
    assert len(html.render(reports.fixed()).encode()) < 100_000


def test_every_section_is_labelled_by_a_heading_that_exists():
    page = Page(html.render(reports.fixed()))
    assert len(page.labelled_by) == 7
    assert set(page.labelled_by) <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)


def test_the_sum_stands_on_the_page():
    shown = Page(html.render(reports.fixed())).words
    totals = reports.fixed()["totals"]
    for name in ("judged", "accepted", "rejected", "broker_rejected", "unconfirmed"):
        assert f"{totals[f'records_{name}']:,}" in shown


def test_the_fix_stands_on_the_page_in_words():
    shown = Page(html.render(reports.fixed())).words
    assert re.search(r"Timestamps are in nanoseconds.{0,120}Divide by 1,000,000\.", shown)
    assert "1795211960588000000, which reads as 2026-11-20 21:59:20 UTC" in shown
    assert "1794398367053, that is 2026-11-11 11:59:27 UTC" in shown


def test_an_example_has_no_text_that_says_nothing():
    """Kafka's text of each rejected batch stood under each example."""
    report = reports.fixed()
    assert SAYS_NOTHING == timestamps.REJECTED
    for producer in report["producers"]:
        for example in producer["examples"]:
            example["error_message"] = SAYS_NOTHING
    assert SAYS_NOTHING not in html.render(report)
    report["producers"][0]["examples"][0]["error_message"] = "Timestamp 7 is out of range"
    assert "Timestamp 7 is out of range" in html.render(report)


def test_rules_and_waivers_stand_on_the_page_with_their_records():
    shown = Page(html.render(reports.fixed())).words
    assert "payments" in shown
    assert "backfill" in shown


def test_a_complete_log_and_an_incomplete_one_look_different():
    report = reports.fixed()
    assert 'class="proof complete"' in html.render(report)
    incomplete = {"is_complete": False, "state": "incomplete", "sentence": "Log incomplete: 1 line lost."}
    report["log"] |= incomplete
    page = html.render(report)
    assert 'class="proof incomplete"' in page
    assert "Log incomplete: 1 line lost." in page


def test_an_empty_day_is_a_page_too():
    page = Page(html.render(reports.empty()))
    assert (page.open, page.crossed) == ([], [])
    assert "No producer had a record rejected." in page.words


def of_a_week():
    report = reports.fixed()
    hours = [f"2026-11-{day}T{hour:02d}" for day in range(20, 27) for hour in range(24)]
    report |= {"last_day": "2026-11-26", "hours": hours}
    for row in report["cause_hours"]:
        row["rejected_records"] *= 7
    for producer in report["producers"]:
        producer["hours"] *= 7
    return report


def test_a_report_of_a_week_fits():
    assert len(html.render(of_a_week()).encode()) <= html.MAX_BYTES


def test_markup_escapes_everything_that_is_not_markup():
    assert element("b", "<i>") == "<b>&lt;i&gt;</b>"
    assert element("b", element("i", "&")) == "<b><i>&amp;</i></b>"
    assert element("b", title='"><script>') == '<b title="&quot;&gt;&lt;script&gt;"></b>'
    assert join("<", None, 7, raw("<br/>")) == "&lt;7<br/>"
    assert element("td", class_="num", data_label="A & B") == '<td class="num" data-label="A &amp; B"></td>'
