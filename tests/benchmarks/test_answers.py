"""The answers of docs/evidence/benchmarks.md are those of results.md."""

import re
from pathlib import Path

import pytest

from benchmarks.answers import ANSWERS, QUESTIONS, answers
from benchmarks.bench import FULL, Bench
from benchmarks.measurements import MEASUREMENTS
from benchmarks.page import RESULTS, MissingFigureError, with_proxy, with_reports, wrapped
from benchmarks.processes import Workshop
from benchmarks.report import Circumstances, markdown
from benchmarks.sections import Section
from benchmarks.targets import TARGETS, Target, counted, lines

TEXT = RESULTS.read_text(encoding="utf-8")


def test_the_answers_are_those_of_the_results():
    """Otherwise: python -m benchmarks.answers"""
    assert answers(TEXT) == ANSWERS.read_text(encoding="utf-8")
    assert len(QUESTIONS) == 11
    assert sum(map(len, TARGETS.values())) == 40
    assert len([*lines(TEXT)]) == 40


def test_another_figure_is_another_answer():
    changed = re.sub(r"(\| tsproxy \| \d+ MiB \| )\d+ MiB \|", r"\g<1>99 MiB |", TEXT)
    assert "| 99 MiB, and " in answers(changed)


def test_a_figure_that_is_missing_is_named():
    [row] = re.findall(r"\| 100 KB, 8×5 \| [^|]+ \| [^|]+% \|", TEXT)  # no other table has these columns
    with pytest.raises(MissingFigureError, match="CPU for rejecting everything: no row 100 KB, 8×5"):
        answers(TEXT.replace(row, row.replace(", 8×5", "")))


PARTLY = """
## CPU for relaying

| load | tsproxy |
| --- | --- |
| 1 KB, 8×5 | 1.15 [1.00–1.30] |
| 100 KB, 8×5 | 1.16 [1.10–1.20] |
"""


def test_a_target_is_met_by_the_median_and_one_without_a_figure_is_left_out():
    assert counted(PARTLY) == "1 of 2 targets are met."
    assert [(line[3], line[4]) for line in lines(PARTLY)] == [
        ("1.15 [1.00–1.30]", "met"),
        ("1.16 [1.10–1.20]", "**missed**"),
    ]


def test_the_worst_row_of_a_table_is_held_to_the_target():
    target = Target("relay", "the worst", "tsproxy", 1.15)
    assert target.measured(PARTLY) == "1.16 [1.10–1.20]"
    assert not target.is_met(PARTLY)
    with pytest.raises(MissingFigureError, match="CPU for relaying: no 'nginx'"):
        Target("relay", "1 KB, 8×5", "nginx", 1).measured(PARTLY)


def test_each_part_is_replaced_and_the_other_stays():
    page = with_reports(with_proxy("", "# Proxy\n\nold\n"), "# Reports\n\nold\n")
    page = with_proxy(page, "# Proxy\n\nnew\n")
    assert "# Proxy\n\nnew\n" in page
    assert "# Reports\n\nold\n" in page
    page = with_reports(page, "# Reports\n\nnew\n")
    assert "# Proxy\n\nnew\n" in page
    assert "# Reports\n\nnew\n" in page
    assert "old" not in page


def test_writing_the_same_again_changes_nothing():
    page = with_reports(with_proxy("", "# Proxy\n"), "# Reports\n")
    assert with_proxy(page, "# Proxy\n") == page
    assert with_reports(page, "# Reports\n") == page


def test_the_reports_may_be_written_first():
    page = with_proxy(with_reports("", "# Reports\n"), "# Proxy\n")
    assert page.index("# Proxy") < page.index("# Reports")


def test_a_list_item_is_wrapped_and_its_code_is_not():
    text = " ".join(["twenty-two"] * 9 + ["`some code that is not broken`", "end"])
    assert wrapped(text, begin="- ") == (
        "- " + " ".join(["twenty-two"] * 9) + "\n  `some code that is not broken` end"
    )


def test_what_failed_is_told_and_takes_nothing_else_with_it():
    bench = Bench(Workshop(Path(), 0), FULL, failed={"1 KB, 8×5: a proxy died": None})
    text = markdown(bench, Circumstances.now(), {MEASUREMENTS[1]: Section("Text.", ("load",), [("1 KB",)])})
    assert "## Failed\n\n- 1 KB, 8×5: a proxy died\n" in text
    assert "| 1 KB |" in text
