"""The CHANGELOG has the shape that readers and `make release` rely on, and agrees with the version."""

import re
from datetime import date

import pytest

from deploy.release import ReleaseError
from deploy.release.changelog import UNRELEASED, sections
from tests.deploy.commands import ROOT
from tsproxy import __version__

TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def numbers(version: str) -> tuple[int, ...]:
    assert re.fullmatch(r"\d+\.\d+\.\d+", version), version
    return tuple(map(int, version.split(".")))


def test_unreleased_comes_first_and_then_versions_newest_first():
    unreleased, *released = sections(TEXT)
    assert (unreleased.version, unreleased.released) == (UNRELEASED, None)
    versions = [numbers(each.version) for each in released]
    assert versions == sorted(set(versions), reverse=True)
    dates = [each.released for each in released]
    assert None not in dates
    assert dates == sorted(dates, reverse=True)


def test_the_newest_version_is_that_of_the_code():
    """Between two releases `__version__` stays that of the last one, and changes stand under Unreleased."""
    assert sections(TEXT)[1].version == __version__


def test_each_version_is_grouped_and_no_group_is_empty():
    for section in sections(TEXT)[1:]:
        groups = re.split(r"^### .+$", section.text, flags=re.MULTILINE)
        assert len(groups) > 1
        assert all(re.search(r"^- ", group, re.MULTILINE) for group in groups)


def test_no_change_is_told_twice():
    changes = re.findall(r"^- (.+)$", TEXT, re.MULTILINE)
    assert [each for each in changes if changes.count(each) > 1] == []


def test_sections_are_read_with_their_dates_and_texts():
    text = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n## [1.2.0] - 2026-11-20\n\n- One thing\n"
    unreleased, newest = sections(text)
    assert unreleased.is_empty
    assert (newest.version, newest.released) == ("1.2.0", date(2026, 11, 20))
    assert not newest.is_empty


@pytest.mark.parametrize("heading", ["## 1.2.0", "## [1.2.0] 2026-11-20", "## [1.2.0] - today"])
def test_a_heading_of_another_form_is_named(heading: str):
    with pytest.raises(ReleaseError, match=re.escape(heading)):
        sections(f"# Changelog\n\n{heading}\n\n- One thing\n")
