"""Any file is either accepted or answered with a list of its mistakes."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.config.files import SMALLEST, file_with
from tsproxy.config import ConfigError, load
from tsproxy.config.document import parse_yaml
from tsproxy.config.notices import notices
from tsproxy.config.tree import KEYS
from tsproxy.config.written import as_yaml

PAGES = "\n".join(
    (Path(__file__).parents[2] / page).read_text("utf-8")
    for page in ("tests/config/mistakes.md", "docs/reference/mistakes.md", "docs/guide/policy.md")
)
LINES = re.findall(r"^\| `((?:policy|limits|decisions|clock|admin|upstream):? .*?)` \|", PAGES, re.M)
FILES = [
    SMALLEST,
    *(f"{SMALLEST}{line}\n" for line in LINES),
    *(SMALLEST + each for each in re.findall(r"^```yaml\n(policy.*?)^```", PAGES, re.M | re.S)),
]
PIECES = (
    *(
        "{",
        "}",
        "[",
        "]",
        ": ",
        ",",
        "'",
        '"',
        "\t",
        "\n",
        "  ",
        "- ",
        "? ",
        "#",
        "|",
        "%",
        "&a ",
        "*a ",
        "<<: ",
    ),
    *(
        "!x ",
        "null",
        "~",
        "${",
        "${A}",
        "$$",
        "0",
        "-1",
        "9" * 30,
        "1e9",
        "é",
        "\u202e",
        "\x00",
        "\ud800",
        "true",
    ),
    *("7d", "1w", "128MB", "/(/", "*", "::1", "User:", "[*]"),
)


def said_of(text):
    """Every problem's text, or the file as it is shown when it is in force."""
    try:
        config = load(parse_yaml(text, "tsproxy.yaml"), {"A": "\u202e7d"})
    except ConfigError as error:
        return [problem.text for problem in error.problems]
    return [*(each.text for each in notices(config, 0)), as_yaml(config.parsed)]


@given(
    st.sampled_from(FILES),
    st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 20), st.sampled_from(PIECES)), max_size=4),
)
def test_a_file_with_anything_in_it_is_taken_or_told(text, changes):
    for at, cut, piece in changes:
        at %= len(text) + 1
        text = text[:at] + piece + text[at + cut :]
    said = said_of(text)
    assert said
    assert all(said)


@pytest.mark.parametrize("null", ["", "~", "null", "Null", "NULL"])
def test_no_key_takes_null_for_a_text(null):
    for key in KEYS:
        text = file_with(key.path, "planted").replace("planted", null)
        told = [each for each in said_of(text) if each.startswith("has no value: ")]
        assert len(told) == 1, key.path
        assert not [each for each in said_of(text.replace(f" {null}\n", " 'null'\n")) if each in told]


PLACES = sorted({key.path.rsplit(".", cut)[0] for key in KEYS for cut in range(key.path.count(".") + 1)})


@pytest.mark.parametrize("value", ["x", "", None, [], ["x"], [{}], {}, {"x": "x"}, [["x"]], -1], ids=repr)
def test_each_key_and_section_may_have_any_value_that_is_taken_or_told(value):
    for path in PLACES:
        said = said_of(file_with(path, value))
        assert "" not in (said or [""]), path
