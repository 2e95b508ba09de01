"""The pages by keyboard in a real Chromium: all is reached in its order, seen where it is, and opens."""

import pytest

from spark_reports.render import html, index, pages
from spark_reports.render.places import producer_id
from spark_reports.report import links, teams
from tests.spark_reports import browser, keyboard, reports
from tests.spark_reports.pure.test_teams import folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_800),  # the first start of a browser on a busy machine
    pytest.mark.skipif(browser.chromium() is None, reason="needs Chromium: apt-get install chromium"),
]


@pytest.fixture
def page(tmp_path):
    """The day's page in a browser, with the pages of teams and topics beside it."""
    report = reports.complete()
    files = {"report.html": html.render(report), **dict(pages.pages(report))}
    with keyboard.opened(tmp_path, files, "report.html", "--window-size=1280,800") as found:
        yield found


def stops(page):
    """All that Tab reaches, from the beginning of the page to its end."""
    found = []
    while True:
        page.press("Tab")
        now = page.focused()
        if now["tag"] == "body":
            return found
        found.append(now)
        assert len(found) < 1_000


def test_tab_reaches_every_link_and_line_in_the_order_of_the_page_and_shows_where_it_is(page):
    """Closed sections and lines hide what is in them from Tab as from the eye."""
    there = page.says("""[...document.querySelectorAll('a[href], summary')].filter(each => {
        const closed = each.closest('details:not([open])');
        if (getComputedStyle(each.parentElement).display === 'none') return false; // for another width
        return !closed || (each.tagName === 'SUMMARY' && each.parentElement === closed
            && !closed.parentElement.closest('details:not([open])'));
    }).map(each => each.textContent.trim())""")
    found = stops(page)
    assert [each["text"] for each in found] == there
    assert len(found) > 20
    for each in found:
        assert each["outline"] >= 2, each
        assert 0 <= round(each["top"]) <= round(each["bottom"]) <= each["height"] + 1, (
            each
        )  # it scrolls by halves


def test_a_line_opens_and_closes_with_space_and_enter_and_its_links_follow_it(page):
    line = page.tab_to(lambda each: each["tag"] == "summary" and "billing-nightly" in each["text"])
    assert line["open"] is False
    page.press(" ")
    assert page.focused()["open"] is True
    page.press("Tab")
    assert page.focused()["link"].startswith("../2026-11-19/report.html#producer-billing-nightly")
    page.press("Tab", shift=True)
    page.press("Enter")
    assert page.focused()["open"] is False


def test_a_section_and_the_mark_of_the_log_open_by_keyboard(page):
    for name in ("Log complete", "Topics and their limits"):
        page.tab_to(lambda each, name=name: each["tag"] == "summary" and name in each["text"])
        assert page.focused()["open"] is False
        page.press("Enter")
        assert page.focused()["open"] is True


def test_a_link_to_a_producer_opens_its_line_and_tab_goes_on_there(page):
    """The line was closed, so its reader once had to open it after the jump."""
    page.tab_to(lambda each: (each["link"] or "").startswith("#producer-kiosk-clock"))
    page.press("Enter")
    place = page.place()
    assert place["open"] is True
    assert 0 <= place["top"] <= place["height"]
    page.press("Tab")
    assert page.focused()["link"] == links.page("orders")


def test_a_link_to_a_producer_among_those_that_are_folded_opens_these_too(tmp_path):
    report = reports.complete()
    one = report["producers"][1]
    report["producers"] = [one | {"client_id": f"svc-{number}"} for number in range(30)]
    with keyboard.opened(tmp_path, {"report.html": html.render(report)}, "report.html") as page:
        page.says(f"location.hash = '{producer_id(report['producers'][20])}'")
        place = page.place()
        assert place["open"] is True
        assert place["shown"] is True


@pytest.mark.parametrize("first", ["index.html", "day/report.html"])
def test_index_and_day_lead_to_a_team_and_the_teams_days_to_each_other(tmp_path, first):
    report, payments = reports.complete(), f"teams/{teams.folder_of('Payments')}"
    files = {"index.html": index.render(reports.week()), "day/report.html": html.render(report)}
    files |= {f"{payments}/{name}": text for name, text in folder(report, "Payments").items()}
    with keyboard.opened(tmp_path, files, first) as page:
        page.tab_to(lambda each: each["text"] == "Payments")
        page.follow()
        assert page.says("document.querySelector('h1').textContent").startswith("Payments: ")
        if first == "index.html":
            page.tab_to(lambda each: each["text"].startswith("Evidence, and a text for each owner"))
            page.follow()
        page.tab_to(lambda each: each["text"] == "All days")
        page.follow()
        assert page.says("location.href").endswith(f"{payments}/index.html")
