"""CHANGELOG.md, read as far as a release needs it: its sections and their texts."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from deploy.release import ReleaseError

UNRELEASED: Final = "Unreleased"
_HEADING: Final = re.compile(r"^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """The section of one version, or of the changes that are not released yet: these have no date."""

    version: str
    released: date | None
    text: str

    @property
    def is_empty(self) -> bool:
        """Whether the section names no change; headings of groups do not count as changes."""
        return not re.search(r"^[^#\s]", self.text, re.MULTILINE)


def sections(changelog: str) -> list[Section]:
    """The sections in the order of the file, the newest first. Raises ReleaseError for a heading of another
    form."""
    level = re.findall(r"^## .*$", changelog, re.MULTILINE)
    found = list(_HEADING.finditer(changelog))
    if wrong := [line for line in level if not _HEADING.fullmatch(line)]:
        raise ReleaseError(f'CHANGELOG.md: "{wrong[0]}" is not of the form "## [1.2.3] - 2026-11-20"')
    ends = [match.start() for match in found[1:]] + [len(changelog)]
    return [
        Section(match[1], date.fromisoformat(match[2]) if match[2] else None, changelog[match.end() : end])
        for match, end in zip(found, ends, strict=True)
    ]
