"""The pages in a real Chromium: nothing in them runs, and everybody can use them, by keyboard, too."""

import pytest

from spark_reports.render import html, index
from spark_reports.render.places import producer_id
from spark_reports.report import teams
from tests.full_only import variations
from tests.spark_reports import browser, reports
from tests.spark_reports.browser import NARROW, WIDE
from tests.spark_reports.pure.test_teams import folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_800),  # the first start of a browser on a busy machine
    pytest.mark.skipif(browser.chromium() is None, reason="needs Chromium: apt-get install chromium"),
]
EACH_SIZE = pytest.mark.parametrize(
    "size",
    variations(
        "a narrow window is the harder one; other tests have a wide one", [WIDE, NARROW], but=[NARROW]
    ),
)
HOSTILE = " ".join(reports.HOSTILE)
"""All hostile text is on one page, so that one text may close an element that another one opens."""


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with browser.started(tmp_path_factory.mktemp("pages")) as made:
        yield made


def a_week_of(**changed):
    return index.render(reports.week(**{f"d{number}": changed for number in range(13, 21)}))


def opened(page):
    """The page with all its lines and sections open: a browser lays out nothing of a closed one."""
    return page.replace("<details", "<details open")


def of_team(name):
    return opened(folder(reports.complete(), "Payments")[name])


@pytest.mark.parametrize(
    ("page", "function"),
    [
        (html.render(reports.hostile(HOSTILE)), None),
        (a_week_of(cause=HOSTILE, page=HOSTILE), None),  # the files of a rollup may come from anywhere, too
        (html.render(reports.fixed()).replace("</body>", "<script>alert(1)</script></body>"), "alert"),
    ],
    ids=["page", "index", "a page that does run a script"],
)
def test_hostile_text_is_shown_and_not_run(tab, page, function):
    assert tab.obeyed(page) == function


NAMES = ("2026-11-20.html", "index.html")
WIDTHS = {
    "page": opened(html.render(reports.hostile("n" * 160))),
    "index": a_week_of(cause="n" * 160, page="n" * 160 + "/report.html"),
    **{name: of_team(name) for name in NAMES},
}


@EACH_SIZE
@pytest.mark.parametrize("page", WIDTHS.values(), ids=WIDTHS)
def test_a_long_name_without_a_break_makes_no_page_wider_than_its_window(tab, page, size):
    tab.show(page, size)
    page_width, window_width = tab.widths()
    assert page_width <= window_width


FACTS = reports.week(d14=None, d17={"state": "incomplete"}, d18={"state": "not_over", "records": 0})
JUDGED = {
    "page": opened(html.render(reports.complete())),
    "index": index.render(FACTS),
    **{name: of_team(name) for name in NAMES},
    "empty": opened(html.render(reports.empty())),
}


@pytest.mark.skipif(browser.axe() is None, reason="needs npm, which fetches axe-core")
@pytest.mark.parametrize(
    "shown",
    [
        *((name, NARROW, {}) for name in JUDGED if name != "empty"),
        *((name, WIDE, {"scheme": "dark"}) for name in ("page", "index")),
        ("page", WIDE, {"media": "print"}),
        *variations(
            "a narrow window is the harder one, and an empty report has a part of what a complete one has",
            [*((name, WIDE, {}) for name in JUDGED), ("empty", NARROW, {})],
            but=[],
        ),
    ],
    ids=str,
)
def test_axe_core_finds_nothing_wrong(tab, shown):
    name, size, look = shown
    tab.show(JUDGED[name], size, **look)
    assert tab.complaints() == []


@pytest.mark.parametrize("size", [(1280, 760), NARROW])
def test_the_first_screen_has_the_state_whom_to_talk_to_and_pictures_of_day_and_week(tab, size):
    """The first producer was once at 1,295 px, and at 1,900 px on a phone."""
    parts = ["h1", ".proof", ".talk tbody tr:nth-child(3)", ".by-hour", ".week"]
    tab.show(html.render(reports.complete()), size)
    bottoms = tab.bottoms(parts)
    assert bottoms[0] < bottoms[1] < bottoms[2] < bottoms[3]
    assert 0 < max(bottoms) <= size[1], dict(zip(parts, bottoms, strict=True))


