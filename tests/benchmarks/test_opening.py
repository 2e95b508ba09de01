"""docs/evidence/benchmarks.md begins with answers, and they are those of its sections."""

import re

import pytest

from benchmarks.opening import QUESTIONS, with_opening
from benchmarks.page import PAGE, MissingFigureError
from benchmarks.targets import TARGETS, Target, counted, lines

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_begins_with_the_answers_of_its_sections():
    """Otherwise: python -m benchmarks.opening"""
    assert with_opening(TEXT) == TEXT
    assert len(QUESTIONS) == 11
    assert sum(map(len, TARGETS.values())) == 40
    assert len([*lines(TEXT)]) == 40


def test_another_figure_is_another_answer():
    changed = re.sub(r"(\| tsproxy \| \d+ MiB \| )\d+ MiB \|", r"\g<1>99 MiB |", TEXT)
    assert "| 99 MiB, and " in with_opening(changed)


def test_a_figure_that_is_missing_is_named():
    [row] = re.findall(r"\| 100 KB, 8×5 \| 2.40 .*\|", TEXT)
    with pytest.raises(MissingFigureError, match="CPU for rejecting everything: no row 100 KB, 8×5"):
        with_opening(TEXT.replace(row, row.replace(", 8×5", "")))
    with pytest.raises(MissingFigureError, match="no place for its questions"):
        with_opening("# Benchmarks\n")


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
