"""Each promise of docs/guide/security.md and docs/guide/policy.md has a test, by name (`promises.txt`).

A text that changes asks for a look: its line has a digest of the text for which its tests were chosen.
"""

import ast
import hashlib
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = HERE.parent
NO_PROMISE = {"advice", "about others", "a figure"}
PAGES = dict(
    re.findall(r"^== (\S+)\n(.*?)(?=^== |\Z)", (HERE / "promises.txt").read_text("utf-8"), re.M | re.S)
)
ITEM = re.compile(r"(\*|\d+\.) |\|")
RULER = re.compile(r"[|: -]+")


def rows_of(page):
    """(first words, what holds the promise, the digest of the text) of each line."""
    lines = [line.split(" -> ", 1) for line in PAGES[page].splitlines() if line]
    return [(words, *rest.rsplit(" #", 1)) for words, rest in lines]


def blocks_of(page):
    return blocks((TESTS.parent / "docs" / "guide" / page).read_text("utf-8"))


def digest(block):
    return hashlib.sha256(block.encode()).hexdigest()[:8]


def changed(found, rows):
    """The lines as they must be, for texts that are not those for which the tests were chosen."""
    return [
        f"{words} -> {tests} #{digest(block)}"
        for words, tests, seen in rows
        for block in found
        if block.startswith(words) and digest(block) != seen
    ]


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
def test_every_paragraph_item_and_row_says_which_tests_hold_it(page):
    found, words = blocks_of(page), [words for words, *_ in rows_of(page)]
    assert [block for block in found if not block.startswith(tuple(words))] == [], "these have no line"
    assert [each for each in words if sum(block.startswith(each) for block in found) != 1] == [], (
        "these first words in promises.txt begin no block of the page, or several"
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_text_is_the_one_for_which_its_tests_were_chosen(page):
    """If it is not: see whether these tests, or others, hold its promises now, and write the line again."""
    assert changed(blocks_of(page), rows_of(page)) == [], (
        "the page says something else now: if the tests still hold it, these are the lines for promises.txt"
    )


def test_a_sentence_that_is_added_to_a_paragraph_is_noticed():
    row = ("It is so", "documents/promises::gone", digest("It is so."))
    assert changed(["It is so.", "Other."], [row]) == []
    assert changed(["It is so. It is fast."], [row]) == [
        f"It is so -> documents/promises::gone #{digest('It is so. It is fast.')}"
    ]


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_exists(page):
    held = [tests for _, tests, _ in rows_of(page)]
    assert [tests for tests in held if tests.startswith("none: ") and tests[6:] not in NO_PROMISE] == [], (
        f"a line without a test ends with none and one of: {', '.join(sorted(NO_PROMISE))}"
    )
    assert [test for tests in held if not tests.startswith("none: ") for test in missing(tests)] == [], (
        "promises.txt names tests that do not exist: was one renamed?"
    )


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
