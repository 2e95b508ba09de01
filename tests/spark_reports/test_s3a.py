"""A night on an object store: spark-submit, two workers, hadoop-aws and a local S3 server."""

import json

import pytest

from spark_reports.cli import main
from tests.spark_reports import cluster, s3
from tests.spark_reports.logs import counters, heartbeat, line, text_of

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(1_800),  # seven starts of Java, on a machine that may be busy
    pytest.mark.full_only("a server, 60 jars and seven JVMs; test_cli.py has another file system"),
]
DAILY = ("daily", "--input", "s3a://lake/tsproxy/{date}", "--date", "2026-11-20", "--quiet")
STORE = ("--store", "s3a://lake")


@pytest.fixture
def lake(tmp_path):
    """The address of a server with a log of one day."""
    with s3.server(tmp_path) as url:
        lines = [line(0, kind="start"), counters(1), counters(2, client_id="late"), heartbeat(3)]
        name = "decisions-20261120T000000Z-px.jsonl"
        s3.put(url, f"lake/tsproxy/2026-11-20/px/{name}", text_of(lines).encode())
        # Nobody lists this folder: it would be read for its name.
        s3.put(url, f"lake/tsproxy/2026-10-01/qx/{name}", text_of([counters(9, boot="other")]).encode())
        yield url


@pytest.fixture
def submitted(lake, tmp_path):
    """Runs a command by spark-submit; the process that has ended. Its standard output has both streams of
    Python, and standard error is Spark's log."""

    def run(name, *arguments, master="local[2]"):
        (folder := tmp_path / name).mkdir()
        return cluster.submit(folder, master, *arguments, jars=s3.jars(), settings=s3.settings(lake))

    return run


def test_two_workers_read_and_write_an_object_store_and_gates_read_the_report(
    lake, submitted, tmp_path, monkeypatch, capsys
):
    with cluster.standalone(tmp_path) as master:
        done = submitted("daily", *DAILY, *STORE, master=master)
        assert done.returncode == 0, done.stdout
        assert cluster.ran_on(tmp_path) == {"work-0", "work-1"}
    report = json.loads(s3.get(lake, "lake/reports/2026-11-20/report.json"))
    assert (report["totals"]["records_accepted"], report["log"]["files"]) == (20, 1)
    assert report["log"]["state"] == "incomplete"  # the process has no stop line
    written = s3.keys(lake)
    assert "reports/2026-11-20/report.html" in written
    table = [key for key in written if key.startswith("lines/event_date=") and key.endswith(".parquet")]
    assert [key.split("/")[1] for key in table] == ["event_date=2026-11-20"]
    assert [key for key in written if key.startswith("rollup/producers/event_date=2026-11-20/")]
    assert not [key for key in written if key.endswith(".draft")]
    own = {"ENDPOINT_URL": lake, "ACCESS_KEY_ID": "any", "SECRET_ACCESS_KEY": "any", "REGION": "us-east-1"}
    for key, value in own.items():  # of pyarrow, which starts no Spark
        monkeypatch.setenv(f"AWS_{key}", value)
    assert main(["gate", "s3a://lake/reports/2026-11-20", "--fail-on", "unheard>0"]) == 3
    assert "quality gate: 2026-11-20: unheard>0: unheard is 1" in capsys.readouterr().err


def test_a_bucket_that_is_not_there_is_found_before_anything_is_written(lake, submitted):
    done = submitted("daily", *DAILY, *STORE, "--output", "s3a://no-such-bucket/reports")
    assert done.returncode == 1
    assert "spark_reports: Spark failed: " in done.stdout
    assert not [key for key in s3.keys(lake) if not key.startswith("tsproxy/")]
