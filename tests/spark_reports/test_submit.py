"""spark-submit with the built zip, where Python has pyspark and nothing else."""

import subprocess
import zipfile

import pytest

from deploy.spark import pyfiles
from tests.spark_reports import cluster, reports
from tests.spark_reports.logs import counters, heartbeat, line, write

pytestmark = pytest.mark.timeout(1_800)
"""Each test starts Java more than once, which takes long on a busy machine."""


@pytest.fixture
def decisions(tmp_path):
    start, stop = line(0, kind="start"), line(4, kind="stop")
    lines = [start, counters(1), counters(2, client_id="late"), heartbeat(3), stop]
    write(tmp_path / "in" / "decisions-20261120T000000Z-px.jsonl", *lines)
    return tmp_path / "in"


def test_the_zip_holds_spark_reports_and_the_little_of_tsproxy_that_it_imports(tmp_path):
    """The same sources give the same bytes."""
    archive = pyfiles.make(tmp_path / "a.zip")
    names = zipfile.ZipFile(archive).namelist()
    assert {"spark_reports/cli.py", "spark_reports/render/report.css", "tsproxy/__init__.py"} <= set(names)
    assert not [n for n in names if n.startswith("tsproxy/") and n.split("/")[1] not in
                ("__init__.py", "decisions", "model")]  # fmt: skip
    assert archive.read_bytes() == pyfiles.make(tmp_path / "b.zip").read_bytes()


def test_a_report_is_rendered_from_the_zip_alone(tmp_path):
    archive = pyfiles.make(tmp_path / "a.zip")
    python = cluster.bare_python(tmp_path)
    command = [python, cluster.MAIN, "render", reports.FIXED, "--format", "html"]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(archive)})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<!doctype html>")


@pytest.mark.spark
def test_spark_submit_makes_the_table_from_the_zip_alone(decisions, tmp_path):
    done = cluster.submit(tmp_path, "local[1]", *compact(decisions, tmp_path / "table"), of_driver=())
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "5 lines, 0 duplicates left out, set aside: none.\n"
    assert list((tmp_path / "table").glob("event_date=2026-11-20/*.parquet"))


def compact(decisions, table):
    return ("compact", "--input", decisions, "--date", "2026-11-20", "--output", table)
