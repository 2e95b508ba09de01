"""Other programs that a release runs: they succeed, or the release ends with their last lines."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deploy.release import ReleaseError

_LAST_LINES: Final = 30
_LEFT_OUT: Final = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
"""With these variables, a fresh environment would use parts of this one."""


def run(*command: object, cwd: Path | None = None, environment: Mapping[str, str] | None = None) -> str:
    """The standard output of a program. Raises ReleaseError if it fails or is not there."""
    words = [str(word) for word in command]
    kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    try:
        done = subprocess.run(
            words, cwd=cwd, env={**kept, **(environment or {})}, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise ReleaseError(f"{words[0]} is not there") from error
    if done.returncode != 0:
        last = (done.stdout + done.stderr).rstrip().splitlines()[-_LAST_LINES:]
        raise ReleaseError("\n".join([f"{' '.join(words)} ended with {done.returncode}:", *last]))
    return done.stdout


def tool(name: str) -> Path:
    """A program of the release's own environment (`tools.lock`)."""
    return Path(sys.executable).parents[1] / "release" / "bin" / name


def own(name: str) -> Path:
    """A program of the environment that this runs in (`requirements.lock`)."""
    return Path(sys.executable).with_name(name)
