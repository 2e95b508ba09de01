"""Finding Java: what a person without the right one is told."""

import subprocess
import sys
from pathlib import Path

import pytest

from tsproxy.testing.formatting import prepare_classes
from tsproxy.testing.jars import fetch_kafka_jars
from tsproxy.testing.java import JavaError, archive_of, find_java, java_command


@pytest.fixture
def only_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose PATH is one folder, without JAVA_HOME; returns that folder."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def put_java(folder: Path, says: str, exit_code: int = 0) -> Path:
    """A program named java that answers everything with `says`."""
    folder.mkdir(parents=True, exist_ok=True)
    executable = folder / "java"
    executable.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {exit_code}\n")
    executable.chmod(0o755)
    return executable


def test_java_on_the_path_is_found_with_its_major_version(only_path):
    executable = put_java(only_path, 'openjdk version "21.0.4" 2024-07-16')
    java = find_java()
    assert (java.executable, java.major) == (executable, 21)


def test_java_home_goes_before_the_path(only_path, monkeypatch):
    put_java(only_path, 'openjdk version "21.0.4"')
    executable = put_java(only_path / "home" / "bin", 'openjdk version "17.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(only_path / "home"))
    assert find_java().executable == executable


@pytest.mark.parametrize(
    ("says", "major"), [('java version "1.8.0_392"', 8), ('openjdk version "11.0.21" 2023-10-17', 11)]
)
def test_an_old_java_is_named_with_what_to_install(only_path, says, major):
    put_java(only_path, says)
    with pytest.raises(JavaError, match=rf"is Java {major}, which is too old: install Java 17 or newer"):
        find_java()


def test_no_java_at_all_says_what_to_install(only_path):
    with pytest.raises(JavaError, match="There is no Java on this machine: install Java 17 or newer"):
        find_java()


def test_a_java_home_that_leads_nowhere_is_named(only_path, monkeypatch):
    put_java(only_path, 'openjdk version "21.0.4"')
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(JavaError, match="JAVA_HOME is /nowhere, where there is no bin/java"):
        find_java()


def test_a_stub_that_only_talks_about_java_is_not_taken_for_one(only_path):
    put_java(only_path, "Unable to locate a Java Runtime.", exit_code=1)
    with pytest.raises(JavaError, match="does not tell its version"):
        find_java()


def test_make_is_answered_in_one_line_and_an_exit_code(tmp_path):
    """The first command of `make`: no traceback, and nothing imported that is not there yet."""
    asked = subprocess.run(
        [sys.executable, "-S", "-m", "tsproxy.testing.java"],
        env={"PATH": str(tmp_path)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (asked.returncode, asked.stdout) == (1, "")
    assert len(asked.stderr.splitlines()) == 1


@pytest.mark.broker
async def test_where_no_archive_can_be_made_there_is_none_and_nothing_is_left(tmp_path):
    jars = tmp_path / "jars"
    jars.mkdir()

    await prepare_classes(jars)

    assert [file.name for file in tmp_path.iterdir()] == ["jars"]
    assert not [word for word in java_command([jars / "*"], "64m", "Main") if "Archive" in str(word)]


@pytest.mark.broker
def test_an_archive_of_other_jars_is_passed_over_without_a_word(tmp_path):
    jars = fetch_kafka_jars("4.3.1")
    ours = tmp_path / "jars"
    ours.symlink_to(jars)
    archive_of(ours).write_text("nothing that Java wrote")

    command = java_command([ours / "*"], "128m", "org.apache.kafka.tools.TopicCommand", "--version")
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert f"-XX:SharedArchiveFile={archive_of(ours)}" in command
    assert done.stdout.strip() == "4.3.1"
