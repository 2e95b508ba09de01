"""spark-submit with the built zip, where Python has pyspark and nothing else."""

import json
import zipfile

import pytest

from deploy.spark import pyfiles
from tests.spark_reports import cluster
from tests.spark_reports.logs import counters, heartbeat, line, write

pytestmark = pytest.mark.timeout(1_800)
"""Each starts Java more than once: on a machine that is busy with other things, that takes its time."""


@pytest.fixture
def decisions(tmp_path):
    start, stop = line(0, kind="start"), line(4, kind="stop")
    lines = [start, counters(1), counters(2, client_id="late"), heartbeat(3), stop]
    write(tmp_path / "in" / "decisions-20261120T000000Z-px.jsonl", *lines)
    return tmp_path / "in"


def daily(decisions, *more):
    return ("daily", "--input", decisions, "--date", "2026-11-20", "--quiet", *more)


def test_the_zip_holds_spark_reports_and_the_little_of_tsproxy_that_it_imports(tmp_path):
    """The same sources give the same bytes."""
    archive = pyfiles.make(tmp_path / "a.zip")
    names = zipfile.ZipFile(archive).namelist()
    assert {"spark_reports/cli.py", "spark_reports/render/report.css", "tsproxy/__init__.py"} <= set(names)
    assert not [n for n in names if n.startswith("tsproxy/") and n.split("/")[1] not in
                ("__init__.py", "decisions", "model")]  # fmt: skip
    assert archive.read_bytes() == pyfiles.make(tmp_path / "b.zip").read_bytes()


def test_spark_submit_needs_the_zip_alone(decisions, tmp_path):
    done = cluster.submit(tmp_path, "local[1]", *daily(decisions, "--output", tmp_path / "out"))
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert (report["totals"]["records_accepted"], report["log"]["is_complete"]) == (20, True)
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
