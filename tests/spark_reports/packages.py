"""Packages that some tests alone need: fetched once, into the user's cache, and imported from there."""

import os
import subprocess
import sys
from pathlib import Path

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tsproxy")


def fetched(name, version):
    """The folder of a package and of all that it needs."""
    folder = _CACHE / f"{name}-{version}"
    if not folder.is_dir():
        unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
        subprocess.run([sys.executable, *install, "--target", unfinished, f"{name}=={version}"], check=True)
        unfinished.rename(folder)
    return folder
