"""The pages of teams and topics, and the day's first screen: who, what, since when, whose, what to do."""

import re
from datetime import date

import pytest

from spark_reports.commands.publishing import Publication
from spark_reports.render import html
from spark_reports.render.owners import producer_id
from spark_reports.render.pages import pages
from spark_reports.report import files, links
from spark_reports.report.headline import rejected_records
from spark_reports.report.notices import letters
from tests.spark_reports import reports
from tests.spark_reports.pure.test_html import TAGS, Page


def pages_of(report):
    return dict(pages(report))


def of_team(team, report=None):
    return pages_of(report or reports.complete())[links.page("team", team)]


def test_each_team_and_each_topic_with_three_producers_has_a_page_that_the_days_page_links():
    report = reports.complete()
    teams = {producer["team"] for producer in report["producers"]}
    topics = {topic["topic"] for topic in report["topics"] if len(topic["worst"]) >= 3}
    found = pages_of(report)
    named = {links.page("team", team) for team in teams} | {links.page("topic", topic) for topic in topics}
    assert topics == {"orders"}
    assert named == found.keys()
    assert found.keys() <= set(Page(html.render(report)).links)
    assert all(links.PAGES.fullmatch(name) for name in found)


@pytest.mark.parametrize(
    ("name", "team", "client_id", "asked", "other"),
    [
        (
            *(links.page("team", "Payments"), "Payments", "billing-nightly"),
            *(("Timestamps are in seconds", "17 Nov (4 d)", "Multiply by 1,000"), "kiosk-clock"),
        ),
        (
            *(links.page("topic", "orders"), "Orders", "kiosk-clock"),
            *(("Timestamps lie too far in the future", "kiosk-clock"), "billing-nightly"),
        ),
    ],
)
def test_each_page_answers_who_what_since_when_whose_and_what_to_do(name, team, client_id, asked, other):
    shown = Page(pages_of(reports.complete())[name])
    for part in (client_id, team, *asked, f"To the owner of {client_id}"):
        assert part in shown.words
    assert "report.html" in shown.links
    [own] = [each for each in reports.fixed()["producers"] if each["client_id"] == client_id]
    assert producer_id(own) in shown.ids
    assert other not in shown.words


def test_the_line_of_a_producer_has_its_days_its_topics_and_the_way_to_its_day_before():
    """`sensor-gateway` was rejected on each day; `billing-nightly` on the last four."""
    report = reports.complete()
    report["producers"][1]["week"][0] = None
    shown = Page(html.render(report))
    assert "Rejected by day, 13 Nov to 20 Nov:" in shown.words
    assert "unknown, 0, 0, 0, 228,708, 228,708, 228,708, 228,708." in shown.words
    assert links.page("topic", "orders") in shown.links
    sensor, _, mobile = (producer_id(each) for each in report["producers"][:3])
    assert f"../2026-11-19/report.html#{sensor}" in shown.links
    assert f"../2026-11-19/report.html#{mobile}" not in shown.links


def test_no_page_links_itself_and_each_links_the_pages_that_its_producers_concern():
    found = pages_of(reports.complete())
    for name, text in found.items():
        assert name not in Page(text).links
    assert links.page("topic", "orders") in Page(found[links.page("team", "Orders")]).links
    assert links.page("team", "Orders") in Page(found[links.page("topic", "orders")]).links


def test_the_page_of_a_topic_says_nothing_of_a_page_of_this_topic():
    """It is the page."""
    says = "Its producers, with their evidence: "
    assert says in Page(html.render(reports.complete())).words
    for text in pages_of(reports.complete()).values():
        assert says not in Page(text).words


def test_a_page_of_a_team_has_only_its_own_producers_and_its_channel():
    shown = Page(of_team("Orders")).words
    assert "Orders: 100,108 records of 2 producers rejected." in shown
    assert "orders-replay" in shown
    assert "kiosk-clock" in shown
    assert "sensor-gateway" not in shown
    assert "mailto:payments@example.com" in Page(of_team("Payments")).links


def test_producers_of_a_team_that_the_report_does_not_list_are_counted():
    report = reports.complete()
    for team in report["owners"]["teams"]:
        team["producers"] += 40
    page = Page(of_team("Payments", report)).words
    assert "And 40 more producers with 0 rejected records, not listed." in page


