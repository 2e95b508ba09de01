"""The pages of teams, and the day's first screen: who, what, since when, whose, what to do."""

import re

import pytest

from spark_reports.render import html
from spark_reports.render.places import producer_id
from spark_reports.report import links
from spark_reports.report.headline import rejected_records
from tests.spark_reports import reports
from tests.spark_reports.pure.test_html import Page
from tests.spark_reports.pure.test_teams import folder


def page_of(report, name):
    """The page of a team's day."""
    return folder(report, name)["2026-11-20.html"]


def test_the_page_of_a_team_answers_who_what_since_when_whose_and_what_to_do():
    shown = Page(page_of(reports.complete(), "Payments"))
    what = ("Timestamps are in seconds", "17 Nov (4 d)", "Multiply by 1,000")
    for part in ("billing-nightly", "Payments", *what, "To the owner of billing-nightly"):
        assert part in shown.words
    assert "index.html" in shown.links
    [own] = [row for row in reports.fixed()["producers"] if row["client_id"] == "billing-nightly"]
    assert producer_id(own) in shown.ids
    assert links.channel_link("payments@example.com") in shown.links
    assert "kiosk-clock" not in shown.words


def test_the_line_of_a_producer_has_its_days_its_topics_and_the_way_to_its_day_before():
    """`sensor-gateway` was rejected on each day; `billing-nightly` on the last four."""
    report = reports.complete()
    report["producers"][1]["week"][0] = None
    shown = Page(html.render(report))
    assert "Rejected by day, 13 Nov to 20 Nov:" in shown.words
    assert "unknown, 0, 0, 0, 228,708, 228,708, 228,708, 228,708." in shown.words
    assert "topics: orders" in shown.words
    sensor, _, mobile = (producer_id(each) for each in report["producers"][:3])
    assert f"../2026-11-19/report.html#{sensor}" in shown.links
    assert f"../2026-11-19/report.html#{mobile}" not in shown.links


def test_every_page_of_three_thousand_producers_and_teams_is_small():
    report = reports.complete()
    report["producers"] = [
        report["producers"][n % 6] | {"client_id": f"svc-{n}", "team": "Orders"} for n in range(3_000)
    ]
    [team] = [row for row in report["owners"]["teams"] if row["team"] == "Orders"]
    team["producers"] = len(report["producers"])
    others = [f"{n}-{'<&>' * 80}" for n in range(3_000)]
    report["owners"]["teams"] += [team | {"team": name, "channel": f"a{name}"} for name in others]
    pages = [page_of(report, "Orders"), html.render(report)]
    assert max(len(page.encode()) for page in pages) <= html.MAX_BYTES
    assert "rejected records, not listed" in Page(pages[0]).words
    assert re.search(r"And 2,\d\d\d more in report\.json\.", Page(pages[1]).words)


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
