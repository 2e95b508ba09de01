"""Finds the programs that the benchmarks need, and compiles the benchmarks' own C programs once.

If one is missing, a `MissingError` says in one sentence what to install. The measurement that needs it is
left out, and the others go on.
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
    "go": "golang-go",
    "haproxy": "haproxy",
    "nginx": "nginx libnginx-mod-stream",
    "perf": "linux-perf",
    "taskset": "util-linux",
}
"""Packages of Debian and Ubuntu, by program."""


class MissingError(Exception):
    """A program or library is not on this machine. The text says how to install it."""


@dataclass(frozen=True, slots=True)
class LoadPrograms:
    """The compiled programs. `knows_tls` is False if OpenSSL's headers are missing."""

    generator: Path
    herd: Path
    sink: Path
    knows_tls: bool


@cache
def find(name: str) -> Path:
    """The path of program `name`, on PATH or in Debian's folders for servers. Raises MissingError."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
    found = shutil.which(name, path=path)
    if found is None:
        raise MissingError(f"{name} is missing: apt-get install {_PACKAGES.get(name, name)}")
    return Path(found)


@cache
def load_programs() -> LoadPrograms:
    """The programs, compiled into the user's cache if a source changed. Raises MissingError without gcc."""
    gcc = find("gcc")
    sources = sorted(_SOURCES.glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    knows_tls = _knows_openssl(gcc)
    folder = _cache_folder() / f"load-{digest}{'' if knows_tls else '-plain'}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
            for name in ("generator", "herd", "sink"):
                tls = _TLS_FLAGS if knows_tls and name != "sink" else ()
                subprocess.run(
                    [gcc, *_FLAGS, "-o", Path(unfinished, name), _SOURCES / f"{name}.c", *tls], check=True
                )
            shutil.copytree(unfinished, folder, dirs_exist_ok=True)
    return LoadPrograms(folder / "generator", folder / "herd", folder / "sink", knows_tls)


def require_tls() -> None:
    """Raises MissingError if the generator was compiled without TLS."""
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
