"""The archive of Spark's classes: the JVM maps it, and a wrong one does no harm."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.reports import later_compilation
from spark_reports.spark import class_archive
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


def archive_here():
    """The archive that an earlier run has left on this machine, or None."""
    said, is_missing = class_archive.options()
    return None if is_missing or not said else Path(said.split()[0].partition("=")[2])


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_an_archive_is_mapped_and_a_damaged_one_is_left_alone(tmp_path):
    """An archive that an earlier run has left on this machine will do: to make one takes half a minute."""
    folder = tmp_path / "cache"
    folder.mkdir()
    if (kept := archive_here()) is None:
        assert counted(folder) == ["7", "False"]
        (archive,) = folder.iterdir()
        archive.chmod(0o600)
    else:
        archive = folder / kept.name
        shutil.copyfile(kept, archive)
    assert counted(folder) == ["7", "True"]
    os.truncate(archive, archive.stat().st_size // 2)
    assert counted(folder) == ["7", "False"]


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.skipif(
    os.environ.get("TSPROXY_TEST") != "full",
    reason="makes one more archive, half a minute of CPU: make test-full",
)
def test_the_first_run_removes_old_archives_leaves_one_and_the_second_run_maps_it(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    others = [folder / name for name in ("spark-defaults.conf", "letters.txt", "spark-old.jsa")]
    old = [folder / f"spark-{'0' * 15}{number}-4.jsa" for number in range(3)]
    for number, path in enumerate([*others, *old]):
        path.write_text("mine")
        os.utime(path, (number, number))
    assert counted(folder) == ["7", "False"]
    (archive,) = set(folder.iterdir()) - {*others, old[-1]}
    assert counted(folder) == ["7", "True"]
    assert set(folder.iterdir()) == {*others, old[-1], archive}


def test_no_archive_is_made_unless_a_folder_is_named(monkeypatch):
    monkeypatch.delenv(class_archive.PLACE, raising=False)
    assert class_archive.options() == ("", None)


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
        assert class_archive.options() == ("", None)


def test_another_java_and_another_spark_have_another_archive(tmp_path, monkeypatch):
    monkeypatch.setenv(class_archive.PLACE, str(tmp_path))
    _, archive = class_archive.options()
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    _, other = class_archive.options()
    assert archive != other


def test_no_archive_is_made_of_a_sites_own_class_path(tmp_path, monkeypatch):
    monkeypatch.setenv(class_archive.PLACE, str(tmp_path))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert class_archive.options() == ("", None)
