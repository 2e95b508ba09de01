"""Links of the page and index.html: which become one, and what hostile text does to them (nothing)."""

import re
from datetime import date

import pytest

from spark_reports.commands.publishing import Publication
from spark_reports.render import html, index
from spark_reports.render import teams as team_pages
from spark_reports.render.places import producer_id
from spark_reports.report import links, teams
from tests.spark_reports import reports
from tests.spark_reports.pure.test_html import Page
from tests.spark_reports.rolled import rejected, reported

NEIGHBOURS = ["../2026-11-19/report.html", "../2026-11-21/report.html", "../index.html"]
NAMES = [
    *reports.HOSTILE,
    None,
    "",
    "-",
    "a b",
    "A B",
    "a-b",
    "ä",
    "\udc80",
    "a" * 300,
    "a" * 301,
    *("..", "a/b", "no-owner", "a" * 5_000),
    ("a", "b"),
    ("a", None),
]


def test_ids_of_different_names_are_different_and_have_no_special_signs():
    ids = [links.anchor("producer", *(name if isinstance(name, tuple) else (name,))) for name in NAMES]
    assert len(set(ids)) == len(NAMES)
    assert all(re.fullmatch(r"producer-[a-z0-9-]{16,60}", each) for each in ids)
    folders = [teams.folder_of(name) for name in NAMES if not isinstance(name, tuple)]
    assert len(set(folders)) == len(NAMES) - 2
    assert all(re.fullmatch(r"[a-z0-9-]{8,60}", each) for each in folders)


def test_each_producer_and_topic_of_the_page_has_a_place():
    page = Page(html.render(reports.complete()))
    for producer in reports.fixed()["producers"]:
        assert producer_id(producer) in page.ids
    assert sum(each.startswith("topic-") for each in page.ids) == len(reports.fixed()["topics"])


@pytest.mark.parametrize("known", [2_000, 5])
@pytest.mark.parametrize("most_bytes", [0, 80_000, 10**6])
def test_a_producer_that_the_page_leaves_out_is_no_link(known, most_bytes, monkeypatch):
    """Known producers are not among the first of the page, and may be the first that have a place on it."""
    rows = [
        rejected(f"{name}-{n}", most + n)
        for name, most in (("legacy", known), ("app", 1_000))
        for n in range(20)
    ]
    report = reported(rows, '[[known]]\nclient_ids = ["legacy-*"]\nuntil = 2026-12-24\n')
    for producer in report["producers"]:
        producer["week"] = [0, producer["rejected_records"]]
    monkeypatch.setattr(html, "MAX_BYTES", most_bytes)
    [nobody] = report["owners"]["teams"]
    for text in (html.render(report), team_pages.page(report, nobody)):
        page = Page(text)
        linked = {link[1:] for link in page.links if link.startswith("#")}
        assert linked <= set(page.ids)
        assert any(link.startswith("producer-") for link in linked) is (most_bytes > 0)


def test_the_page_links_to_its_neighbours_and_files():
    page = Page(html.render(reports.complete()))
    relative = [link for link in page.links if ":" not in link and not link.startswith("#")]
    others = [link for link in relative if "#" not in link and "/teams/" not in link]
    assert others == [*NEIGHBOURS, "report.json", "report.csv"]
    assert all(link.startswith("#") for link in Page(html.render(reports.fixed())).links)


@pytest.mark.parametrize(
    "link",
    [
        *("javascript:alert(1)", "//evil.example", "/etc/passwd", "https://evil.example/", "a b", "a\nb"),
        *("\\\\host", "..", "", "x" * 3_000, *reports.HOSTILE),
    ],
)
def test_no_link_of_a_report_from_somewhere_leads_elsewhere(link):
    report = reports.complete()
    report["links"] = dict.fromkeys(report["links"], link)
    found = Page(html.render(report)).links
    assert not [each for each in found if not each.startswith(("#", "mailto:", "https://chat."))]


@pytest.mark.parametrize("above", ["reports", "reports/", "s3a://lake/reports"])
def test_links_are_relative_to_the_index_on_every_file_system(above):
    days = [{"day": "2026-11-20", "records": 5, "rejected_records": 1, "producers_affected": 1}]
    publication = Publication(above, ("html", "json"), rollup="rollup").of_day(date(2026, 11, 20))
    report, [facts] = publication.linked(reports.fixed(), days, reports.week())
    assert facts["page"] == "2026-11-20/report.html"
    assert report["links"]["index"] == "../index.html"
    assert report["links"]["day_before"] == "../2026-11-19/report.html"
    assert report["links"]["day_after"] is None
    assert (report["links"]["json"], report["links"]["csv"]) == ("report.json", None)
    assert set(Page(html.render(report)).links) >= {"../index.html", "../2026-11-19/report.html"}


def test_without_the_options_a_report_claims_nothing_and_links_to_its_files_alone():
    report, facts = Publication("out", ("html", "json")).linked(reports.fixed(), [], {})
    assert (facts, report["history"], report["owners"]) == ([], None, None)
    found = Page(html.render(report)).links
    assert [link for link in found if not link.startswith("#")] == ["report.json"]


def rows_of(facts):
    text = index.render(facts)
    return [Page(row).words for row in re.findall(r"<tr role=\"row\">(?!<th).*?</tr>", text)], Page(text)


TEAMS = [f"teams/{teams.folder_of(team)}/index.html" for team in ("Payments", "Devices")]


def test_the_index_has_a_row_for_each_day_the_newest_first():
    rows, page = rows_of(
        reports.week(d19={"state": "incomplete"}, d18={"state": "not_over"}, d17={"records": 0})
    )
    assert [row[:10] for row in rows] == [f"2026-11-{n}" for n in range(20, 12, -1)]
    days = [f"2026-11-{n}/report.html" for n in range(20, 12, -1)]
    assert page.links == [*TEAMS, *days]
    for part in ("complete", "100,000", "2.5% (2,500)", "the wrong time unit 50%"):
        assert part in rows[0]
    assert "incomplete" in rows[1]
    assert "day not over" in rows[2]
    assert rows[3].startswith("2026-11-17complete0–3")


def test_days_that_are_not_there_are_a_row_that_says_so():
    rows, _ = rows_of(reports.week(d14=None, d17=None, d18=None))
    assert [row[:40] for row in rows if "missing" in row] == [
        "2026-11-17 to 2026-11-18missing in the r",
        "2026-11-14missing in the rollup––––",
    ]


def test_a_folder_that_several_days_share_is_linked_from_the_last_report_only():
    rows = {f"d{n}": {"page": "latest/report.html"} for n in range(13, 21)}
    assert rows_of(reports.week(**rows))[1].links == [*TEAMS, "latest/report.html"]


def test_an_index_without_a_day_is_a_page_too():
    assert "The rollup holds no day." in Page(index.render({})).words


def test_a_year_is_a_small_page():
    day = reports.week()["2026-11-20"] | {"cause": "x" * 5_000}
    facts = {
        each: day | {"day": each}
        for each in (f"20{y}-{m:02d}-{d:02d}" for y in (25, 26) for m in range(1, 13) for d in range(1, 29))
    }
    facts = dict(sorted(facts.items())[-400:])
    assert len(index.render(facts).encode()) <= html.MAX_BYTES
