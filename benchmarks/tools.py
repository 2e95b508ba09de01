"""The programs that the benchmarks need: our own in C, compiled once, and other people's, found.

Whatever is missing is a `MissingError` whose text is one sentence that says what to install; the
measurement that needed it is left out and the others go on.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_SOURCES: Final = Path(__file__).with_name("load")
_FLAGS: Final = ("-std=gnu11", "-O2", "-Wall", "-Wextra")
_TLS_FLAGS: Final = ("-DWITH_TLS", "-lssl", "-lcrypto")

_PACKAGES: Final = {
    "gcc": "gcc libc6-dev",
    "haproxy": "haproxy",
    "nginx": "nginx libnginx-mod-stream",
    "perf": "linux-perf",
    "taskset": "util-linux",
}
"""Debian's and Ubuntu's packages by program."""


class MissingError(Exception):
    """Something is not on this machine; the text says how to get it."""


@dataclass(frozen=True, slots=True)
class LoadPrograms:
    """The compiled generator and sink; `knows_tls` False where OpenSSL's headers are missing."""

    generator: Path
    sink: Path
    knows_tls: bool


@cache
def find(name: str) -> Path:
    """The program `name` on PATH or where Debian puts servers. Raises MissingError."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
    found = shutil.which(name, path=path)
    if found is None:
        raise MissingError(f"{name} is missing: apt-get install {_PACKAGES.get(name, name)}")
    return Path(found)


@cache
def load_programs() -> LoadPrograms:
    """Compiled into the user's cache, anew whenever a source changes. Raises MissingError without gcc."""
    gcc = find("gcc")
    sources = sorted(_SOURCES.glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    knows_tls = _knows_openssl(gcc)
    folder = _cache_folder() / f"load-{digest}{'' if knows_tls else '-plain'}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
            for name in ("generator", "sink"):
                tls = _TLS_FLAGS if knows_tls and name == "generator" else ()
                subprocess.run(
                    [gcc, *_FLAGS, "-o", Path(unfinished, name), _SOURCES / f"{name}.c", *tls], check=True
                )
            shutil.copytree(unfinished, folder, dirs_exist_ok=True)
    return LoadPrograms(folder / "generator", folder / "sink", knows_tls)


def require_tls() -> None:
    """Raises MissingError where the generator was compiled without TLS."""
    if not load_programs().knows_tls:
        raise MissingError("OpenSSL's headers are missing for loads over TLS: apt-get install libssl-dev")


def _knows_openssl(gcc: Path) -> bool:
    asked = subprocess.run(
        [gcc, "-E", "-x", "c", "-", "-o", os.devnull],
        input=b"#include <openssl/ssl.h>\n",
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return asked.returncode == 0


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tsproxy")
