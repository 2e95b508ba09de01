"""Each sentence of security.md and policy.md (docs/guide) that promises something has tests, by name.

`promises.txt` names them. A text that changes asks for a look: its digest is that of the text for which the
tests were chosen.
"""

import ast
import hashlib
import re
from functools import cache
from itertools import zip_longest
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = HERE.parent
NO_PROMISE = {"advice", "about others", "an introduction", "a limitation", "a measurement"}
PAGES = dict(
    re.findall(r"^== (\S+)\n(.*?)(?=^== |\Z)", (HERE / "promises.txt").read_text("utf-8"), re.M | re.S)
)
TEXT = re.compile(r"^([0-9a-f]{8})((?: .+\n)+)", re.M)
ITEM = re.compile(r"(\*|\d+\.) |\|")
RULER = re.compile(r"[|: -]+")
END = re.compile(r"(?:(?<=[.?])|(?<=\.\))|(?<=\.\*\*)) (?!\|)")


def chosen(lines):
    """{the digest of a text: {the first words of a sentence: its tests}}, in the order of the sentences"""
    return {
        seen: dict(line.strip().rsplit(" -> ", 1) for line in rows.splitlines())
        for seen, rows in TEXT.findall(lines)
    }


def blocks_of(page):
    return blocks((TESTS.parent / "docs" / "guide" / page).read_text("utf-8"))


def digest(block):
    return hashlib.sha256(block.encode()).hexdigest()[:8]


def sentences(block):
    return END.split(re.sub(r"^(\*|\d+\.) ", "", block))


def unheld(block, lines):
    """The sentences of a text that do not begin with the words of the line in their place."""
    return [
        sentence
        for sentence, words in zip_longest(sentences(block), lines, fillvalue="")
        if not words or not sentence.startswith(words)
    ]


def changed(found, known):
    """The entries of the texts that are not known, with the tests of the sentences that are."""
    gone = known.keys() - set(map(digest, found))
    old = {words: tests for seen in gone for words, tests in known[seen].items()}
    return "".join(entry(block, old) for block in found if digest(block) not in known)


def entry(block, old):
    lines = []
    for sentence in sentences(block):
        words = next(filter(sentence.startswith, old), sentence)
        lines.append(f" {words} -> {old.get(words, '?')}\n")
    return digest(block) + (" " * 8).join(lines)


def blocks(text):
    """The paragraphs, items and table rows. Headings, code, heads of tables and "such as:" are left out."""
    found, is_code = [""], False
    for line in map(str.strip, text.splitlines()):
        is_code ^= line.startswith("```")
        if is_code or not line or line.startswith(("```", "#")):
            found.append("")
        elif RULER.fullmatch(line):
            found.pop()  # the head of this table
            found.append("")
        elif ITEM.match(line):
            found.append(line)
        else:
            found[-1] = f"{found[-1]} {line}".lstrip()
    return [block for block in found if block and (". " in block or not block.endswith(":"))]


@cache
def names_in(path):
    tree = ast.parse(path.read_text("utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name for function in functions}


def missing(tests):
    """The tests of `folder/file::name, ...` that do not exist."""
    for test in tests.split(", "):
        place, _, name = test.partition("::")
        folder, _, file = place.rpartition("/")
        paths = [TESTS.parent / top / folder / f"test_{file}.py" for top in ("tests", "rigs")]
        if not any(f"test_{name}" in names_in(path) for path in paths if path.is_file()):
            yield test


@pytest.mark.parametrize("page", PAGES)
def test_every_text_is_the_one_for_which_its_tests_were_chosen(page):
    """If it is not: see whether these tests, or others, hold its promises now, and write the lines again."""
    found, known = blocks_of(page), chosen(PAGES[page])
    assert changed(found, known) == "", (
        "the page says something else now: if the tests still hold it, these are the lines for promises.txt"
    )
    assert [known[seen] for seen in known.keys() - set(map(digest, found))] == [], "these texts are gone"


@pytest.mark.parametrize("page", PAGES)
def test_every_sentence_has_its_line(page):
    known = chosen(PAGES[page])
    assert [each for block in blocks_of(page) for each in unheld(block, known.get(digest(block), ()))] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_exists(page):
    held = [tests for lines in chosen(PAGES[page]).values() for tests in lines.values()]
    assert [tests for tests in held if tests.startswith("none: ") and tests[6:] not in NO_PROMISE] == [], (
        f"a line without a test ends with none and one of: {', '.join(sorted(NO_PROMISE))}"
    )
    assert [test for tests in held if not tests.startswith("none: ") for test in missing(tests)] == [], (
        "promises.txt names tests that do not exist: was one renamed?"
    )


def test_a_sentence_that_is_added_to_a_text_is_noticed():
    before, after = "* It is so (here.) **It is fast.** Version 1.2 is, too.", "* It is so. It is small."
    known = {digest(before): {"It is so": "documents/promises::gone", "**It": "none: advice", "Version": "x"}}
    assert (changed([before], known), unheld(before, known[digest(before)])) == ("", [])
    assert unheld(before, ["It is so", "**It"]) == ["Version 1.2 is, too."]
    lines = changed([after], known)
    assert lines == f"{digest(after)} It is so -> documents/promises::gone\n         It is small. -> ?\n"
    assert chosen(lines) == {digest(after): {"It is so": "documents/promises::gone", "It is small.": "?"}}


def test_a_promise_without_a_test_is_found():
    assert blocks("# A\n\nIt is so.\n\n| a |\n| --- |\n| b |\n\nThese:\n\n* one\n  more\n* two\n") == [
        "It is so.",
        "| b |",
        "* one more",
        "* two",
    ]
    assert list(
        missing("documents/promises::a_promise_without_a_test_is_found, documents/promises::gone")
    ) == ["documents/promises::gone"]
