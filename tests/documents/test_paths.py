"""The tests and modules that the documents name exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
TEST = re.compile(r"`((?:tests|rigs)/[\w./-]+)(?:::(\w+))?`")


def missing(text):
    """The files, folders and functions of `tests` and `rigs` that the text names and that are not there."""
    return sorted(
        {f"{path}::{name}" if name else path for path, name in TEST.findall(text) if not there(path, name)}
    )


def there(path, name):
    place = ROOT / path
    return place.exists() and (not name or f"def {name}(" in place.read_text("utf-8"))


def test_each_test_that_a_document_names_exists():
    named = {page.name: missing(page.read_text("utf-8")) for page in PAGES}
    assert {page: names for page, names in named.items() if names} == {}


def test_a_test_that_is_gone_is_found():
    here = "tests/documents/test_paths.py"
    assert missing(f"`{here}` `tests/documents` `tests/gone.py`") == ["tests/gone.py"]
    assert missing(f"`{here}::missing` `{here}::gone`") == [f"{here}::gone"]


def test_each_finding_about_the_reports_has_a_test_by_its_name():
    """N2 to N22 of the second reading, which has no N17."""
    page = (ROOT / "docs" / "evidence" / "reliability.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (N\d+) \|.*\| ([^|]*) \|$", page, re.M))
    assert rows.keys() == {f"N{number}" for number in range(2, 23)} - {"N17"}
    assert [
        number for number, tests in rows.items() if not any(name for _, name in TEST.findall(tests))
    ] == []
