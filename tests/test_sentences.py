"""Sentences begin with their subject, so that nobody has to read one twice (CONTRIBUTING.md).

A sentence without a noun at its head ("What comes back …", "Of a batch …", "Those in …") is rewritten. A
heading may be such a phrase, and so may a question. A variable has the noun of what it holds for a name.
"""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("tsproxy", "spark_reports", "tests", "rigs", "deploy", "benchmarks")
CODE = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tsproxy").rglob("*.md")])
HEADLESS = re.compile(r"(What|Of|Where|Those|Whatever|Whoever|Whose)\b[^?]*$")
PARTED_PERCENT = re.compile(r"(?:[0-9]|^) %(?:(?! ?[\w(\"'])| of\b)")
OF_A_CHECKOUT = re.compile(r"\b(docs|deploy|tests)/\w|\b(?!report\b)[\w-]+\.md\b")
VAGUE = {"each", "found", "own"}
"""Names that say nothing: `batch`, `partition` or `finding` says what it is."""
NAMED_WELL = ("tsproxy",)
"""The packages without a vague name. The others still have some."""
_ENDS_A_SENTENCE = re.compile(r"(?<=[.:?!])\s+")


def headless(text: str) -> list[str]:
    """The sentences of a paragraph that have no subject at their head."""
    sentences = _ENDS_A_SENTENCE.split(" ".join(text.split()))
    return [sentence for sentence in sentences if HEADLESS.match(sentence)]


def texts_of_code(source: str) -> Iterator[str]:
    """The paragraphs of docstrings and of long strings, and each line of comments."""
    for string in re.findall(r'"""(.*?)"""', source, re.S):
        yield from string.split("\n\n")
    yield from re.findall(r"(?:^|  +)# (.*)$", source, re.M)


def texts_of_page(text: str) -> Iterator[str]:
    """The paragraphs, entries and cells of a page, without headings, bold words and code."""
    prose = re.sub(r"^```.*?^```|^#.*?$", "", text, flags=re.M | re.S)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[*-] )|\|", prose):
        yield paragraph.strip().removeprefix("* ").removeprefix("- ")


@pytest.mark.parametrize("text", ["What comes back.", "It ends. Of a batch\nonly the header.", "Those: two."])
def test_headless_sentences_are_found(text):
    assert headless(text)


@pytest.mark.parametrize("text", ["What is it?", "The batch of a topic.", "Whatsoever", "Offsets grow."])
def test_other_sentences_are_not(text):
    assert not headless(text)


@pytest.mark.parametrize(
    ("paths", "texts_of"), [(CODE, texts_of_code), (PAGES, texts_of_page)], ids=["code", "pages"]
)
def test_sentences_begin_with_their_subject(paths, texts_of):
    found = [
        f"{path.relative_to(ROOT)}: {sentence}"
        for path in paths
        for text in texts_of(path.read_text(encoding="utf-8"))
        for sentence in headless(text)
    ]
    assert found == [], "a sentence begins with its subject, not with What, Of, Where, Those and the like"


def strings_of(path):
    """The strings of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value


def test_no_text_of_an_installed_program_names_a_file_of_a_checkout():
    shipped = [path for path in CODE if path.relative_to(ROOT).parts[0] in {"tsproxy", "spark_reports"}]
    found = [
        (path.name, text)
        for path in shipped
        if path.parent.name != "testing"
        for text in strings_of(path)
        if OF_A_CHECKOUT.search(text)
    ]
    assert found == []


def test_a_percent_sign_follows_its_number_without_a_blank():
    written = [*PAGES, ROOT / "benchmarks" / "results.md", *sorted((ROOT / "deploy").rglob("*.json"))]
    texts = [(path, path.read_text(encoding="utf-8")) for path in written]
    texts += [(path, text) for path in CODE for text in strings_of(path)]
    assert [(path.name, text) for path, text in texts if PARTED_PERCENT.search(text)] == []


def names_in(path: Path) -> set[str]:
    """The names in a module: variables, parameters, attributes, functions, and what is imported."""
    with tokenize.open(path) as file:
        return {
            token.string for token in tokenize.generate_tokens(file.readline) if token.type == tokenize.NAME
        }


def test_a_name_says_what_it_holds():
    paths = [path for package in NAMED_WELL for path in sorted((ROOT / package).rglob("*.p*"))]
    sources = [path for path in paths if path.suffix in {".py", ".pyi", ".pyx", ".pxd"}]
    vague = {str(path.relative_to(ROOT)): names for path in sources if (names := VAGUE & names_in(path))}
    assert vague == {}, "the noun of what it holds is its name: batch, partition, finding"
