"""The state of the checkout: nothing uncommitted, and one version in code, tag and CHANGELOG."""

import re
from dataclasses import dataclass
from pathlib import Path

from deploy.release import ReleaseError
from deploy.release.changelog import UNRELEASED, sections
from deploy.release.commands import run


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit that is released. `made_s`: seconds since 1970, the time of all files in the release."""

    name: str
    made_s: int
    version: str


def agreed(root: Path, *, needs_tag: bool = True) -> Commit:
    """The commit of a checkout, with its version. Raises ReleaseError if anything disagrees."""
    _check_clean(root)
    version = version_of(root)
    _check_changelog(version, (root / "CHANGELOG.md").read_text(encoding="utf-8"))
    if needs_tag:
        _check_tag(version, run("git", "tag", "--points-at", "HEAD", cwd=root).split())
    name, made_s = run("git", "log", "-1", "--format=%H %ct", cwd=root).split()
    return Commit(name, int(made_s), version)


def version_of(root: Path) -> str:
    """The version that the code names. Raises ReleaseError if it is no version that can be released."""
    text = (root / "tsproxy" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None or not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", found[1]):
        raise ReleaseError(f"tsproxy/__init__.py names no version for a release: {found and found[1]}")
    return found[1]


def _check_clean(root: Path) -> None:
    if changed := run("git", "status", "--porcelain", cwd=root).splitlines():
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise ReleaseError(f"the checkout has changes without a commit: {changed[0].strip()}{more}")


def _check_changelog(version: str, text: str) -> None:
    match sections(text):
        case [first, *_] if first.version != UNRELEASED:
            raise ReleaseError(f"CHANGELOG.md does not begin with [{UNRELEASED}]")
        case [unreleased, *_] if not unreleased.is_empty:
            raise ReleaseError(f"CHANGELOG.md has changes under [{UNRELEASED}]: move them to [{version}]")
        case [_, newest, *_] if newest.version != version:
            raise ReleaseError(f"the code is {version}, but the newest of CHANGELOG.md is [{newest.version}]")
        case [_, newest, *_] if newest.released is None:
            raise ReleaseError(f"CHANGELOG.md: [{version}] has no date")
        case [] | [_]:
            raise ReleaseError(f"CHANGELOG.md has no section [{version}]")


def _check_tag(version: str, tags: list[str]) -> None:
    if f"v{version}" not in tags:
        named = f"has {', '.join(tags)}" if tags else "has no tag"
        raise ReleaseError(
            f"the code is {version}, but its commit {named}: git tag -a v{version} (TAG=skip to rehearse)"
        )
