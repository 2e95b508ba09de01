"""ARCHITECTURE.md leads to files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TABLES = (ROOT / "ARCHITECTURE.md").read_text().partition("## Where to find it")[2]
ROWS = [line for line in TABLES.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:40])
def test_each_file_that_a_row_names_exists(row):
    assert missing(row) == []


def test_a_name_that_leads_nowhere_is_found():
    assert missing("| x | `session/lifetime.py` and `nowhere.py`, `session/gone.py` |") == [
        "nowhere.py",
        "session/gone.py",
    ]


def test_there_are_rows():
    assert len(ROWS) > 50
