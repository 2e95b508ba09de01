"""The built files, installed and tested in a fresh environment, as users do it."""

import json
import sys
from pathlib import Path
from typing import Final

from deploy.release import ReleaseError
from deploy.release.agreement import Commit
from deploy.release.build import PYFILES
from deploy.release.commands import run, tool

_PIP: Final = ("--quiet", "--disable-pip-version-check", "--no-input")
EXTRAS: Final = "uvloop,reports"
_RUN: Final = Path(__file__).with_name("trial_run.py")
_CONFIGURATION: Final = """\
upstream:
  bootstrap_servers: 127.0.0.1:9092
listeners:
  - bind: 127.0.0.1:9192
"""


def install(made: Path, lock: Path, commit: Commit, folder: Path, extras: str = EXTRAS) -> Path:
    """The Python of a new environment with tsproxy from `made`, and with its dependencies as the lock pins
    them.

    The package itself never comes from an index, where a stranger may have its name.
    """
    python = folder / "environment" / "bin" / "python"
    run(sys.executable, "-m", "venv", "--without-pip", python.parents[1])
    pip = (tool("python"), "-m", "pip", "--python", python, "install", *_PIP)
    run(*pip, "--no-deps", "--no-index", "--find-links", made, f"tsproxy=={commit.version}")
    run(*pip, "--constraint", lock, f"tsproxy[{extras}]=={commit.version}")
    return python


def try_installed(python: Path, commit: Commit, folder: Path) -> str:
    """One line about a test of a proxy in front of a real broker, and of the report on its records. Raises
    ReleaseError."""
    proxy = python.with_name("tsproxy")
    if (version := run(proxy, "--version").strip()) != f"tsproxy {commit.version}":
        raise ReleaseError(f"tsproxy --version prints {version}")
    configuration = folder / "tsproxy.yaml"
    configuration.write_text(_CONFIGURATION)
    run(proxy, "check", configuration, cwd=folder)
    told: dict[str, object] = json.loads(run(python, "-I", _RUN, cwd=folder))
    if told != {"accepted": 1, "rejected": 1, "stored": 1, "reported": [2, 1]}:
        raise ReleaseError(f"the installed proxy and its report counted wrongly: {told}")
    return "one record stored, one rejected, both in the report"


def try_pyfiles(python: Path, made: Path, folder: Path) -> None:
    """Raises ReleaseError if the archive alone does not have the program that spark-submit starts."""
    look = (
        "import sys; sys.path.insert(0, sys.argv[1]); import spark_reports.cli as cli, tsproxy; "
        "assert cli.__file__.startswith(sys.argv[1]); print(tsproxy.__version__)"
    )
    run(python, "-I", "-c", look, made / PYFILES, cwd=folder)


def check_texts(made: Path) -> None:
    """Raises ReleaseError if an index could not show the metadata of a file."""
    files = sorted([*made.glob("*.whl"), *made.glob("*.tar.gz")])
    run(tool("twine"), "check", "--strict", *files)
