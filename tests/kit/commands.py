"""Commands that a test runs to their end, and what they make once for all runs."""

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tsproxy")
_TAIL = 6_000


def output_of(*command: object, **options: Any) -> str:
    """The output of a process on both streams. Fails if the process does. `options` are of subprocess.run."""
    words = [*map(str, command)]
    calm = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "check": False}
    done = subprocess.run(words, **calm, **options)
    assert done.returncode == 0, f"{' '.join(words)}:\n{(done.stdout + done.stderr)[-_TAIL:]}"
    return done.stdout + done.stderr


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """The folder of this name in the user's cache. The first process lets `make` fill it, and others wait."""
    folder = CACHE / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name("made-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-") as unfinished:
                made = Path(unfinished, "made")
                made.mkdir()
                make(made)
                made.rename(folder)
    return folder
