"""Links between the documents: each leads to a file that exists, and to a heading in it."""

import re
from pathlib import Path

import pytest

from tests.deploy.commands import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")])
CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def prose(document: Path) -> str:
    """The document without its code blocks."""
    return CODE.sub("", document.read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_heading_that_exists(document: Path):
    links = re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose(document))
    assert [link for link in links if leads_nowhere(document, link)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_test_that_a_document_names_exists(document: Path):
    named = set(re.findall(r"`((?:tests|rigs)/[\w/.-]+)`", prose(document)))
    assert [each for each in sorted(named) if not (ROOT / each).exists()] == []
