"""Known vulnerabilities of what `requirements.lock` pins, by pip-audit."""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

from deploy.release import ReleaseError
from deploy.release.commands import tool

_MAX_NAMED: Final = 3


def audited(lock: Path) -> str:
    """One line about the audit. Raises ReleaseError if a vulnerability is known, or if there is no answer
    about the packages."""
    options = ("--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off")
    asked = subprocess.run(
        [tool("pip-audit"), "--requirement", lock, *options], capture_output=True, text=True, check=False
    )
    return judged(asked.stdout, asked.stderr)


def judged(answer: str, complaint: str = "") -> str:
    """The same, from the output of pip-audit. pip-audit also succeeds if it knows none of the packages, so
    its exit status is not enough."""
    try:
        packages: list[dict[str, Any]] = json.loads(answer)["dependencies"]
    except (ValueError, KeyError) as error:
        why = (complaint.strip().splitlines() or ["it printed nothing"])[-1]
        raise ReleaseError(f"no audit: {why} (AUDIT=skip releases without it)") from error
    known = [
        f"{each['name']} {each['version']}: {', '.join(found['id'] for found in each['vulns'])}"
        for each in packages
        if each.get("vulns")
    ]
    if known:
        raise ReleaseError("; ".join(["known vulnerabilities", *known]))
    if unknown := [each["name"] for each in packages if "skip_reason" in each]:
        named = ", ".join(unknown[:_MAX_NAMED]) + (", …" if len(unknown) > _MAX_NAMED else "")
        raise ReleaseError(
            f"no audit: the advisory service did not answer for {len(unknown)} of {len(packages)} packages "
            f"({named}) (AUDIT=skip releases without it)"
        )
    if not packages:
        raise ReleaseError("no audit: the lock names no package")
    return f"{len(packages)} packages, no known vulnerability"
