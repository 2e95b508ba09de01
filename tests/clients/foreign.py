"""Programs that need Go or Node: made once, in the user's cache, and again when their sources change.

Modules come from their registries as go.sum and package-lock.json pin them.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).with_name("programs")


def go_program(name):
    """The command of programs/go/NAME."""
    return [_made("go", lambda folder: _run(folder, "go", "build", "-o", "bin/", "./...")) / "bin" / name]


def node_program():
    """The command of programs/node/client.mjs."""
    return ["node", _made("node", lambda folder: _run(folder, "npm", "ci", "--silent")) / "client.mjs"]


def _made(name, make):
    """A copy of the sources with what was made of them; complete from the moment that it is there."""
    sources = PROGRAMS / name
    digest = hashlib.sha256()
    for file in sorted(path for path in sources.rglob("*") if path.is_file()):
        digest.update(str(file.relative_to(sources)).encode() + b"\0" + file.read_bytes() + b"\0")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tsproxy")
    folder = cache / f"clients-{name}-{digest.hexdigest()[:8]}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "clients-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=cache, prefix=f"clients-{name}-") as unfinished:
                copy = Path(unfinished, "made")
                shutil.copytree(sources, copy)
                make(copy)
                copy.rename(folder)
    return folder


def _run(folder, *command):
    if shutil.which(command[0]) is None:
        raise RuntimeError(
            f"{command[0]} is not installed, and TSPROXY_CLIENTS asks for clients that need it"
        )
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}")
