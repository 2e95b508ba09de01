"""The tests and modules that the documents name exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
TEST = re.compile(r"`((?:tests|rigs)/[\w./-]+)(?:::\w+)?`")


def missing(text):
    """The files and folders of `tests` and `rigs` that the text names and that are not there."""
    return sorted({named for named in TEST.findall(text) if not (ROOT / named).exists()})


def test_each_test_that_a_document_names_exists():
    named = {page.name: missing(page.read_text("utf-8")) for page in PAGES}
    assert {page: names for page, names in named.items() if names} == {}


def test_a_test_that_is_gone_is_found():
    assert missing("`tests/documents/test_paths.py` `tests/documents` `tests/gone.py`") == ["tests/gone.py"]
