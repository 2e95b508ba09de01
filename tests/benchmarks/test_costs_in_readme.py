"""The costs in README are those of the benchmarks."""

import re
from pathlib import Path

from benchmarks import page
from benchmarks.answers import ANSWERS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = page.RESULTS.read_text(encoding="utf-8")


def table(section):
    """Row -> column -> the first number of the cell, as text."""
    rows = page.table(RESULTS, section)
    return {
        name: {column: cell.partition(" [")[0] for column, cell in row.items()} for name, row in rows.items()
    }


def cost(row):
    """The figures of README in the row that begins so."""
    [found] = re.findall(rf"^\| {re.escape(row)}[^|]*\| (.*?) \|$", README, re.MULTILINE)
    return found


def test_cpu_is_that_of_the_benchmarks():
    relay = table("CPU for relaying")
    adaptive = table("CPU for compressed batches that mostly stay unread")
    loads = ("1 KB, 8×5", "16 KB, 8×5", "100 KB, 8×5", "1 MB, 8×5")
    assert cost("CPU, uncompressed").split(" / ") == [relay[load]["tsproxy"] for load in loads]
    assert cost("the same with TLS").split(" / ") == [relay[f"{load}, TLS"]["tsproxy"] for load in loads]
    compressed = ("100 KB lz4, 8×5", "100 KB zstd, 8×5")
    for row, column in (("CPU, 100 KB compressed", "`adaptive`"), ("the same with `ins", "`all`")):
        assert cost(row).split(" / ") == [adaptive[load][column] for load in compressed]


def test_latency_and_memory_are_those_of_the_benchmarks():
    latency = table("End to end, with Kafka's own tools")
    p99 = [latency[through]["p99, haproxy = 1"] for through in ("tsproxy", "no proxy")]
    assert cost("p99 latency") == f"{p99[0]} ({p99[1]} without a proxy)"
    memory = table("Memory of idle connections")
    in_all = [memory[proxy]["in all"] for proxy in ("tsproxy", "haproxy")]
    assert cost("memory with") == f"{in_all[0]} (haproxy: {in_all[1]})"


def test_date_and_missed_targets_are_those_of_the_benchmarks():
    [date] = re.findall(r"^- Date: (\S+)$", RESULTS, re.MULTILINE)
    [(met, targets)] = re.findall(r"^(\d+) of (\d+) targets are met\.$", ANSWERS.read_text("utf-8"), re.M)
    assert f"Measured on {date} on" in README
    assert f"the {int(targets) - int(met)} of {targets} targets that it misses" in README


def test_the_range_in_the_questions_is_that_of_uncompressed_batches():
    ratios = [float(row["tsproxy"]) for row in table("CPU for relaying").values()]
    questions = (ROOT / "docs" / "guide" / "faq.md").read_text(encoding="utf-8")
    assert f"Between {min(ratios)} and {max(ratios)} times the CPU of haproxy" in questions
