"""The archive of Spark's classes: the JVM maps it, and a wrong one does no harm."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from types import SimpleNamespace

import pytest

from benchmarks.spark_jobs import later_compilation
from spark_reports.spark import class_archive
from tests.spark_reports.conftest import SHARED
from tsproxy.testing.java import find_java

_COUNT = """
from pathlib import Path
from spark_reports.spark.session import spark_session
with spark_session("local[1]") as spark:
    print(spark.range(7).count())
    pid = spark.sparkContext._gateway.proc.pid
    print(".jsa" in Path(f"/proc/{pid}/maps").read_text().replace("classes.jsa", ""))
"""


@pytest.fixture(autouse=True)
def no_spark_of_the_site(monkeypatch):
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH"):
        monkeypatch.delenv(name, raising=False)


def counted(folder):
    environment = {**os.environ, class_archive.PLACE: str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", _COUNT], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.full_only(
    "makes an archive, a minute of CPU; test_cli.py runs a command with a damaged one, and the tests below "
    "say what is made when"
)
def test_an_archive_is_mapped_and_a_damaged_one_is_left_alone(tmp_path, monkeypatch):
    """An archive that an earlier run has left on this machine will do: to make one takes half a minute."""
    folder = tmp_path / "cache"
    if (kept := class_archive.mapped()) is None:
        made_by_the_second_run(folder, monkeypatch)
        archive = class_archive.mapped()
        share(archive)
        archive.chmod(0o600)
    else:
        folder.mkdir()
        archive = folder / kept.name
        shutil.copyfile(kept, archive)
        assert counted(folder) == ["7", "True"]
    os.truncate(archive, archive.stat().st_size // 2)
    assert counted(folder) == ["7", "False"]


def made_by_the_second_run(folder, monkeypatch):
    """The run after one that succeeded leaves the archive, and the next one maps it."""
    monkeypatch.setenv(class_archive.PLACE, str(folder))
    class_archive.prepared().note.touch()
    assert counted(folder) == ["7", "False"]
    assert counted(folder) == ["7", "True"]


def share(archive):
    """Later runs of this environment map it."""
    with suppress(OSError):
        SHARED.mkdir(parents=True, exist_ok=True)
        part = SHARED / f"{archive.stem}.{os.getpid()}"
        shutil.copyfile(archive, part)
        part.replace(SHARED / archive.name)


class Jvm:
    """The process of a session, and the archive that it writes when its standard input ends."""

    def __init__(self, archive):
        writes = f"cat; echo classes > {archive.made}" if archive.made else "cat"
        self.proc = subprocess.Popen(["sh", "-c", writes], stdin=subprocess.PIPE)
        self.sparkContext = SimpleNamespace(_gateway=SimpleNamespace(proc=self.proc))


@pytest.fixture
def at_exit(monkeypatch):
    """The functions that run when the process ends."""
    calls = []
    monkeypatch.setattr(class_archive.atexit, "register", lambda *call, **named: calls.append((call, named)))

    def end():
        while calls:
            (call, *arguments), named = calls.pop()
            call(*arguments, **named)

    return end


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(class_archive.PLACE, str(tmp_path))
    return tmp_path


def run(end, at_exit):
    archive = class_archive.prepared()
    jvm = Jvm(archive)
    end(jvm, archive)
    at_exit()
    jvm.proc.kill()
    jvm.proc.communicate()


def endings(folder):
    return [path.suffix for path in folder.iterdir()]


def test_a_run_that_fails_makes_no_archive_and_is_no_first_run(cache, at_exit):
    run(class_archive.failed, at_exit)
    assert endings(cache) == []
    run(class_archive.succeeded, at_exit)
    assert endings(cache) == [".used"]
    run(class_archive.failed, at_exit)
    assert endings(cache) == [".used"]
    run(class_archive.succeeded, at_exit)
    assert sorted(endings(cache)) == [".jsa", ".used"]
    assert class_archive.prepared().options.startswith("-XX:SharedArchiveFile=")


def test_two_runs_at_once_make_one_archive_and_what_a_killed_one_left_is_removed(cache):
    note = class_archive.prepared().note
    note.touch()
    first = class_archive.prepared()
    assert first.made is not None
    assert class_archive.prepared() == class_archive.Archive()
    first.made.rename(first.made.with_suffix(f".{2**22 + 1}"))  # no process has such a number
    assert class_archive.prepared().made == first.made
    assert {path.name for path in cache.iterdir()} == {note.name, first.made.name}


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.full_only("makes one more archive, a minute of CPU; the tests above say what is made when")
def test_the_second_run_removes_old_archives_leaves_one_and_the_third_run_maps_it(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    folder.mkdir()
    others = [folder / name for name in ("spark-defaults.conf", "letters.txt", "spark-old.jsa")]
    old = [folder / f"spark-{'0' * 15}{number}-4.jsa" for number in range(5)]
    for number, path in enumerate([*others, *old]):
        path.write_text("mine")
        os.utime(path, (number, number))
    monkeypatch.setenv(class_archive.PLACE, str(folder))
    note = class_archive.prepared().note
    assert counted(folder) == ["7", "False"]
    assert set(folder.iterdir()) == {*others, *old, note}
    assert counted(folder) == ["7", "False"]
    (archive,) = set(folder.iterdir()) - {*others, *old[-3:], note}
    assert counted(folder) == ["7", "True"]
    assert set(folder.iterdir()) == {*others, *old[-3:], note, archive}


def test_a_truncated_archive_is_not_mapped(cache):
    """A JVM that maps one is killed."""
    archive = cache / f"{class_archive.prepared().note.stem}-10.jsa"
    archive.write_bytes(bytes(10))
    assert class_archive.mapped() == archive
    os.truncate(archive, 5)
    assert class_archive.mapped() is None


def test_no_archive_is_made_unless_a_folder_is_named(monkeypatch):
    monkeypatch.delenv(class_archive.PLACE, raising=False)
    assert class_archive.prepared() == class_archive.Archive()


@pytest.mark.spark
def test_java_takes_the_options_that_the_documents_propose():
    options = later_compilation().split()
    done = subprocess.run([find_java().executable, *options, "-version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert "warning" not in done.stderr.lower()


def test_no_archive_is_made_where_the_folder_cannot_be(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    for place in ("", str(tmp_path / "file" / "cache"), str(tmp_path / "a folder")):
        monkeypatch.setenv(class_archive.PLACE, place)
        assert class_archive.prepared() == class_archive.Archive()


def test_another_java_and_another_spark_have_another_archive(tmp_path, monkeypatch):
    monkeypatch.setenv(class_archive.PLACE, str(tmp_path))
    note = class_archive.prepared().note
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert class_archive.prepared().note not in (None, note)


def test_no_archive_is_made_of_a_sites_own_class_path(tmp_path, monkeypatch):
    monkeypatch.setenv(class_archive.PLACE, str(tmp_path))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert class_archive.prepared() == class_archive.Archive()
