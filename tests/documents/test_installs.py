"""Each `pip install` that people are told works with the files that they have.

The name `tsproxy` belongs to nobody in a public index. A line that only gave the name would fail, or would
install a stranger's package. So a line names a checkout (`.`), or finds the name in the folder of a release
(`--find-links .`). A message of the code does not know that folder, and names the package that is missing.
"""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "tsproxy").rglob("*.md")]),
    *(path for package in ("tsproxy", "spark_reports") for path in sorted((ROOT / package).rglob("*.py"))),
    *(path for path in sorted((ROOT / "deploy").rglob("*")) if path.is_file()),
]
INSTALL = re.compile(r"pip install ([^`\"#;)\n]*)")
NAME = re.compile(r"[\w.-]+")
WITH_A_VALUE = {"--find-links", "--target", "--constraint", "-r"}


def packages():
    """The names of the packages that tsproxy or an extra of it needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    needed = [*project["dependencies"], *(each for extra in extras for each in extra)]
    return {NAME.match(each)[0] for each in needed}


def strangers(text):
    """The packages that the lines of the text would take from an index, and that tsproxy does not need."""
    known = packages()
    for arguments in INSTALL.findall(text):
        words = arguments.replace("'", " ").split()
        options = {word for word in words if word.startswith("-")}
        values = {value for option, value in pairwise(words) if option in WITH_A_VALUE}
        for word in words:
            named = NAME.match(word)
            if word in options | values or word.startswith(".") or word.isupper() or named is None:
                continue
            if not (named[0] in known or (named[0] == "tsproxy" and "--find-links" in options)):
                yield word


@pytest.mark.parametrize(
    "text",
    [
        "pip install '.[uvloop]'",
        "pip install --no-index --no-deps --find-links . tsproxy",
        "pip install --find-links . 'tsproxy[uvloop,reports]'\n",
        "(`pip install google-re2`) is needed",
        "pip install '.[testing]' pytest pytest-asyncio",
    ],
)
def test_a_line_that_works_is_no_finding(text):
    assert list(strangers(text)) == []


@pytest.mark.parametrize("text", ["pip install 'tsproxy[re]'", "`pip install tsproxy`", "pip install tsprox"])
def test_a_line_that_takes_a_name_of_nobody_is_found(text):
    assert list(strangers(text)) != []


def test_each_install_line_works_with_the_files_of_a_release_or_a_checkout():
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8", errors="replace") for path in TEXTS}
    found = {path: list(strangers(text)) for path, text in texts.items() if "pip install" in text}
    assert len(found) > 10
    assert {path: names for path, names in found.items() if names} == {}, (
        "add --find-links . (in the folder of a release), or name the package that is missing"
    )
