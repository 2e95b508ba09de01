"""The pages are followed word for word, each in a process of its own."""

import sys
from pathlib import Path

import pytest

from tests.documents.page import steps
from tests.kit.commands import output_of

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide"
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [ROOT / "README.md", GUIDE / "tutorial.md", *(GUIDE / "how-to").glob("*.md")]
)
QUICK = {"docs/guide/how-to/write-a-rule.md"}
"""Pages that need no Kafka and cost a second or two."""
FOLLOW = (sys.executable, "-m", "tests.documents")
LONG = [page for page in PAGES if page not in QUICK]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_consists_of_steps(page: str):
    assert list(steps((ROOT / page).read_text(encoding="utf-8")))


def test_readme_shows_lines_of_the_run_that_demo_md_shows():
    readme, demo = (path.read_text("utf-8") for path in (ROOT / "README.md", GUIDE / "demo.md"))
    shown = next(block for block in readme.split("```")[1::2] if "All counts agree" in block)
    assert set(shown.splitlines()) <= set(demo.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(QUICK))
def test_a_quick_page_is_true(page: str):
    output_of(*FOLLOW, page, cwd=ROOT)


@pytest.mark.broker
@pytest.mark.full_only("half a minute each; write-a-rule.md is followed in make test")
@pytest.mark.parametrize("page", LONG)
def test_a_page_is_true(page: str):
    output_of(*FOLLOW, page, cwd=ROOT)
