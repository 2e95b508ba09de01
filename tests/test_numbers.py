"""A number and its noun agree in what the programs say: "1 record", "2 records".

A noun that is plural whatever its number says "1 records" one day, and "record(s)" is no word.
`tsproxy.model.words.many` and `spark_reports.report.words.many` look at the number.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = [path for package in ("tsproxy", "spark_reports") for path in sorted((ROOT / package).rglob("*.py"))]
NOUNS = (
    "batches|brokers|clients|connections|days|duplicates|files|headers|hours|intervals|jars|keys|lines|listeners"
    "|minutes|packages|partitions|producers|records|requests|rows|rules|seconds|tasks|topics|waivers|workers"
)
BEHIND_A_NUMBER = re.compile(rf" (?:(?!(?:at|from|in|of|the|to) )[a-z]+ )?(?:{NOUNS})\b")
NOT_ONE = {
    "most_days",
    "arguments.MAX_DAYS",
    "MAX_TOPICS",
    "most",  # of a request's partitions
    "config.workers",  # the text is for more than one
    "every_s",  # Spark reads it
}


def plurals(source):
    """The places of f-strings and texts where a noun does not look at its number: its line and words."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            for number, text in zip(node.values, node.values[1:], strict=False):
                if isinstance(number, ast.FormattedValue) and isinstance(text, ast.Constant):
                    counted = ast.unparse(number.value)
                    found = BEHIND_A_NUMBER.match(text.value)
                    if found and counted not in NOT_ONE and "many(" not in counted:
                        yield node.lineno, counted + found[0]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for found in re.findall(r"\w+\(e?s\)", node.value):
                yield node.lineno, found


@pytest.mark.parametrize(
    "code", ['f"{count:,} records read"', 'f"{a} of {len(b)} bad records"', 'f"{count} {x} partition(s)"']
)
def test_a_noun_that_does_not_look_at_its_number_is_found(code):
    assert list(plurals(code)) != []


@pytest.mark.parametrize(
    "code", ["f\"{many(count, 'record')} read\"", 'f"{who} sees no topics"', 'f"the {name}, records of it"']
)
def test_another_text_is_not(code):
    assert list(plurals(code)) == []


def test_a_number_and_its_noun_agree():
    found = {
        str(path.relative_to(ROOT)): places
        for path in CODE
        if (places := list(plurals(path.read_text("utf-8"))))
    }
    assert found == {}, "say it with words.many, which looks at the number"
