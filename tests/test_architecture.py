"""ARCHITECTURE.md and CONTRIBUTING.md name files that exist, and the drawing has each part of a contract."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "ARCHITECTURE.md").read_text()
TABLES = PAGE.partition("## Where to find it")[2]
DRAWING = PAGE.partition("```\n")[2].partition("```\n")[0]
USUAL = (ROOT / "CONTRIBUTING.md").read_text().partition("## To add something")[2].partition("\n## ")[0]
ROWS = [line for line in TABLES.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
ROWS += [paragraph for paragraph in USUAL.split("\n\n") if paragraph.startswith("**")]
PACKAGES = (ROOT, ROOT / "tsproxy", ROOT / "spark_reports")
FILE = re.compile(r"`([\w/.-]+\.(?:py|pyx|yaml|md)|[\w-]+/|[\w-]+(?:/[\w-]+)+/?)`")
PATTERNS = {"wire/kNN_name.py"}
"""Names that stand for several files."""


def folders_of(row):
    """The folders that a row names, or whose files it names. A bare name is a file of one of them."""
    for name in FILE.findall(row):
        for package in PACKAGES:
            path = package / name
            yield path if path.is_dir() else path.parent


def missing(row):
    """The names of the row that lead nowhere."""
    places = [*PACKAGES, *folders_of(row)]
    names = [name for name in FILE.findall(row) if name not in PATTERNS]
    return [name for name in names if not any((place / name).exists() for place in places)]


def test_each_file_that_a_row_names_exists():
    assert {row[2:40]: names for row in ROWS if (names := missing(row))} == {}


def test_a_name_that_leads_nowhere_is_found():
    assert missing("| x | `session/lifetime.py` and `nowhere.py`, `session/gone.py` |") == [
        "nowhere.py",
        "session/gone.py",
    ]


def test_there_are_rows():
    assert len(ROWS) > 50


NOT_DRAWN = {"arguments", "errors", "__main__"}
"""A file of its own each in spark_reports, whose name says enough."""


def layers():
    """The parts that a contract of imports orders, from the top: `proxy`, `log_events`."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    of_layers = [each["layers"] for each in contracts if each["type"] == "layers"]
    names = [name.strip() for each in of_layers for layer in each for name in layer.split("|")]
    return {name.rpartition(".")[2] for name in names if name.count(".") == 1} - NOT_DRAWN


def test_the_drawing_has_each_part_that_imports_are_ordered_by():
    assert len(layers()) > 20
    assert {name for name in layers() if not re.search(rf"\b{name}\b", DRAWING)} == set()
