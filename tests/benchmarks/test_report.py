"""The page that a run writes."""

from pathlib import Path

from benchmarks.bench import FULL, Bench
from benchmarks.measurements import MEASUREMENTS
from benchmarks.processes import Workshop
from benchmarks.report import Circumstances, markdown
from benchmarks.sections import Section


def test_what_failed_is_told_and_takes_nothing_else_with_it():
    bench = Bench(Workshop(Path(), 0), FULL, failed={"1 KB, 8×5: a proxy died": None})
    text = markdown(bench, Circumstances.now(), {MEASUREMENTS[1]: Section("Text.", ("load",), [("1 KB",)])})
    assert "## Failed\n\n- 1 KB, 8×5: a proxy died\n" in text
    assert "| 1 KB |" in text
