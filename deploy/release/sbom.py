"""The list of the packages of a release (CycloneDX), and the checksums of its files."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Final

from deploy.release import ReleaseError
from deploy.release.agreement import Commit
from deploy.release.commands import run, tool

SUMS: Final = "SHA256SUMS"


def write_sbom(python: Path, root: Path, commit: Commit, made: Path) -> Path:
    """The file with the packages that are installed beside `python`, with versions and licenses.

    Raises ReleaseError if one of them has another version than in the lock, or is not in it.
    """
    bom = made / f"tsproxy-{commit.version}.cdx.json"
    options = ("--pyproject", root / "pyproject.toml", "--output-reproducible", "--output-file", bom)
    run(
        tool("cyclonedx-py"),
        "environment",
        *options,
        python,
        environment={"SOURCE_DATE_EPOCH": str(commit.made_s)},
    )
    listed = json.loads(bom.read_text(encoding="utf-8"))
    listed["metadata"]["component"]["version"] = commit.version  # pyproject.toml does not name the version
    bom.write_text(json.dumps(listed, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    check_pinned(bom, root / "requirements.lock")
    return bom


def check_pinned(bom: Path, lock: Path) -> None:
    """Raises ReleaseError if the SBOM names a package that the lock does not pin to the same version."""
    pinned = {line.strip().lower().replace("_", "-") for line in lock.read_text().splitlines()}
    listed = json.loads(bom.read_text(encoding="utf-8"))["components"]
    found = {f"{each['name']}=={each.get('version')}".lower().replace("_", "-") for each in listed}
    others = sorted(each for each in found - pinned if not each.startswith("tsproxy=="))
    if others or len(found) < 2:
        raise ReleaseError(
            f"{bom.name} names what requirements.lock does not: {', '.join(others) or 'nothing'}"
        )


def write_sums(made: Path) -> Path:
    """The file SHA256SUMS of all files beside it, in the form that `sha256sum --check` reads."""
    sums = made / SUMS
    files = sorted(each for each in made.iterdir() if each != sums)
    sums.write_text("".join(f"{sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in files))
    return sums
