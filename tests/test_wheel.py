"""Users install the wheel, not the checkout: built, installed apart, and run there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # builds the wheel

ROOT = Path(__file__).parent.parent
SOURCES = ("tsproxy", "spark_reports", "pyproject.toml", "setup.py", "README.md", "LICENSE")
PRINT_VARIANTS = (
    "from tsproxy.proxy import pipe; from tsproxy.wire import readers; print(readers.NAME, pipe.NAME)"
)
BUILT = ("*.so", "__pycache__", "*.egg-info", "build")
TRANSLATED = "*.c"
NO_COMPILER = {"CC": "/bin/false", "CXX": "/bin/false"}
UNOPTIMISED = {"CFLAGS": "-O0"}
"""To optimise is two thirds of building the native code, and `make` has built it as users do."""
FULL = os.environ.get("TSPROXY_TEST") == "full"


def install(folder: Path, environment: dict[str, str]) -> Path:
    """Build the wheel from the sources alone and install it into a folder of its own.

    Cython translates what has changed since `make` translated it; with TSPROXY_TEST=full it translates all.
    """
    source, site = folder / "source", folder / "site"
    ignored = shutil.ignore_patterns(*BUILT, *((TRANSLATED,) if FULL else ()))
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            source.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run(build, check=True, env={**os.environ, **environment}, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True)
    return site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As on a machine without a compiler, since compiling takes most of the time."""
    return install(tmp_path_factory.mktemp("python"), NO_COMPILER)


def run(site: Path, *arguments: str) -> str:
    """The output of a program that sees the installed wheel, and not the checkout."""
    result = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=site.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_installed_commands_run(site: Path) -> None:
    assert run(site, "-c", "import tsproxy; print(tsproxy.__file__)").startswith(str(site))
    assert run(site, "-m", "tsproxy", "--version").startswith("tsproxy ")
    assert '"properties"' in run(site, "-m", "tsproxy", "decisions", "schema")
    assert "daily" in run(site, "-m", "spark_reports", "--help")


def test_everything_that_is_not_python_came_along(site: Path) -> None:
    packages = {
        path.relative_to(ROOT) for name in ("tsproxy", "spark_reports") for path in _data(ROOT / name)
    }
    installed = {
        path.relative_to(site) for name in ("tsproxy", "spark_reports") for path in _data(site / name)
    }
    assert packages
    assert packages <= installed


def _data(folder: Path) -> list[Path]:
    generated = {".py", ".pyc", ".so", ".c"}
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix not in generated]


def test_without_a_compiler_the_install_still_works_in_python(site: Path) -> None:
    assert run(site, "-c", PRINT_VARIANTS) == "python python\n"


@pytest.mark.full_only("compiles all again; `make` has compiled it, and tests/fastpath/test_choice.py looks")
def test_with_a_compiler_readers_and_pipe_are_native(tmp_path: Path) -> None:
    assert run(install(tmp_path, UNOPTIMISED), "-c", PRINT_VARIANTS) == "native native\n"
