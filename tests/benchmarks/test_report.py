"""The page that a run writes: each target beside what was measured, and why one was missed."""

from pathlib import Path

import pytest

from benchmarks.bench import FULL, Bench
from benchmarks.measurements import MEASUREMENTS
from benchmarks.processes import Workshop
from benchmarks.report import Circumstances, markdown
from benchmarks.rounds import Spread
from benchmarks.sections import Section, at_least, verdict


def page(*verdicts) -> str:
    section = Section("What it is.", ("load",), [("1 KB",)], verdicts=verdicts)
    bench = Bench(Workshop(Path(), 0), FULL)
    return markdown(bench, Circumstances.now(), {MEASUREMENTS[0]: section})


def test_a_target_that_is_met_stands_with_its_spread_and_needs_no_reason():
    text = page(verdict("tsproxy, 1 KB, 8×5", Spread(1.149, 1.0, 1.3), 1.15))
    assert "1 of 1 targets are met" in text
    assert "| tsproxy, 1 KB, 8×5 | ≤ 1.15 | 1.15 [1.00–1.30] | met |" in text
    assert "Why targets were missed" not in text


def test_a_missed_target_is_told_with_its_reason():
    text = page(verdict("tsproxy, 16 KB, 8×5, TLS", Spread(1.3, 1.2, 1.4), 1.15), verdict("idle", 3, 80))
    assert "1 of 2 targets are met" in text
    assert "| tsproxy, 16 KB, 8×5, TLS | ≤ 1.15 | 1.30 [1.20–1.40] | **missed** |" in text
    assert "- tsproxy, 16 KB, 8×5, TLS: with TLS, " in text


def test_a_lower_bound_is_missed_from_below():
    (row,) = [line for line in page(at_least("walk", 19.0, 20)).splitlines() if line.startswith("| walk")]
    assert row == "| walk | ≥ 20 | 19.00 | **missed** |"


def test_what_failed_is_told_and_takes_nothing_else_with_it():
    bench = Bench(Workshop(Path(), 0), FULL, failed={"1 KB, 8×5: a proxy died": None})
    text = markdown(bench, Circumstances.now(), {MEASUREMENTS[1]: Section("Text.", ("load",), [("1 KB",)])})
    assert "## Failed\n\n- 1 KB, 8×5: a proxy died\n" in text
    assert "| 1 KB |" in text


@pytest.mark.parametrize(
    "name", ["tsproxy, 1 KB, 64×1", "tsproxy, asyncio, 200 B, 8×5", "tsproxy, 1 MB, 8×5"]
)
def test_every_relay_target_has_a_reason_at_hand(name):
    assert "not looked into yet" not in page(verdict(name, 9.0, 1.0))
