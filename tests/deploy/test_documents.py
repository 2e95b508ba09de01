"""README, CONTRIBUTING and the pages of the demo name commands, make targets and files: all of them exist."""

import re
import shlex
from pathlib import Path

import pytest

from deploy.site.links import PARTS
from tests.deploy.commands import ROOT, assert_is_known, help_of
from tsproxy.config.tree import KEYS

DOCUMENTS = ("README.md", "CONTRIBUTING.md")
PAGES = ("docs/guide/demo.md", "docs/guide/before-enforcing.md")
TEXTS = {name: (ROOT / name).read_text() for name in (*DOCUMENTS, *PAGES)}
CODE = [
    line.strip().removeprefix("$ ")
    for text in TEXTS.values()
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if language in ("", "console")
    for line in block.splitlines()
]


@pytest.mark.parametrize("line", [line for line in CODE if line.startswith("tsproxy ")])
def test_a_tsproxy_command_in_the_documents_exists(line: str):
    assert_is_known(shlex.split(line))


@pytest.mark.parametrize("line", [line for line in CODE if line.startswith("spark_reports ")])
def test_a_spark_reports_command_in_the_documents_exists(line: str):
    words = shlex.split(line)
    known = help_of("spark_reports", words[1])
    assert all(f"{word} " in known for word in words if word.startswith("--"))


def test_every_make_target_in_the_documents_exists():
    named = {target for text in TEXTS.values() for target in re.findall(r"(?:`|^)make ([a-z-]+)", text, re.M)}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert named
    assert named <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_a_document_names_is_there(document: str):
    quoted = set(re.findall(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|md|toml|lock|yaml))`", TEXTS[document]))
    missing = {path for path in quoted if not any(exists(path))}
    assert missing == set()


def exists(path: str) -> list[Path]:
    """Files of the checkout whose path ends so: documents leave out what the reader knows."""
    roots = ("", "tsproxy", "tsproxy/policy", "spark_reports", *(f"docs/{part}" for part in PARTS), "deploy")
    return [ROOT / root / path for root in roots if (ROOT / root / path).exists()]


def test_the_decision_log_of_the_quick_start_is_ignored_by_git():
    [folder] = [key.default for key in KEYS if key.path == "decisions.directory"]
    assert f"{folder}/" in (ROOT / ".gitignore").read_text().splitlines()
