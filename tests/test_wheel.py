"""Users install the wheel, not the checkout: built, installed apart, and run there."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # builds the wheel

ROOT = Path(__file__).parent.parent
SOURCES = ("tsproxy", "spark_reports", "pyproject.toml", "setup.py", "README.md", "LICENSE")
BUILT = ("*.so", "__pycache__", "*.egg-info", "build")
TRANSLATED = "*.c"
NO_COMPILER = {"CC": "/bin/false", "CXX": "/bin/false"}
BUILD_FOLDER = f"build/lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
YOUNGER_S = time.time() + 3600
"""A time after all sources and translations, so that nothing is compiled."""
FULL = os.environ.get("TSPROXY_TEST") == "full"
ENVIRONMENT = {**os.environ, "CFLAGS": "-O0"} if FULL else {**os.environ, **NO_COMPILER}
"""To optimise is two thirds of building the native code, and `make` has built it as users do."""


def install(folder: Path) -> Path:
    """Build the wheel from the sources and install it into a folder of its own.

    The native code is what `make` has compiled; with TSPROXY_TEST=full all is translated and compiled again.
    """
    source, site = folder / "source", folder / "site"
    ignored = shutil.ignore_patterns(*BUILT, *((TRANSLATED,) if FULL else ()))
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            source.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    if not FULL:
        for compiled in (ROOT / "tsproxy").rglob("*.so"):
            target = source / BUILD_FOLDER / compiled.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(compiled, target)
            os.utime(target, (YOUNGER_S, YOUNGER_S))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run(build, check=True, env=ENVIRONMENT, capture_output=True)
    release = ["--no-index", "--no-deps", "--only-binary", ":all:", "--find-links", str(folder), "tsproxy"]
    subprocess.run([*pip, "install", "--target", str(site), *release], check=True)
    return site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("wheel"))


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
    assert '"properties"' in run(site, "-m", "tsproxy.decisions", "json")
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


def test_the_installed_proxy_has_its_native_code(site: Path) -> None:
    """The session, the readers and the pipe import all of it."""
    imports = "import tsproxy.proxy.server; from tsproxy.proxy.pipe import Pipe; print(Pipe.__module__)"
    assert run(site, "-c", imports) == "tsproxy.proxy.pipe._native\n"


def test_each_wheel_of_a_release_passes_the_commands_that_try_it(site: Path) -> None:
    """cibuildwheel runs them in containers, so they are run here word for word."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    commands = [shlex.split(each) for each in pyproject["tool"]["cibuildwheel"]["test-command"]]
    assert {program for program, *_ in commands} == {"tsproxy", "python"}
    for program, *arguments in commands:
        run(site, *({"tsproxy": ("-m", "tsproxy")}.get(program, ())), *arguments)


BUILD_EXT = """
import setuptools
from distutils.core import run_setup
dist = run_setup("setup.py", stop_after="init")
dist.command_options.clear()  # as in an editable installation, which has none of those of setup()
command = dist.get_command_obj("build_ext")
command.build_extension = lambda extension: None
command.ensure_finalized()
command.run()
print(command.parallel, *command.compiler.compiler_so)
"""


@pytest.mark.parametrize(
    ("flags", "level"), [({}, "-O3"), ({"CFLAGS": "-g0"}, "-O3"), ({"CFLAGS": "-O1", "CC": "cc"}, "-O1")]
)
def test_modules_are_compiled_on_all_cores_and_optimised_whatever_flags_are_set(flags, level) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CFLAGS")} | flags
    command = [sys.executable, "-c", BUILD_EXT]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    cores, *options = result.stdout.split()
    assert int(cores) == os.cpu_count()
    assert [option for option in options if option.startswith("-O")][-1] == level


def test_without_a_compiler_the_build_ends_with_what_to_install(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "tsproxy", source / "tsproxy", ignore=shutil.ignore_patterns(*BUILT))
    for name in SOURCES[2:]:
        shutil.copy(ROOT / name, source / name)
    build = [sys.executable, "setup.py", "--quiet", "build_ext", "--build-lib", str(tmp_path / "lib")]
    ended = subprocess.run(
        [*build, "--build-temp", str(tmp_path / "temp")],
        cwd=source,
        env={**os.environ, **NO_COMPILER},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == (
        "To build tsproxy from source, install a C compiler and the header files of Python (Debian and "
        "Ubuntu: apt-get install gcc python3-dev; Fedora: dnf install gcc python3-devel). A wheel of tsproxy "
        "needs neither."
    )
