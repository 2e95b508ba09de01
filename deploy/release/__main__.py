"""`python -m deploy.release`: all steps, into `dist/`. The files in that folder have passed every test."""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from deploy.release import ReleaseError, debian, trial
from deploy.release.agreement import Commit, agreed
from deploy.release.audit import audited
from deploy.release.build import build_everywhere, build_here, container_engine, different
from deploy.release.commands import run, tool
from deploy.release.sbom import write_sbom, write_sums


def main() -> int:
    """Returns 1 if there is no release; one line on stderr says why."""
    options = argparse.ArgumentParser(prog="python -m deploy.release", description=__doc__)
    options.add_argument("--audit", choices=("needed", "skip"), default="needed")
    options.add_argument("--tag", choices=("needed", "skip"), default="needed")
    options.add_argument("--wheels", choices=("all", "native"), default="all")
    chosen = options.parse_args()
    root = Path.cwd()
    try:
        commit = agreed(root, needs_tag=chosen.tag == "needed")
        _tell(f"tsproxy {commit.version}, commit {commit.name[:12]}")
        if chosen.audit == "skip":
            _tell("audit: left out (AUDIT=skip)")
        else:
            _tell(f"audit: {audited(root / 'requirements.lock')}")
        with tempfile.TemporaryDirectory(prefix="tsproxy-release-") as folder:
            made = _made(root, commit, Path(folder), is_native_alone=chosen.wheels == "native")
            _replace(root / "dist", made)
    except ReleaseError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    for each in sorted((root / "dist").iterdir()):
        print(f"dist/{each.name}  {each.stat().st_size:,} bytes")
    return 0


def _made(root: Path, commit: Commit, folder: Path, *, is_native_alone: bool) -> Path:
    """The folder with all files of the release, tested."""
    run(tool("python"), "-c", "pass")  # before minutes of building
    engine = None if is_native_alone else container_engine()
    first = build_here(root, commit, folder / "first")
    _tell(f"built: {', '.join(each.name for each in first)}")
    if unequal := different(first, build_here(root, commit, folder / "again")):
        raise ReleaseError(f"built twice, and not the same bytes: {', '.join(unequal)}")
    _tell("built again: the same bytes")
    made = folder / "first" / "made"
    if engine is not None:
        for wheel in made.glob("*.whl"):
            wheel.unlink()
        (sdist,) = made.glob("*.tar.gz")
        wheels = build_everywhere(sdist, commit, made, engine)
        _tell(f"built in containers: {len(wheels)} wheels")
    trial.check_texts(made)
    python = trial.install(made, root / "requirements.lock", commit, folder)
    write_sbom(python, root, commit, made)
    debian.build_deb(root, made, commit, folder)
    _tell("installed in a fresh environment, listed in the SBOM, and packed for Debian")
    trial.try_pyfiles(python, made, folder)
    _tell(f"tried: {trial.try_installed(python, commit, folder)}")
    write_sums(made)
    return made


def _replace(dist: Path, made: Path) -> None:
    """Put the files of this release in the place of all that was there."""
    shutil.rmtree(dist, ignore_errors=True)
    shutil.copytree(made, dist)


def _tell(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
