"""`python3 -m deploy.machine`: whether this machine has what `make` needs before it downloads anything.

If something is missing, it prints one sentence with the command that installs it, and exits with 1. The
module needs the standard library only. It also runs on Pythons that are too old, to say so.
"""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
OLDEST = (3, 11)


def problem(version: tuple[int, int]) -> str | None:
    """The sentence about what is missing for this version of Python; None if all is there."""
    newest = newest_of_lock()
    this = "this is {}.{}: name another one (make PYTHON=python3.13 ...)".format(*version)
    if version < OLDEST:
        return f"tsproxy needs Python 3.11 or newer, and {this}."
    if version > newest:
        last = "{}.{}".format(*newest)
        return (
            f"requirements.lock was made for Python 3.11 to {last}, and {this}, or install the proxy alone, "
            "without tests and demo (in a virtual environment: pip install '.[uvloop]')."
        )
    if missing := "; ".join(_missing()):
        return f"tsproxy needs what is missing here: {missing}. To install it: {_how_to_install()}"
    return None


def newest_of_lock() -> tuple[int, int]:
    """The newest Python on which requirements.lock is known to install. Its first line says so."""
    first = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()[0]
    found = re.search(r"Python 3\.11 to (\d+)\.(\d+)", first)
    assert found, first
    return int(found[1]), int(found[2])


def _missing() -> Iterator[str]:
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        yield f"the header files of Python ({header})"
    if find_spec("ensurepip") is None:
        yield "Python's module ensurepip, which makes virtual environments"
    if shutil.which("git") is None:
        yield "git"
    from tsproxy.testing.java import JavaError, find_java  # a Python that is too old cannot read it

    try:
        find_java()
    except JavaError as error:
        yield f"Java 17 or newer ({str(error).partition(':')[0]})"


def _how_to_install() -> str:
    """README's command for this kind of system."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^((?:apt-get|dnf) install [^#\n]*?) *(?:#|$)", page, re.MULTILINE)
    return next((line for line in lines if shutil.which(line.split()[0])), " or ".join(lines))


def main() -> int:
    """1 if something is missing."""
    if not sys.platform.startswith("linux"):
        print("tsproxy runs on Linux only.", file=sys.stderr)
        return 1
    if told := problem(sys.version_info[:2]):
        print(told, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
