"""The pages of teams and topics, and the day's first screen: who, what, since when, whose, what to do."""

import re

import pytest

from spark_reports.render import html
from spark_reports.render.pages import of_team, pages
from spark_reports.render.places import producer_id
from spark_reports.report import files, links, teams
from spark_reports.report.headline import rejected_records
from tests.spark_reports import reports
from tests.spark_reports.pure.test_html import Page

TOPIC, TEAM = links.page("orders"), "the page of Payments"


def pages_of(report):
    """The pages of topics, and that of the day of Payments, or of the first team."""
    first, *_ = teams_of = report["owners"]["teams"]
    team = next((each for each in teams_of if each["team"] == "Payments"), first)
    own = teams.linked(report, teams.latest(report, team, None))
    return {**dict(pages(report)), TEAM: of_team(own, team)}


def test_each_topic_with_three_producers_has_a_page_that_the_days_page_links():
    report = reports.complete()
    topics = {topic["topic"] for topic in report["topics"] if len(topic["worst"]) >= 3}
    assert topics == {"orders"}
    assert [name for name, _ in pages(report)] == [links.page(topic) for topic in topics]
    assert TOPIC in Page(html.render(report)).links
    assert links.PAGES.fullmatch(TOPIC)


@pytest.mark.parametrize(
    ("name", "team", "client_id", "asked", "other"),
    [
        (
            *(TEAM, "Payments", "billing-nightly"),
            *(("Timestamps are in seconds", "17 Nov (4 d)", "Multiply by 1,000"), "kiosk-clock"),
        ),
        (
            *(TOPIC, "Orders", "kiosk-clock"),
            *(("Timestamps are too far in the future", "kiosk-clock"), "billing-nightly"),
        ),
    ],
)
def test_each_page_answers_who_what_since_when_whose_and_what_to_do(name, team, client_id, asked, other):
    shown = Page(pages_of(reports.complete())[name])
    for part in (client_id, team, *asked, f"To the owner of {client_id}"):
        assert part in shown.words
    assert ("report.html" if name == TOPIC else "index.html") in shown.links
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
    assert TOPIC in shown.links
    sensor, _, mobile = (producer_id(each) for each in report["producers"][:3])
    assert f"../2026-11-19/report.html#{sensor}" in shown.links
    assert f"../2026-11-19/report.html#{mobile}" not in shown.links


def test_the_page_of_a_topic_says_nothing_of_a_page_of_this_topic():
    """It is the page."""
    says = "Its producers, with their evidence: "
    assert says in Page(html.render(reports.complete())).words
    for text in pages_of(reports.complete()).values():
        assert says not in Page(text).words


def test_every_page_of_ten_thousand_producers_is_small():
    report = reports.complete()
    report["producers"] = [
        report["producers"][n % 6] | {"client_id": f"svc-{n}", "team": "Orders"} for n in range(10_000)
    ]
    found = {**pages_of(report), "report.html": html.render(report)}
    assert max(len(page.encode()) for page in found.values()) <= html.MAX_BYTES
    assert "rejected records, not listed" in found[TOPIC]


def test_a_run_deletes_the_pages_of_topics_that_have_none_any_more(tmp_path):
    """A page of an earlier run would say what was not."""
    old = tmp_path / links.page("gone")
    old.write_text("old")
    kept = tmp_path / "topic-notes.html"
    kept.write_text("somebody's own")
    files.replace_pages(None, str(tmp_path), dict(pages(reports.complete())), links.PAGES)
    assert not old.exists()
    assert kept.exists()
    assert (tmp_path / TOPIC).exists()


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
    assert "What rules in audit would reject" not in Page(html.render(report)).words


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
