"""The images of deploy/Containerfile, built by Buildah, which needs no daemon.

No registry of images is asked: `python:3.13-slim` is made of Debian's packages. Debian 13 has the same
Python. In the real image Python lies in /usr/local and has its headers; here it is Debian's, with the headers
from their package.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.deploy.commands import DEPLOY, ROOT
from tests.kit.commands import CACHE, output_of

TOOLS = ("buildah", "mmdebstrap", "unshare", "setpriv")
MISSING = [each for each in TOOLS if shutil.which(each) is None] + (["root"] if os.geteuid() != 0 else [])
needs_root = pytest.mark.skipif(
    bool(MISSING),
    reason=f"needs Linux, root, and Debian's buildah and mmdebstrap (missing here: {', '.join(MISSING)})",
)

BASE = "localhost/python:3.13-slim"
SUITE, PACKAGES = "trixie", ("python3", "python3-pip", "libpython3-dev", "ca-certificates")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
STORAGE = CACHE / "tools" / "buildah"


@dataclass(frozen=True)
class Image:
    """The files of an image, and what its Containerfile says about the start."""

    root: Path
    config: dict[str, Any]

    @property
    def environment(self) -> dict[str, str]:
        return dict(each.split("=", 1) for each in self.config.get("Env") or [])


@contextmanager
def built(target: str) -> Iterator[Image]:
    """Build a stage of the Containerfile. Its files are there for as long as the block lasts."""
    STORAGE.mkdir(parents=True, exist_ok=True)
    with (STORAGE / "tests-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _buildah("images", "--quiet", "--filter", f"reference={BASE}"):
            _make_base()
        name = f"localhost/tsproxy-{target}:tests"
        _build(target, name)
    container = _buildah("from", "--pull-never", name)
    try:
        told = json.loads(_buildah("inspect", "--type", "image", name))
        yield Image(Path(_buildah("mount", container)), told["Docker"]["config"])
    finally:
        _buildah("rm", container)


def _build(target: str, name: str) -> None:
    with TemporaryDirectory() as folder:
        # pip trusts whom this machine trusts, also where a company's proxy stands before the index.
        pip = Path(folder, "pip.conf")
        pip.write_text(f"[global]\ncert = {AUTHORITIES}\n")
        mounts = [f"--volume={pip}:/etc/pip.conf:ro", f"--volume={AUTHORITIES}:{AUTHORITIES}:ro"]
        # The format of Docker has a place for HEALTHCHECK, OCI's has none.
        options = ["--isolation=chroot", "--pull-never", "--layers", "--format=docker", *mounts]
        _buildah(
            "build", *options, f"--target={target}", f"--file={DEPLOY}/Containerfile", f"--tag={name}", ROOT
        )


def _make_base() -> None:
    with TemporaryDirectory(dir=STORAGE) as folder:
        root = Path(folder, "root")
        output_of("mmdebstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, root)
        (root / "usr/bin/python").symlink_to("python3")
        for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
            marker.unlink()
        container = _buildah("from", "scratch")
        _buildah("copy", "--quiet", container, root, "/")
        _buildah("commit", "--quiet", "--rm", container, BASE)


def _buildah(command: str, *arguments: object) -> str:
    places = (f"--root={STORAGE}/storage", f"--runroot={STORAGE}/run", "--storage-driver=overlay")
    return output_of("buildah", *places, command, *arguments).strip()
