"""Markdown, from the same report.json as the page."""

import re

import pytest

from spark_reports.render import html, markdown
from tests.spark_reports import reports


def cells(row):
    return len(re.findall(r"(?<!\\)\|", row)) - 1


def test_markdown_holds_the_headline_the_proof_and_the_sum():
    report = reports.fixed()
    text = markdown.render(report)
    assert text.startswith("# tsproxy daily report, 2026-11-20 (UTC)\n")
    assert report["headline"] in text
    assert report["log"]["sentence"] in text
    assert f"| records checked | {report['totals']['records_judged']:,} |" in text
    assert re.search(r"### Timestamps are in nanoseconds\n\nDivide by 1,000,000\.", text)


@pytest.mark.parametrize("text", reports.HOSTILE)
def test_hostile_text_is_text_in_markdown_and_breaks_no_table(text):
    rendered = markdown.render(reports.hostile(text))
    for table in re.findall(r"(?:^\|.*\n?)+", rendered, re.MULTILINE):
        assert len({cells(row) for row in table.strip().split("\n")}) == 1
    assert not re.search(r"(?<!\\)<", rendered)
    assert not re.search(r"(?<!\\)\[[^\]]*(?<!\\)\]\(", rendered)
    assert "://" not in rendered


@pytest.mark.parametrize("render", [html.render, markdown.render])
@pytest.mark.parametrize("text", [*reports.HOSTILE, "\u2066\u202d" * 5_000, "x" * 10_000])
def test_hostile_text_is_printable_and_short_on_the_page_and_in_markdown(render, text):
    """A bidirectional control would turn around the text after it."""
    rendered = render(reports.hostile(text))
    assert {character for character in rendered if not character.isprintable()} <= {"\n", "\xa0"}
    assert "x" * 3_000 not in rendered
    assert len(rendered) < 400_000


def test_an_empty_day_is_a_line():
    assert "No producer had a record rejected." in markdown.render(reports.empty())


def test_a_day_that_is_not_over_says_so():
    assert "not over" in markdown.render(reports.fixed() | {"is_over": False})
    assert "not over" not in markdown.render(reports.fixed())


def test_only_counted_batches_are_shown_with_their_rule():
    text = " ".join(markdown.render(reports.fixed()).split())
    assert re.search(r"web-7 .{0,40}candidate limits.*its clock runs ahead", text)
    assert "audit-clicks, waiver backfill" in text
    assert "waiver" not in markdown.render(reports.empty())


def test_markdown_names_changed_clients_and_rules_in_force():
    text = markdown.render(reports.fixed())
    assert "| svc-2 | new: never rejected before | 300 of 1,000 | none |" in text
    assert "| payments | enforce | backfill | 4 | 400 | 12 | 0 |" in text
    assert "* px-2 reloaded its configuration, 2026-11-20 10:30:00 UTC: mode audit;" in text
