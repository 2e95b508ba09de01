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
    shown = page[page.index('id="producers"') : page.index('id="trend"')].count('class="client"')
    omitted = report["producers_omitted"]["count"]
    assert int(found[1].replace(",", "")) + shown == len(report["producers"]) + omitted


def test_an_ordinary_page_is_far_below_the_limit():
    assert len(html.render(reports.fixed()).encode()) < 100_000


def test_every_section_is_labelled_by_a_heading_that_exists():
    page = Page(html.render(reports.fixed()))
    assert len(page.labelled_by) == 10
    assert set(page.labelled_by) <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)


def test_the_page_has_the_sum_the_fixes_the_topics_with_their_limits_the_rules_and_the_waivers():
    shown, totals = Page(html.render(reports.fixed())).words, reports.fixed()["totals"]
    oldest = "and the records that each limit would reject: 1 s"
    for text in (
        *(f"{totals[f'records_{name}']:,}" for name in ("judged", "accepted", "rejected")),
        *(f"{totals[f'records_{name}']:,}" for name in ("broker_rejected", "unconfirmed")),
        "1795211960588000000, which reads as 2026-11-20 21:59:20 UTC",
        "1794398367053, that is 2026-11-11 11:59:27 UTC",
        "Rejected most: orders-replay 87,213, kiosk-clock 12,895, attachments 4,346.",
        *(f"Oldest allowed, {oldest} 111,272", f"Oldest allowed (now unlimited), {oldest} 90,696"),
        "; 7 d (its own) 87,213",
        "Newest allowed, and the records that each limit would reject: 1 h (its own) 12,895",
        *("payments", "backfill"),
    ):
        assert text in shown
    assert re.search(r"Timestamps are in nanoseconds.{0,120}Divide by 1,000,000\.", shown)


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


def of_two_sides():
    """400 of 1,000 records are farther ahead than each limit, 300 farther behind."""
    report = reports.fixed()
    found = report["what_if"] | {"records": 1_000}
    for side, records in (("ahead", 400), ("behind", 300)):
        found[side] = [row | {"records": records} for row in found[side]]
    return report | {"what_if": found}


def test_the_page_shows_exact_numbers_of_each_side_and_leaves_bounds_of_both_to_the_command():
    text = html.render(of_two_sides())
    assert "400 (40%)" in text
    assert "300 (30%)" in text
    assert "either side" not in text.lower()


def test_records_beyond_every_limit_are_named_above_the_limits():
    report = reports.fixed()
    report["what_if"]["ahead"][-1]["records"] = 907
    report["what_if"]["behind"][-1]["records"] = 0
    assert "No limit helps with 907 records over 10.0 y ahead: look at the unit" in html.render(report)
    report["what_if"]["ahead"][-1]["records"] = 0
    assert "No limit helps" not in html.render(report)


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
    assert "No record carried a timestamp." in page.words


def test_strips_of_the_twenty_worst_producers_have_one_scale_and_go_by_team():
    """So one look shows whose line fell after a word to its team."""
    report = reports.complete()
    one = report["producers"][0]
    report["producers"] = [
        one | {"client_id": f"svc-{n:02}", "team": f"T{n % 3}" if n % 4 else None, "week": [100, None, 0, n]}
        for n in range(25)
    ]
    page = html.render(report)
    drawn = page[page.index('id="days"') : page.index('id="trend"')]
    names = re.findall(r">svc-(\d\d)<", drawn)
    assert {int(name) for name in names} == {*range(20)}
    teams = re.findall(r'data-label="Team"><div>.*?>(.*?)<', drawn)
    assert teams == [*sorted(team for team in teams if team != "no owner"), *["no owner"] * 5]
    assert "17 Nov to 20 Nov, all on one scale: a whole bar is 100." in drawn
    assert drawn.count("M0 26v-26h3v26z") == 20
    assert "M0 26v-26h3v26zM12 26v-4.9h3v4.9z" in drawn  # 19 of 100, and no bar for an unknown day or for 0
    assert "<title>100, unknown, 0, 19</title>" in drawn
    assert 'id="days"' not in html.render(reports.fixed() | {"producers": []})


def test_markup_escapes_everything_that_is_not_markup():
    assert element("b", "<i>") == "<b>&lt;i&gt;</b>"
    assert element("b", element("i", "&")) == "<b><i>&amp;</i></b>"
    assert element("b", title='"><script>') == '<b title="&quot;&gt;&lt;script&gt;"></b>'
    assert join("<", None, 7, raw("<br/>")) == "&lt;7<br/>"
    assert element("td", class_="num", data_label="A & B") == '<td class="num" data-label="A &amp; B"></td>'
