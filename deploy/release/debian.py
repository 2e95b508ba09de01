"""The package for Debian and Ubuntu: `make deb`, and a part of `make release`.

Wheels of this machine and this Python lie in /opt/tsproxy, in an environment of their own, so the package is
for releases of a distribution with the same version of Python. `deploy/debian` has what dpkg runs, `deploy/`
the units and the configuration. The same commit gives the same bytes, as for the other files.
"""

import gzip
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from deploy.release import ReleaseError, trial
from deploy.release.agreement import Commit, version_of
from deploy.release.build import build_here
from deploy.release.commands import run

EXTRAS: Final = "uvloop,re"
PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
_HOME: Final = "opt/tsproxy"
_SYSTEMD: Final = "usr/lib/systemd/system"
_SCRIPTS: Final = ("postinst", "prerm", "postrm")


def build_deb(root: Path, made: Path, commit: Commit, folder: Path) -> Path:
    """The package in `made`, of the wheel there. `root` is the checkout. Raises ReleaseError."""
    if shutil.which("dpkg-deb") is None:
        raise ReleaseError("dpkg-deb is not there")
    environment = folder / "deb-environment"
    trial.install(made, root / "requirements.lock", commit, environment, EXTRAS)
    package = folder / "deb"
    _environment(environment / "environment", package)
    _units(root, package)
    architecture = run("dpkg", "--print-architecture").strip()
    version = f"{commit.version}+py{PYTHON.replace('.', '')}"
    _control(root, package, version, architecture)
    for each in package.rglob("*"):
        if not each.is_symlink():
            each.chmod(0o755 if each.is_dir() or each.stat().st_mode & 0o100 else 0o644)
    deb = made / f"tsproxy_{version}_{architecture}.deb"
    times = {"SOURCE_DATE_EPOCH": str(commit.made_s)}
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", package, deb, environment=times)
    return deb


def _environment(made: Path, package: Path) -> None:
    """Write what `python -m venv` makes, for the Python of the distribution."""
    inside = f"lib/python{PYTHON}/site-packages"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(made / inside, package / _HOME / inside, ignore=ignored)
    (package / _HOME / "bin").mkdir()
    (package / _HOME / "bin" / "python3").symlink_to(f"/usr/bin/python{PYTHON}")
    (package / _HOME / "pyvenv.cfg").write_text(
        "home = /usr/bin\ninclude-system-site-packages = false\n", encoding="utf-8"
    )


def _units(root: Path, package: Path) -> None:
    deploy, debian = root / "deploy", root / "deploy" / "debian"
    for source, place in (
        (debian / "tsproxy", f"{_HOME}/bin/tsproxy"),
        (deploy / "tsproxy.service", f"{_SYSTEMD}/tsproxy.service"),
        (deploy / "sysusers.conf", "usr/lib/sysusers.d/tsproxy.conf"),
        (deploy / "tsproxy.yaml", "etc/tsproxy/tsproxy.yaml"),
        (root / "LICENSE", "usr/share/doc/tsproxy/copyright"),
    ):
        (package / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, package / place)
    (package / _HOME / "bin" / "tsproxy").chmod(0o755)
    changes = (root / "CHANGELOG.md").read_bytes()
    (package / "usr/share/doc/tsproxy/changelog.gz").write_bytes(gzip.compress(changes, 9, mtime=0))
    (package / "usr/bin").mkdir()
    (package / "usr/bin/tsproxy").symlink_to(f"/{_HOME}/bin/tsproxy")


def _control(root: Path, package: Path, version: str, architecture: str) -> None:
    source, control = root / "deploy" / "debian", package / "DEBIAN"
    control.mkdir()
    facts = {"version": version, "architecture": architecture, "python": PYTHON}
    text = (source / "control").read_text(encoding="utf-8")
    (control / "control").write_text(text.format(**facts, libc=platform.libc_ver()[1]), encoding="utf-8")
    (control / "conffiles").write_text("/etc/tsproxy/tsproxy.yaml\n", encoding="utf-8")
    for name in _SCRIPTS:
        shutil.copyfile(source / name, control / name)
        (control / name).chmod(0o755)


def main() -> int:
    """Make the package of the commit that is checked out, in `dist/`."""
    root = Path.cwd()
    try:
        name, made_s = run("git", "log", "-1", "--format=%H %ct", cwd=root).split()
        commit = Commit(name, int(made_s), version_of(root))
        with tempfile.TemporaryDirectory(prefix="tsproxy-deb-") as folder:
            build_here(root, commit, Path(folder))
            deb = build_deb(Path(folder) / "source", Path(folder) / "made", commit, Path(folder))
            (root / "dist").mkdir(exist_ok=True)
            shutil.copy2(deb, root / "dist")
    except ReleaseError as error:
        print(f"no package: {error}", file=sys.stderr)
        return 1
    print(f"dist/{deb.name}  {(root / 'dist' / deb.name).stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
