"""Links between the documents lead to files and headings that exist, and tests that they name exist."""

import re
from functools import cache
from pathlib import Path

from tests.deploy.commands import ROOT

FOLDERS = ("docs", "deploy", "tsproxy")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(page for each in FOLDERS for page in (ROOT / each).rglob("*.md"))])
CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def prose(document: Path) -> str:
    """The document without its code blocks."""
    return CODE.sub("", document.read_text(encoding="utf-8"))


@cache
def anchors(document: Path) -> set[str]:
    """The names that GitHub gives to the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def leads_nowhere(document: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = document.parent / path if path else document
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target)


def test_every_link_leads_to_a_heading_that_exists():
    for page in DOCUMENTS:
        links = re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose(page))
        assert [link for link in links if leads_nowhere(page, link)] == [], page


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
    named = {page.name: missing(page.read_text("utf-8")) for page in DOCUMENTS}
    assert {page: names for page, names in named.items() if names} == {}


def test_a_test_that_is_gone_is_found():
    here = "tests/deploy/test_links.py"
    assert missing(f"`{here}` `tests/documents` `tests/gone.py`") == ["tests/gone.py"]
    assert missing(f"`{here}::missing` `{here}::gone`") == [f"{here}::gone"]
