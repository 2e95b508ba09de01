"""`python -m deploy.install ARGUMENTS`: `pip install ARGUMENTS`, and says how far it is.

pip itself is either silent or prints three lines for each package, and five for each module that it compiles.
`make` calls this with the Python of the new environment, so nothing but the standard library is there.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from deploy.followed import followed

_HOURS_S: Final = 4 * 3600.0
_DOWNLOAD: Final = re.compile(r"\s+(?:Downloading|Using cached) ([A-Za-z0-9_.]+?)-\d\S* \(([\d.]+) (kB|MB)\)")
_MEGABYTES: Final = {"kB": 0.001, "MB": 1.0}
_COMPILES: Final = re.compile(r"\s+building '([\w.]+)' extension")
_AT_THE_END: Final = re.compile(r"(Building wheels|Installing)\b.* collected packages: ([\w.-]+)")


class SoFar:
    """The number of packages and megabytes of which pip has spoken, and of the modules that it compiles."""

    def __init__(self, packages: int, modules: int) -> None:
        self._packages = packages
        self._modules = modules
        self._found = 0
        self._compiled = 0
        self._megabytes = 0.0
        self._now = ""

    def __call__(self, line: str) -> str:
        if compiles := _COMPILES.match(line):
            self._compiled += 1
            self._now = f", {compiles[1]}"
        if self._compiled:
            return f"compiling native module {self._compiled} of {self._modules}{self._now}"
        if line.startswith(("Collecting ", "Requirement already satisfied: ")):
            self._found = min(self._found + 1, self._packages)
        if download := _DOWNLOAD.match(line):
            self._megabytes += float(download[2]) * _MEGABYTES[download[3]]
            self._now = f", now {download[1]} ({download[2]} {download[3]})"
        if doing := _AT_THE_END.match(line):
            self._now = ", unpacking" if doing[1] == "Installing" else f", building {doing[2]}"
        if not self._packages:
            return ""
        return f"{self._found} of {self._packages} packages, {self._megabytes:.0f} MB{self._now}"


def main(arguments: Sequence[str]) -> int:
    """pip's exit status. Its last lines are printed if it failed."""
    locks = [Path(each).read_text(encoding="utf-8") for each in arguments if each.endswith(".lock")]
    pins = [line for line in "\n".join([*locks, *arguments]).splitlines() if "==" in line]
    modules = len(list(Path("tsproxy").rglob("*.pyx")))
    # -v: the lines about modules are not printed without it
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-v",
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
    ]
    status, lines = followed([*pip, *arguments], SoFar(len(pins), modules), _HOURS_S)
    if status:
        print("\n".join(lines[-30:]), file=sys.stderr)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
