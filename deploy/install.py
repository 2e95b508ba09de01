"""`python -m deploy.install FILE`: pip installs the pinned packages of FILE, and says how far it is.

pip itself is either silent or prints three lines for each package. `make` calls this with the Python of the
new environment, so nothing but the standard library is there.
"""

import re
import sys
from pathlib import Path
from typing import Final

from tsproxy.testing.progress import followed

_HOURS_S: Final = 4 * 3600.0
_DOWNLOAD: Final = re.compile(r"\s+(?:Downloading|Using cached) ([A-Za-z0-9_.]+?)-\d\S* \(([\d.]+) (kB|MB)\)")
_MEGABYTES: Final = {"kB": 0.001, "MB": 1.0}


class SoFar:
    """The number of packages and megabytes of which pip has spoken."""

    def __init__(self, packages: int) -> None:
        self._packages = packages
        self._found = 0
        self._megabytes = 0.0
        self._now = ""

    def __call__(self, line: str) -> str:
        if line.startswith(("Collecting ", "Requirement already satisfied: ")):
            self._found = min(self._found + 1, self._packages)
        if download := _DOWNLOAD.match(line):
            self._megabytes += float(download[2]) * _MEGABYTES[download[3]]
            self._now = f", now {download[1]} ({download[2]} {download[3]})"
        if line.startswith("Installing collected packages"):
            self._now = ", unpacking"
        return f"{self._found} of {self._packages} packages, {self._megabytes:.0f} MB{self._now}"


def main(lock: str) -> int:
    """pip's exit status. Its last lines are printed if it failed."""
    pins = [line for line in Path(lock).read_text(encoding="utf-8").splitlines() if "==" in line]
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    status, lines = followed([*pip, "-r", lock], SoFar(len(pins)), _HOURS_S)
    if status:
        print("\n".join(lines[-30:]), file=sys.stderr)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
