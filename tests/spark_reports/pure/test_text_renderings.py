"""Markdown and terminal text, from the same report.json."""

import re

import pytest

from spark_reports.render import html, markdown, terminal
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


def test_a_difference_that_no_line_gives_is_a_dash():
    row = {"topic": "clicks", "records": 20, "out_of_order_records": 5, "out_of_order_max_ms": None}
    report = reports.fixed() | {"out_of_order": [row]}
    assert re.search(r"\| clicks \| 20 \| 5 \| 25 % \| – \|", markdown.render(report))
    assert "–" in html.render(report)


@pytest.mark.parametrize("text", reports.HOSTILE)
def test_hostile_text_is_text_in_markdown_and_breaks_no_table(text):
    rendered = markdown.render(reports.hostile(text))
    for table in re.findall(r"(?:^\|.*\n?)+", rendered, re.MULTILINE):
        assert len({cells(row) for row in table.strip().split("\n")}) == 1
    assert not re.search(r"(?<!\\)<", rendered)
    assert not re.search(r"(?<!\\)\[[^\]]*(?<!\\)\]\(", rendered)
    assert "://" not in rendered


@pytest.mark.parametrize("text", reports.HOSTILE)
def test_hostile_text_moves_no_cursor_and_paints_nothing(text):
    rendered = terminal.render(reports.hostile(text), columns=100, has_colour=False)
    assert all(character.isprintable() or character == "\n" for character in rendered)


@pytest.mark.parametrize("render", [html.render, markdown.render])
@pytest.mark.parametrize("text", [*reports.HOSTILE, "\u2066\u202d" * 5_000, "x" * 10_000])
def test_hostile_text_is_printable_and_short_on_the_page_and_in_markdown(render, text):
    """A bidirectional control would turn around the text after it."""
    rendered = render(reports.hostile(text))
    assert {character for character in rendered if not character.isprintable()} <= {"\n"}
    assert "x" * 3_000 not in rendered
    assert len(rendered) < 400_000


def test_terminal_text_fits_its_columns():
    for columns in (72, 80, 120):
        lines = terminal.render(reports.fixed(), columns=columns).split("\n")
        assert max(map(len, lines)) <= columns


def test_colours_come_only_where_they_are_wanted():
    plain = terminal.render(reports.fixed(), has_colour=False)
    painted = terminal.render(reports.fixed(), has_colour=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[\d+m", "", painted) == plain


def test_terminal_text_names_the_client_the_cause_and_the_fix():
    text = terminal.render(reports.fixed(), columns=120)
    assert "Timestamps are in nanoseconds: divide by 1,000,000\n" in text
    assert re.search(
        r"sensor-gateway +475,316 +100 % of what it sent, year [\d,]+, since 13 Nov \(8\+ d\)\n", text
    )
    assert "2,386 records that hit an error that most producers retry" in text


@pytest.mark.parametrize("render", [markdown.render, terminal.render])
def test_an_empty_day_is_a_line(render):
    assert "No producer had a record rejected." in render(reports.empty())


@pytest.mark.parametrize("render", [markdown.render, terminal.render])
def test_a_day_that_is_not_over_says_so(render):
    assert "not over" in render(reports.fixed() | {"is_over": False})
    assert "not over" not in render(reports.fixed())


@pytest.mark.parametrize("render", [markdown.render, terminal.render])
def test_only_counted_batches_are_shown_with_their_rule(render):
    text = " ".join(render(reports.fixed()).split())
    assert re.search(r"web-7 .{0,40}candidate limits.*its clock runs ahead", text)
    assert "audit-clicks, waiver backfill" in text
    assert "waiver" not in render(reports.empty())


def test_markdown_names_changed_clients_and_rules_in_force():
    text = markdown.render(reports.fixed())
    assert "| svc-2 | new: never rejected before | 300 of 1,000 | none |" in text
    assert "| payments | enforce | backfill | 4 | 400 | 12 | 0 |" in text
    assert "* px-2 reloaded its configuration, 2026-11-20 10:30:00 UTC: mode audit;" in text


def test_a_long_list_of_only_counted_batches_is_cut_and_says_so():
    text = terminal.render(reports.fixed() | {"would_reject": reports.fixed()["would_reject"] * 4})
    assert "and 3 more like this in report.json" in text


def test_one_bad_record_is_no_plural():
    report = reports.fixed()
    report["totals"] |= {
        "batches_rejected": 1,
        "batches_judged": 1,
        "bad_records": 1,
        "collateral_records": 1,
    }
    assert "Rejected: 1 of 1 batch, with 1 bad record and 1 good one." in terminal.render(report)
