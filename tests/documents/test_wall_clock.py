"""Each place that reads the wall clock has a row that says what a wrong one does there."""

import ast
import re
from pathlib import Path

from tests.documents.tables import rows_of

ROOT = Path(__file__).parents[2]
READS = re.compile(
    r"(\bdatetime\.(now|utcnow|today)|\bdate\.today|\btime\.(time|time_ns|ctime|localtime|gmtime|strftime)"
    r"|[cC]lock(\(\))?\.now_ms|\.getModificationTime|\bTimeStamper|\.st_[mc]time(_ns)?)"
)
IN_C = re.compile(r"\b(system_now_ms|gettimeofday|CLOCK_REALTIME)\b")
NO_ROW = {"clock.py Clock.now_ms", "testing/rules.py batch_times", "testing/rules.py rejected"}
"""The class that all other code asks, and a clock that a user's test sets."""


def reads_in(tree, name=""):
    """The functions of a module that read the wall clock or the time of a file, called or passed on."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from reads_in(node, f"{name}.{node.name}".removeprefix("."))
        else:
            if isinstance(node, ast.Attribute) and READS.search(f".{ast.unparse(node)}"[1:]):
                yield name
            yield from reads_in(node, name)


def places():
    for package in ("tsproxy", "spark_reports"):
        for file in sorted((ROOT / package).rglob("*.py")):
            shown = str(file.relative_to(ROOT)).removeprefix("tsproxy/")
            for name in reads_in(ast.parse(file.read_text(encoding="utf-8"))):
                yield f"{shown} {name}"
    for pattern in ("*.pyx", "*.c"):
        for file in sorted((ROOT / "tsproxy").rglob(pattern)):
            is_source = pattern == "*.pyx" or not file.with_suffix(".pyx").exists()
            if is_source and IN_C.search(file.read_text(encoding="utf-8")):
                yield str(file.relative_to(ROOT)).removeprefix("tsproxy/")


def test_each_place_that_reads_the_wall_clock_has_a_row():
    rows = rows_of("../tests/documents/wall_clock.md", "what is decided", "read in", "ahead", "behind")
    listed = [place for row in rows for place in re.findall(r"`([^`]+)`", row[1])]
    assert sorted(listed) == sorted({*places()} - NO_ROW)


def test_a_new_use_is_found_however_it_is_written():
    source = "import time\nclass A:\n def f(self):\n  return self._clock.now_ms() or [time.time]\n"
    assert {*reads_in(ast.parse(source))} == {"A.f"}
