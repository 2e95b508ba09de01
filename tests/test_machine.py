"""make says what a machine lacks before it downloads anything (`deploy/machine.py`)."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from deploy import machine

ROOT = Path(__file__).parents[1]
HERE = sys.version_info[:2]
INSTALLS = "To install it: apt-get install git make python3-dev python3-venv default-jre-headless"


@pytest.fixture
def debian(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder of programs: those of Debian, with git and Java."""
    for name in ("apt-get", "git", "java"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho 'openjdk version \"17.0.15\"'\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


def test_nothing_is_said_where_all_is_there(debian):
    assert machine.problem(HERE) is None


@pytest.mark.parametrize(
    ("program", "told"), [("git", "git"), ("java", "Java 17 or newer (There is no Java on this machine)")]
)
def test_a_program_that_is_missing_is_named_with_the_line_of_readme(debian, program, told):
    (debian / program).unlink()
    assert machine.problem(HERE) == f"tsproxy needs what is missing here: {told}. {INSTALLS}"


def test_python_without_headers_or_ensurepip_is_told_in_the_same_sentence(debian, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "/nowhere")
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    assert machine.problem(HERE) == (
        "tsproxy needs what is missing here: the header files of Python (/nowhere/Python.h); Python's module "
        f"ensurepip, which makes virtual environments. {INSTALLS}"
    )


def test_a_system_that_is_neither_gets_all_lines(debian):
    for name in ("apt-get", "git"):
        (debian / name).unlink()
    assert machine.problem(HERE).endswith(
        f"{INSTALLS} or dnf install git make python3-devel java-latest-openjdk-headless"
    )


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ((3, 10), "tsproxy needs Python 3.11 or newer, and this is 3.10: name another one"),
        ((3, 15), "requirements.lock was made for Python 3.11 to 3.14, and this is 3.15: name another one"),
    ],
)
def test_a_python_that_is_too_old_or_too_new_is_named(version, told):
    assert machine.problem(version).startswith(told)


def test_make_asks_before_it_makes_anything(tmp_path):
    """With an interpreter that is not there, and without Java: nothing is made, let alone fetched."""
    for name in ("Makefile", "README.md", "requirements.lock", "pyproject.toml", "setup.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    for package in ("deploy", "tsproxy/testing"):
        (tmp_path / package).mkdir(parents=True)
        for module in (ROOT / package).glob("*.py"):
            shutil.copy(module, tmp_path / package)
    shutil.copy(ROOT / "tsproxy" / "__init__.py", tmp_path / "tsproxy")
    before = {*tmp_path.iterdir()}
    for python, told in (
        ("python4", "There is no python4. To install it: apt-get install git make"),
        (sys.executable, "JAVA_HOME is /nowhere, where there is no bin/java"),
    ):
        ended = subprocess.run(
            ["make", f"PYTHON={python}", "demo"],
            cwd=tmp_path,
            env={**os.environ, "JAVA_HOME": "/nowhere", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert told in ended.stdout + ended.stderr
        assert ended.returncode == 2
        assert {*tmp_path.iterdir()} == before


ORPHAN = """
import os, sys, time
ends, held = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        while time.process_time() < 1.2:
            pass
    os._exit(0)
os.close(held)
os.read(ends, 1)
sys.exit(3)
"""
"""Uses 1.2 s of CPU in a process whose parent does not wait for it, and ends after it."""


def test_a_command_is_told_with_the_cpu_of_all_its_processes():
    command = [sys.executable, "-m", "deploy.spent", sys.executable, "-c", ORPHAN]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    told = re.fullmatch(r"Took \d+ s; (\d+) s of CPU .* load [\d.]+ .* on \d+ cores\.\n", ended.stdout)
    assert int(told[1]) >= 1
