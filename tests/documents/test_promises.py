"""Each promise of docs/security.md and docs/policy.md has a test, by name (`promises.txt`)."""

import ast
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
    """(first words, what holds the promise) of each line."""
    return [tuple(line.split(" -> ", 1)) for line in PAGES[page].splitlines() if line]


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
        path = TESTS / folder / f"test_{file}.py"
        if not path.is_file() or f"test_{name}" not in names_in(path):
            yield test


@pytest.mark.parametrize("page", PAGES)
def test_every_paragraph_item_and_row_says_which_tests_hold_it(page):
    text = (TESTS.parent / "docs" / page).read_text("utf-8")
    found, words = blocks(text), [words for words, _ in rows_of(page)]
    assert [block for block in found if not block.startswith(tuple(words))] == [], "these have no line"
    assert [each for each in words if sum(block.startswith(each) for block in found) != 1] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_exists(page):
    held = [tests for _, tests in rows_of(page)]
    assert [tests for tests in held if tests.startswith("none: ") and tests[6:] not in NO_PROMISE] == []
    assert [test for tests in held if not tests.startswith("none: ") for test in missing(tests)] == []


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
