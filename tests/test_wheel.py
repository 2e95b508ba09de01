"""Users install the wheel, not the checkout: built, installed apart, and run there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # builds the wheel twice

ROOT = Path(__file__).parent.parent
SOURCES = ("tsproxy", "spark_reports", "pyproject.toml", "setup.py", "README.md", "LICENSE")
PRINT_VARIANTS = (
    "from tsproxy.proxy import pipe; from tsproxy.wire import readers; print(readers.NAME, pipe.NAME)"
)
BUILT = ("*.so", "__pycache__", "*.egg-info", "build")
TRANSLATED = "*.c"
FULL = os.environ.get("TSPROXY_TEST") == "full"


def install(folder: Path, environment: dict[str, str], root: Path = ROOT) -> Path:
    """Build the wheel from the sources in `root` alone and install it into a folder of its own.

    Cython translates what has changed since `make` translated it; with TSPROXY_TEST=full it translates all.
    """
    source, site = folder / "source", folder / "site"
    ignored = shutil.ignore_patterns(*BUILT, *((TRANSLATED,) if FULL and root == ROOT else ()))
    for name in SOURCES:
        if (root / name).is_dir():
            shutil.copytree(root / name, source / name, ignore=ignored)
        else:
            source.mkdir(exist_ok=True)
            shutil.copy(root / name, source / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run(build, check=True, env={**os.environ, **environment}, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True)
    return site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not optimised, which is two thirds of building it: `make` has built it as users do."""
    return install(tmp_path_factory.mktemp("native"), {"CFLAGS": "-O0"})


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


def test_with_a_compiler_readers_and_pipe_are_native(site: Path) -> None:
    assert run(site, "-c", PRINT_VARIANTS) == "native native\n"


def test_without_a_compiler_the_install_still_works_in_python(site: Path, tmp_path: Path) -> None:
    """From the sources that were built already: Cython need not translate them once more."""
    python = install(tmp_path, {"CC": "/bin/false", "CXX": "/bin/false"}, root=site.parent / "source")
    assert run(python, "-c", PRINT_VARIANTS) == "python python\n"
