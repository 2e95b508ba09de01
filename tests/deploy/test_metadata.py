"""The metadata that an index and `pip show` would show, made by the build backend itself."""

import re
import shutil
import subprocess
import sys
import tomllib
from email import message_from_bytes
from email.message import Message
from importlib.metadata import version
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.deploy.commands import ROOT
from tsproxy import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SOURCES = ("pyproject.toml", "setup.py", "LICENSE", "README.md", "tsproxy/__init__.py")
MAKE = (
    "import sys; from setuptools import build_meta; build_meta.prepare_metadata_for_build_wheel(sys.argv[1])"
)

README = """\
# A page

[![badge](https://example.com/b.svg)](https://example.com)
![a picture](docs/one.png)

<picture><source srcset="docs/dark.png"><img src="docs/light.png"></picture>
<a href="docs/html.md">words</a> [a page](docs/page.md#part), [here](#a-page), [RFC](https://example.com/rfc)

```
[kept](as/it/is.md)
```
"""


def metadata_of(folder: Path, readme: str | None = None) -> Message:
    """The metadata that the backend makes of its sources, with another README where one is given."""
    for name in SOURCES:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    if readme is not None:
        (folder / "README.md").write_text(readme)
    (folder / "out").mkdir()
    subprocess.run([sys.executable, "-c", MAKE, "out"], cwd=folder, check=True, capture_output=True)
    (found,) = folder.glob("out/*.dist-info/METADATA")
    return message_from_bytes(found.read_bytes())


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Message:
    return metadata_of(tmp_path_factory.mktemp("metadata"))


def text_of(metadata: Message) -> str:
    return metadata.get_payload(decode=True).decode()  # type: ignore[union-attr]


def targets_of(text: str) -> list[str]:
    """The targets of the links and pictures of a rendered page."""
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    return re.findall(r'(?:href|src|srcset)="([^"]*)"', page)


def test_the_version_stands_in_one_place(metadata: Message):
    assert metadata["Version"] == __version__ == version("tsproxy")
    assert "version" not in PROJECT["project"]
    assert re.findall(r"^__version__ = ", (ROOT / "tsproxy" / "__init__.py").read_text(), re.MULTILINE)


def test_an_index_can_show_who_made_it_under_which_license_and_for_whom(metadata: Message):
    assert metadata["Author"] == "tsproxy developers"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["License-File"] == "LICENSE"
    assert "kafka" in metadata["Keywords"].split(",")
    assert set(metadata.get_all("Provides-Extra")) >= {
        "uvloop",
        "re",
        "msk",
        "kerberos",
        "reports",
        "testing",
    }
    assert not [each for each in metadata.get_all("Classifier") if each.startswith("License")]  # PEP 639


def test_the_oldest_python_that_is_classified_is_the_oldest_that_is_allowed(metadata: Message):
    classified = re.findall(r"Python :: 3\.(\d+)", "\n".join(metadata.get_all("Classifier")))
    assert metadata["Requires-Python"] == f">=3.{min(map(int, classified))}"


def test_the_description_is_the_readme_and_leads_to_nothing_that_an_index_lacks(metadata: Message):
    text = text_of(metadata)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert text.startswith("# tsproxy")
    without_targets = re.sub(r"\]\([^)]*\)", "", (ROOT / "README.md").read_text())
    assert len(text) > 0.9 * len(without_targets)
    assert [target for target in targets_of(text) if not target.startswith("https://")] == []


def test_links_into_the_repository_become_their_texts_and_others_stay(tmp_path: Path):
    text = text_of(metadata_of(tmp_path, README))
    assert targets_of(text) == ["https://example.com", "https://example.com/b.svg", "https://example.com/rfc"]
    assert "words a page, here, [RFC](https://example.com/rfc)" in text
    assert "[kept](as/it/is.md)" in text
