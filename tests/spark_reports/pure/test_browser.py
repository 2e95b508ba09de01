"""report.html in a real Chromium: nothing in it runs, and everybody can use it."""

import pytest

from spark_reports.render import html, index, pages
from spark_reports.report import links
from tests.full_only import variations
from tests.spark_reports import browser, reports
from tests.spark_reports.pure.test_teams import folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_800),  # the first start of a browser on a busy machine
    pytest.mark.skipif(browser.chromium() is None, reason="needs Chromium: apt-get install chromium"),
]

WIDE, NARROW, DARK = (
    "--window-size=1280,1000",
    "--window-size=400,900",
    "--blink-settings=preferredColorScheme=0",
)
EACH_SIZE = pytest.mark.parametrize(
    "size",
    variations(
        "a narrow window is the harder one; other tests have a wide one", [WIDE, NARROW], but=[NARROW]
    ),
)


def opened(report):
    """The page with all its lines and sections open: a browser lays out nothing of a closed one."""
    return html.render(report).replace("<details", "<details open")


def test_hostile_text_is_shown_and_not_run(tmp_path):
    """All hostile text is on one page, so that one text may close an element that another one opens."""
    page = html.render(reports.hostile(" ".join(reports.HOSTILE)))
    assert browser.obeyed(tmp_path, page) is None


def test_a_page_that_did_run_a_script_would_be_noticed(tmp_path):
    page = html.render(reports.fixed()).replace("</body>", "<script>alert(1)</script></body>")
    assert browser.obeyed(tmp_path, page) == "alert"


@EACH_SIZE
def test_a_long_name_without_a_break_makes_no_page_wider_than_its_window(tmp_path, size):
    page_width, window_width = browser.width(tmp_path, opened(reports.hostile("n" * 160)), size)
    assert page_width <= window_width


@pytest.mark.skipif(browser.axe() is None, reason="needs npm, which fetches axe-core")
@EACH_SIZE
@pytest.mark.parametrize(
    "report",
    variations(
        "an empty report has a part of what a complete one has",
        [reports.complete, reports.empty],
        but=[reports.complete],
    ),
)
def test_axe_core_finds_nothing_wrong(tmp_path, report, size):
    assert browser.complaints(tmp_path, opened(report()), size) == []


@pytest.mark.skipif(browser.axe() is None, reason="needs npm, which fetches axe-core")
def test_axe_core_finds_nothing_wrong_in_the_dark(tmp_path):
    page = opened(reports.complete())
    assert browser.complaints(tmp_path, page, WIDE, DARK) == []


@pytest.mark.skipif(browser.axe() is None, reason="needs npm, which fetches axe-core")
def test_axe_core_finds_nothing_wrong_on_paper(tmp_path):
    page = html.render(reports.complete()).replace("@media print", "@media all")
    assert browser.complaints(tmp_path, page, WIDE) == []


@pytest.mark.parametrize(
    ("size", "height"), [("--window-size=1280,760", 760), ("--window-size=400,900", 900)]
)
def test_the_first_screen_has_the_state_whom_to_talk_to_and_pictures_of_day_and_week(tmp_path, size, height):
    """The first producer was once at 1,295 px, and at 1,900 px on a phone."""
    parts = ["h1", ".proof", ".talk tbody tr:nth-child(3)", ".by-hour", ".week"]
    found = browser.bottoms(tmp_path, html.render(reports.complete()), parts, size)
    assert found[0] < found[1] < found[2] < found[3]
    assert 0 < max(found) <= height, dict(zip(parts, found, strict=True))


def test_the_producers_to_talk_to_stand_on_the_first_page_of_paper(tmp_path):
    """A4 without its margins, in CSS pixels. The first page once had the head alone."""
    page = html.render(reports.complete()).replace("@media screen", "@media speech")
    page = page.replace("@media print", "@media all")
    [last] = browser.bottoms(tmp_path, page, [".talk tbody tr:last-child"], "--window-size=688,1016")
    assert 0 < last <= 1016


@pytest.mark.skipif(browser.axe() is None, reason="needs npm, which fetches axe-core")
@EACH_SIZE
@pytest.mark.parametrize("name", ["2026-11-20.html", "index.html", links.page("orders")])
def test_axe_core_finds_nothing_wrong_in_the_pages_of_teams_and_topics(tmp_path, name, size):
    report = reports.complete()
    found = folder(report, "Payments") | dict(pages.pages(report))
    page = found[name].replace("<details", "<details open")
    assert browser.complaints(tmp_path, page, size) == []
    page_width, window_width = browser.width(tmp_path, page, size)
    assert page_width <= window_width


def test_fifty_producers_are_at_most_three_screens(tmp_path):
    """Their section, of which all lines are closed, at 900 px a screen."""
    report = reports.fixed()
    report["producers"] = [
        producer | {"client_id": f"svc-{number}-{producer['client_id']}"}
        for number in range(10)
        for producer in report["producers"]
    ][:50]
    assert browser.height(tmp_path, html.render(report), "producers", WIDE) <= 3 * 900


def test_hostile_text_in_the_index_is_shown_and_not_run(tmp_path):
    """The files of a rollup may come from anywhere, too."""
    text = " ".join(reports.HOSTILE)
    assert browser.obeyed(tmp_path, index.render(a_week_of(cause=text, page=text))) is None


@EACH_SIZE
def test_a_long_cause_makes_no_index_wider_than_its_window(tmp_path, size):
    page = index.render(a_week_of(cause="n" * 160, page="n" * 160 + "/report.html"))
    page_width, window_width = browser.width(tmp_path, page, size)
    assert page_width <= window_width


@pytest.mark.skipif(browser.axe() is None, reason="needs npm, which fetches axe-core")
@pytest.mark.parametrize(
    "size", variations("in the dark it is wide", [WIDE, NARROW, DARK], but=[NARROW, DARK])
)
def test_axe_core_finds_nothing_wrong_in_the_index(tmp_path, size):
    facts = reports.week(d14=None, d17={"state": "incomplete"}, d18={"state": "not_over", "records": 0})
    assert browser.complaints(tmp_path, index.render(facts), size) == []


def a_week_of(**changed):
    return reports.week(**{f"d{number}": changed for number in range(13, 21)})
