"""The site of the documents: its navigation, and links that lead out of `docs`. `make docs` builds it."""

import re
import tomllib

import pytest
import yaml

from deploy.site.links import (
    OUTSIDE,
    listing,
    loaded_from_elsewhere,
    moved,
    navigation,
    outside_docs,
    place,
    rewritten,
    slug,
    targets,
    wrapping_at_dots,
)
from tests.deploy.commands import ROOT
from tests.deploy.test_links import anchors

INDEX = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_the_navigation_has_each_page_once():
    pages = [page for section in navigation(INDEX) for page in next(iter(section.values()))]
    assert len(pages) == len(set(pages))
    assert {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")} - set(
        pages
    ) == {"README.md"}


@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        ("docs/guide/policy.md", "faq.md#cost", "faq.md#cost"),
        ("docs/guide/policy.md", "../../CHANGELOG.md", "../repository/CHANGELOG.md"),
        ("docs/guide/how-to/scan.md", "../policy.md", "../policy.md"),
        ("docs/guide/how-to/scan.md", "../../../README.md#try-it", "../../README.md#try-it"),
        ("docs/README.md", "../deploy/", "repository/deploy/README.md"),
        ("README.md", "docs/guide/policy.md", "guide/policy.md"),
        ("README.md", "docs/README.md", "documents.md"),
        ("docs/guide/policy.md", "../README.md", "../documents.md"),
        ("README.md", "LICENSE", "repository/LICENSE"),
        ("README.md", "https://kafka.apache.org", "https://kafka.apache.org"),
        ("README.md", "#try-it", "#try-it"),
    ],
)
def test_a_link_leads_to_the_same_document_on_the_site(page, link, there):
    assert rewritten(f"[a]({link})", page, frozenset({"deploy"})) == f"[a]({there})"


def test_a_page_is_found_where_it_was_before_there_were_parts():
    pages = ("guide/policy.html", "guide/how-to/backfill.html", "README.html", "repository/README.html")
    assert list(moved(pages)) == [
        ("policy.html", "guide/policy.html"),
        ("how-to/backfill.html", "../guide/how-to/backfill.html"),
    ]


def test_code_is_left_as_it_is():
    code = "```\n[a](../LICENSE)\n```\n"
    assert rewritten(f"{code}[a](../LICENSE)", "docs/a.md", frozenset()) == f"{code}[a](repository/LICENSE)"


def test_everything_that_a_document_links_to_is_on_the_site():
    files, folders = outside_docs(ROOT)
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        for target in targets(page.read_text(encoding="utf-8"), name):
            assert (ROOT / target).exists()
            assert not place(target).startswith(f"{OUTSIDE}/") or target in files | folders, (name, target)


def test_the_page_of_a_folder_lists_its_files_and_those_below(tmp_path):
    for name in ("a.yaml", "b/c.tpl", ".hidden", "__pycache__/d.pyc"):
        file = tmp_path / "deploy" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    page = "# deploy/\n\n* [a.yaml](a.yaml)\n* [b/c.tpl](b/c.tpl)\n"
    assert listing(tmp_path, "deploy") == page

    (tmp_path / "deploy" / "README.md").touch()
    assert listing(tmp_path, "deploy") is None


def test_anchors_are_those_of_the_repository():
    for page in PAGES:
        headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert anchors(page) <= {slug(heading) for heading in headings}, page.name


def test_a_key_in_a_heading_wraps_at_its_dots_alone():
    heading = '<h4 id="adminbind"><code>admin.bind_x</code><a href="#adminbind">¶</a></h4>'
    text = "<p><code>admin.bind</code></p>"
    assert wrapping_at_dots(f"{heading}\n{text}") == f"{heading.replace('.b', '.<wbr>b')}\n{text}"


def test_what_a_page_loads_from_elsewhere_is_found_and_links_are_not():
    page = (
        '<a href="https://a.example"><script src="https://b.example/x.js"><link href=\'http://c.example/y\'>'
    )
    assert loaded_from_elsewhere(page) == ["https://b.example/x.js", "http://c.example/y"]


def test_tools_are_those_of_the_extra():
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["docs"]
    assert set(extra) <= set((ROOT / "deploy" / "site" / "tools.lock").read_text().splitlines())


def test_the_site_is_strict_and_loads_no_fonts():
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert site["strict"] is True
    assert site["theme"]["font"] is False
    assert set(site["validation"]["links"].values()) == {"warn"}


KEYS = [
    "limits.zstd_window",
    "limits.decompressed_batch",
    "on_violation",
    "before.max.ms",
    "inspect.compressed",
    "policy.help",
    "limits.handshake",
    "clock.max_offset",
    "upstream.admin.sasl.mechanism",
]


@pytest.mark.parametrize("key", KEYS)
def test_the_search_has_each_part_of_a_configuration_key_as_one_word(key):
    """As the page has it, in dots and backticks. Words of a part (`zstd`) would find forty pages."""
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    (separator,) = (each["material/search"]["separator"] for each in site["plugins"])
    reference = (ROOT / "docs" / "reference" / "configuration.md").read_text("utf-8")
    assert set(key.split(".")) <= set(re.split(separator, reference))
    assert re.split(separator, f"`{key}`")[1:-1] == key.split(".")