def test_the_producers_to_talk_to_stand_on_the_first_page_of_paper(tab):
    """A4 without its margins, in CSS pixels. The first page once had the head alone."""
    tab.show(html.render(reports.complete()), (688, 1016), media="print")
    [last] = tab.bottoms([".talk tbody tr:last-child"])
    assert 0 < last <= 1016


def test_fifty_producers_are_at_most_three_screens(tab):
    """Their section, of which all lines are closed, at 900 px a screen."""
    report = reports.fixed()
    report["producers"] = [
        producer | {"client_id": f"svc-{number}-{producer['client_id']}"}
        for number in range(10)
        for producer in report["producers"]
    ][:50]
    tab.show(html.render(report))
    height = "document.getElementById('producers').closest('section').getBoundingClientRect().height"
    assert 0 < tab.says(height) <= 3 * 900


@pytest.fixture
def page(tab):
    tab.show(html.render(reports.complete()))
    return tab


def stops(page):
    """All that Tab reaches, from the beginning of the page to its end."""
    elements = []
    while True:
        page.press("Tab")
        element = page.focused()
        if element["tag"] == "body":
            return elements
        elements.append(element)
        assert len(elements) < 1_000


def test_tab_reaches_every_link_and_line_in_the_order_of_the_page_and_shows_where_it_is(page):
    """Closed sections and lines hide what is in them from Tab as from the eye."""
    there = page.says("""[...document.querySelectorAll('a[href], summary')].filter(it => {
        const closed = it.closest('details:not([open])');
        if (getComputedStyle(it.parentElement).display === 'none') return false; // for another width
        return !closed || (it.tagName === 'SUMMARY' && it.parentElement === closed
            && !closed.parentElement.closest('details:not([open])'));
    }).map(it => it.textContent.trim())""")
    elements = stops(page)
    assert [element["text"] for element in elements] == there
    assert len(elements) > 20
    for element in elements:
        assert element["outline"] >= 2, element
        top, bottom, height = (round(element[name]) for name in ("top", "bottom", "height"))
        assert 0 <= top <= bottom <= height + 1, element  # it scrolls by halves


def test_a_line_opens_and_closes_with_space_and_enter_and_its_links_follow_it(page):
    line = page.tab_to(lambda it: it["tag"] == "summary" and "billing-nightly" in it["text"])
    assert line["open"] is False
    page.press(" ")
    assert page.focused()["open"] is True
    page.press("Tab")
    assert page.focused()["link"].startswith("../2026-11-19/report.html#producer-billing-nightly")
    page.press("Tab", shift=True)
    page.press("Enter")
    assert page.focused()["open"] is False


def test_a_link_to_a_producer_opens_its_line_and_tab_goes_on_there(page):
    """The line was closed, so its reader once had to open it after the jump."""
    page.tab_to(lambda it: (it["link"] or "").startswith("#producer-billing-nightly"))
    page.press("Enter")
    place = page.place()
    assert place["open"] is True
    assert 0 <= place["top"] <= place["height"]
    page.press("Tab")
    assert page.focused()["link"].startswith("../2026-11-19/report.html#producer-billing-nightly")


def test_a_link_to_a_producer_among_those_that_are_folded_opens_these_too(tab):
    report = reports.complete()
    one = report["producers"][1]
    report["producers"] = [one | {"client_id": f"svc-{number}"} for number in range(30)]
    tab.show(html.render(report))
    tab.says(f"location.hash = '{producer_id(report['producers'][20])}'")
    place = tab.place()
    assert (place["open"], place["shown"]) == (True, True)


@pytest.mark.parametrize("first", ["index", "day"])
def test_index_and_day_lead_to_a_team_and_the_teams_days_to_each_other(tab, first):
    report, payments = reports.complete(), f"teams/{teams.folder_of('Payments')}"
    there = payments if first == "index" else f"../{payments}"
    tab.show(
        index.render(reports.week()) if first == "index" else html.render(report),
        others={f"{there}/{name}": text for name, text in folder(report, "Payments").items()},
    )
    tab.tab_to(lambda it: it["text"] == "Payments")
    tab.follow()
    assert tab.says("document.querySelector('h1').textContent").startswith("Payments: ")
    if first == "index":
        tab.tab_to(lambda it: it["text"].startswith("Evidence, and a text for each owner"))
        tab.follow()
    tab.tab_to(lambda it: it["text"] == "All days")
    tab.follow()
    assert tab.says("location.href").endswith(f"{payments}/index.html")
