"""README and the index of the documents: short, complete, and found by the words that people search for."""

import re

import pytest

from tests.deploy.commands import ROOT
from tests.deploy.test_links import leads_nowhere, prose

README = ROOT / "README.md"
INDEX = ROOT / "docs" / "README.md"
MOST_WORDS = 900
SEARCHED = ("Kubernetes", "troubleshooting", "upgrade", "metrics", "errors", "my producer is refused")


def links(document):
    """Text and target of each link of a document."""
    return re.findall(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", prose(document))


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").split()) <= MOST_WORDS


def test_the_readme_leads_to_the_index():
    assert "docs/README.md" in [target for _, target in links(README)]


def test_the_excerpt_of_the_demo_is_an_excerpt():
    [excerpt] = re.findall(
        r"^```\n( +at the client.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    whole = (ROOT / "docs" / "guide" / "demo.md").read_text(encoding="utf-8").splitlines()
    assert set(excerpt.splitlines()) - {"…"} <= set(whole)


@pytest.mark.parametrize("document", [README, INDEX], ids=["README", "index"])
@pytest.mark.parametrize("words", SEARCHED)
def test_a_word_that_people_search_for_is_the_text_of_a_link_or_a_heading(document, words):
    """Headings count in the index: the links below them are the second click."""
    found = [target for text, target in links(document) if words.lower() in text.lower()]
    assert [target for target in found if leads_nowhere(document, target)] == []
    headings = re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE)
    assert found or [heading for heading in headings if words.lower() in heading.lower()]


def test_the_index_has_every_page():
    pages = {page.relative_to(INDEX.parent).as_posix() for page in INDEX.parent.rglob("*.md")}
    linked = {target.partition("#")[0] for _, target in links(INDEX)}
    assert pages - {"README.md"} - linked == set()


COMPLAINTS = ROOT / "docs" / "evidence" / "complaints.md"
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in COMPLAINTS.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| complaint |", "| --- |"))
]


def two_clicks_from_the_readme():
    """The pages that a reader of README reaches with at most two clicks."""
    reached = {README}
    for _ in range(2):
        reached |= {
            (page.parent / target.partition("#")[0]).resolve()
            for page in set(reached)
            if page.suffix == ".md"
            for _, target in links(page)
            if not target.startswith(("https:", "#")) and not leads_nowhere(page, target)
        }
    return reached


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_complaint_has_a_source_and_an_answer_that_exists(row):
    _, source, answer = row
    assert source == "Kong Event Gateway's changelog" or re.fullmatch(
        r"(\[[^\]]+\]\(https://[^)\s]+\)(, )?)+", source
    )
    [target] = re.findall(r"\]\(([^)\s]+)\)", answer)
    assert not leads_nowhere(COMPLAINTS, target)
    assert (COMPLAINTS.parent / target.partition("#")[0]).resolve() in two_clicks_from_the_readme()


def test_the_table_of_complaints_is_not_empty():
    assert len(ROWS) == 46
