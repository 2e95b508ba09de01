"""spark-submit with the built zip, where Python has pyspark and nothing else."""

import zipfile

import pytest

from deploy.spark import pyfiles
from tests.spark_reports import cluster
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


@pytest.mark.spark
def test_spark_submit_finds_the_faults_of_a_log_from_the_zip_alone(decisions, tmp_path):
    asked = ("doctor", "--input", decisions, "--date", "2026-11-20")
    done = cluster.submit(tmp_path, "local[1]", *asked, of_driver=())
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.endswith("1 file, 0 still being written; 1 process of 1 proxy; 5 lines.\n")
