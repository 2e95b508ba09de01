"""docs/evidence/benchmarks.md begins with answers, and they are those of its sections."""

import re

import pytest

from benchmarks.opening import PICTURES, QUESTIONS, with_opening
from benchmarks.page import PAGE
from benchmarks.tables import MissingFigureError

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_begins_with_the_answers_of_its_sections():
    """Otherwise: python -m benchmarks.opening"""
    assert with_opening(TEXT) == TEXT
    opening = TEXT.partition("<!-- end of questions -->")[0]
    assert len(QUESTIONS) == 11
    assert len(PICTURES) == opening.count("![") == 3
    for name in PICTURES:
        assert TEXT.count(f"benchmarks-{name}.svg") == 1
        assert (PAGE.parent / f"benchmarks-{name}.svg").exists()


def test_another_figure_is_another_answer():
    changed = re.sub(r"(\| tsproxy \| \d+ MiB \| )\d+ MiB \|", r"\g<1>99 MiB |", TEXT)
    assert "| 99 MiB, and " in with_opening(changed)


def test_a_figure_that_is_missing_is_named():
    [row] = re.findall(r"\| 100 KB, 8×5 \| .*≤ 3 \|", TEXT)
    with pytest.raises(MissingFigureError, match="CPU for rejecting everything: no row 100 KB, 8×5"):
        with_opening(TEXT.replace(row, row.replace(", 8×5", "")))
    with pytest.raises(MissingFigureError, match="no place for its questions"):
        with_opening("# Benchmarks\n")