@pytest.mark.parametrize("text", reports.HOSTILE)
def test_hostile_text_is_text_on_every_page(text):
    report = reports.hostile(text)
    for row in report["owners"]["teams"]:
        row |= {"team": text, "channel": text}
    for row in [*report["producers"], *report["would_reject"]]:
        row["team"] = text
    for row in report["cause_hours"]:
        row["cause"] = text
    found = [html.render(report), *pages_of(report).values()]
    assert len(found) >= 3
    assert Page(found[0]).attributes == Page(html.render(reports.hostile("harmless"))).attributes
    for page in map(Page, found):
        assert page.tags <= TAGS
        assert (page.open, page.crossed) == ([], [])
        assert not [name for name in page.attributes if name.startswith("on")]
        assert not [link for link in page.links if re.match(r"(?i)\s*(java|https?://evil|//)", link)]


def test_every_page_of_ten_thousand_producers_is_small():
    report = reports.complete()
    report["producers"] = [
        report["producers"][n % 6] | {"client_id": f"svc-{n}", "team": "Orders"} for n in range(10_000)
    ]
    found = {**pages_of(report), "report.html": html.render(report)}
    assert max(len(page.encode()) for page in found.values()) <= html.MAX_BYTES
    assert "rejected records, not listed" in found[links.page("topic", "orders")]


def test_no_page_asks_anybody_for_anything():
    for page in pages_of(reports.complete()).values():
        assert not re.search(r"url\(|@import|<script|<link|<img|<iframe|src=", page)


def test_a_run_deletes_the_pages_of_teams_that_have_none_any_more(tmp_path):
    """A page of an earlier run would say what was not."""
    old = tmp_path / links.page("team", "Gone")
    old.write_text("old")
    kept = tmp_path / "team-notes.html"
    kept.write_text("somebody's own")
    files.replace_pages(None, str(tmp_path), pages_of(reports.complete()), links.PAGES)
    assert not old.exists()
    assert kept.exists()
    assert (tmp_path / links.page("team", "Payments")).exists()


def test_a_report_without_owners_has_pages_of_topics_alone():
    assert {name.partition("-")[0] for name in pages_of(reports.fixed())} == {"topic"}


def test_a_letter_links_the_page_of_its_team_if_readers_can_open_it():
    report = reports.complete()
    assert not any("Evidence, and" in letter.text for letter in letters(report))
    report["links"]["address"] = "https://reports.example.com/2026-11-20"
    [own] = [letter for letter in letters(report) if "Payments" in letter.head]
    assert f"https://reports.example.com/2026-11-20/{links.page('team', 'Payments')}" in own.text


def test_the_address_of_a_days_folder_follows_from_that_of_all():
    publication = Publication("out", ("html",), address=links.address("https://x.example/reports/"))
    report, _ = publication.of_day(date(2026, 11, 20)).linked(reports.fixed(), [], {})
    assert report["links"]["address"] == "https://x.example/reports/2026-11-20"


def test_titles_of_sections_carry_their_number():
    page = Page(html.render(reports.complete())).words
    for part in (
        "Rejected, by cause: 6 of",
        "What rules in audit would reject: ",
        "What other limits would reject: 62",
        "The log behind this report: 42,",
        "Who changed against the week before: 3 producers",
    ):
        assert part in page, part
    report = reports.fixed() | {"would_reject": []}
    report["totals"]["would_reject_records"] = 0
    assert "What rules in audit would reject: nothing" in Page(html.render(report)).words


def test_hours_are_stacked_by_cause_and_reach_the_top_at_the_busiest():
    report = reports.fixed()
    page = html.render(report)
    rows = [row["rejected_records"] for row in report["cause_hours"]]
    sums = [sum(hour) for hour in zip(*rows, strict=True)]
    assert sum(sums) == rejected_records(report["totals"])
    assert f"most at 02:00, {max(sums):,}" in page
    drawing = page[page.rindex("<svg", 0, page.index('class="by-hour"')) : page.index('class="scale')]
    assert drawing.count("<path") == len(rows) + 1
    tops = [float(foot) - float(rise) for foot, rise in re.findall(r"M\d+ ([\d.]+)v-([\d.]+)", drawing)]
    assert min(tops) == pytest.approx(0, abs=1)
    assert "Rejected by hour" not in html.render(report | {"cause_hours": []})
