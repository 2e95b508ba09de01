"""The command: exit codes, files, and no noise on either stream."""

import json
import logging
import os
from pathlib import Path

import pytest

from spark_reports.cli import main
from spark_reports.log.set_aside import ABSURD_COUNT
from spark_reports.report import files, teams
from spark_reports.spark.session import settings
from tests.spark_reports.day import a_day
from tests.spark_reports.logs import counters, heartbeat, line, write

GOLDEN = Path(__file__).parents[1] / "decisions" / "golden"


@pytest.fixture(scope="module")
def decisions(tmp_path_factory):
    """The log of an hour of Friday, as a proxy leaves it behind."""
    folder = tmp_path_factory.mktemp("decisions")
    write(folder / "decisions-20261120T010000Z-px-b-0001.jsonl", *a_day(("px",), range(1, 2), (0,)).lines)
    return folder


def names_in(folder):
    return {path.name for path in folder.iterdir() if path.suffix != ".crc"}


@pytest.mark.parametrize("version", ["v1"])
def test_a_gate_that_trips_is_exit_code_3_and_the_report_is_there(spark, version, tmp_path, capsys):
    """A golden log for each version ever written. They are kept for ever, so that they stay readable. A
    folder may be named as a file's address."""
    options = ["--input", str(GOLDEN / f"{version}.jsonl"), "--output", tmp_path.as_uri(), "--format", "json"]
    gate = ["--fail-on", "rejected_rate>1%", "--fail-on", "lost_lines>0"]
    assert main(["daily", "--date", "2026-11-20", *options, *gate, "--quiet"]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("spark_reports: quality gate: rejected_rate>1%: rejected_rate is ")
    assert printed.err.count("\n") == 1
    truth = json.loads((GOLDEN / f"{version}.truth.json").read_text())
    report = json.loads((tmp_path / "report.json").read_text())
    assert {name: report["totals"][name] for name in truth["totals"]} == truth["totals"]
    assert {topic["topic"]: topic["records_judged"] for topic in report["topics"]} == truth["topics"]
    assert report["log"]["state"] == "complete_in_part"


def test_every_path_may_be_on_another_file_system(spark, decisions, tmp_path, capsys, monkeypatch):
    """One of Hadoop's own file systems without a server: it shows other folders under its own names. In a
    notebook, the session is afterwards as it was, and the user's own writes replace what they replaced."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.far.link./in", decisions.as_uri())
    (tmp_path / "kept").mkdir()
    hadoop.set("fs.viewfs.mounttable.far.link./kept", (tmp_path / "kept").as_uri())
    (tmp_path / "kept" / "owners.toml").write_text(
        '[[owners]]\nteam = "Pay"\nprincipals = ["User:billing"]\n'
    )
    reports = tmp_path / "kept" / "reports"
    killed = reports / "2026-11-20" / ".report.html.4711.draft"
    killed.parent.mkdir(parents=True)
    killed.write_text("half a pa")
    os.utime(killed, (0, 0))
    killed.with_name("report.json").write_text("the report of an earlier run")
    with settings(spark, {"spark.sql.session.timeZone": "Europe/Berlin"}):
        before = dict(spark.conf.getAll)
        asked = ["--input", "viewfs://far/in", "--store", "viewfs://far/kept", "--skip-damaged-files"]
        assert main(["daily", *asked, "--date", "2026-11-20"]) == 0
        after = dict(spark.conf.getAll)
    assert {name: after[name] for name in before} == before
    assert spark.conf.get("spark.sql.sources.partitionOverwriteMode").upper() == "STATIC"
    assert "Written to viewfs://far/kept/reports/2026-11-20.\n" in capsys.readouterr().out
    names = {f"report.{form}" for form in ("html", "json", "prom")}
    assert names_in(killed.parent) == names
    pay = reports / "teams" / teams.folder_of("Pay")
    assert names_in(pay) == {"2026-11-20.html", "feed.xml", "index.html", "latest.json"}
    assert f"../teams/{pay.name}/2026-11-20.html" in killed.with_name("report.html").read_text()
    places = ("viewfs://far/kept/reports/teams", str(pay.parent))
    far, here = (files.read_folders(spark, place, "latest.json") for place in places)
    assert far == here
    assert far.keys() == {pay.name, "no-owner"}
    [places] = (tmp_path / "kept" / "lines").glob("_*.txt")  # Spark's reader passes over such a name
    assert files.read_if_there(spark, "viewfs://far/kept/lines", places.name) == places.read_text() != ""
    assert files.read_far(spark, f"viewfs://far/kept/lines/{places.name}") == places.read_text()
    report = json.loads(killed.with_name("report.json").read_text())
    assert (report["log"]["state"], report["log"]["quarantined_lines"]) == ("complete_in_part", {})
    assert 'href="2026-11-20/report.html">2026-11-20<' in (reports / "index.html").read_text()
    assert [row["team"] for row in report["owners"]["teams"]] == ["Pay", None]
    assert not any("viewfs" in path.name for path in Path.cwd().iterdir())
    assert main(["what-if", "--rollup", str(tmp_path / "kept" / "rollup"), "--date", "2026-11-20"]) == 0
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")  # as under spark-submit, whose session knows the place
    gate = ["gate", "viewfs://far/kept/reports/2026-11-20", "--fail-on"]
    assert [main([*gate, f"rejected_records>{bound}"]) for bound in (0, 10**9)] == [3, 0]
    assert main(["gate", "viewfs://far/kept/reports/2026-11-19", "--fail-on", "incomplete>0"]) == 2
    assert "2026-11-19/report.json does not exist" in capsys.readouterr().err


def test_an_error_within_a_task_is_one_sentence_and_none_of_sparks_advice(spark, tmp_path, capfd):
    """pyspark writes such an error to standard error as well, as 4 KB of JSON. Spark's own text proposes to
    switch off the check that found it. A line may have each of these counts, but their sum is too large."""
    many = ABSURD_COUNT - 1
    lines = [counters(seq, records=many, ahead=[[5, 1, many]], behind=[]) for seq in range(9_300)]
    write(tmp_path / "in" / "decisions-20261120T000000Z-px-b-0001.jsonl", *lines)
    asked = ["--input", str(tmp_path / "in"), "--date", "2026-11-20", "--output", str(tmp_path / "out")]
    assert main(["daily", *asked]) == 1
    stderr = capfd.readouterr().err
    assert stderr.count("\n") == 1
    assert "A sum does not fit into 64 bits" in stderr
    assert "ansi" not in stderr
    assert not (tmp_path / "out" / "report.json").exists()
    assert logging.getLogger("SQLQueryContextLogger").isEnabledFor(logging.ERROR)


def test_a_file_system_that_spark_does_not_have_is_a_sentence(spark, decisions, capsys):
    asked = ["daily", "--input", str(decisions), "--date", "2026-11-20", "--output", "s3a://lake/reports"]
    assert main(asked) == 1
    stderr = capsys.readouterr().err
    assert "org.apache.hadoop:hadoop-aws for s3a" in stderr
    assert stderr.count("\n") == 1


def test_two_clusters_in_one_log_are_never_added_up(spark, tmp_path, capsys):
    """prod accepts 24,000 records, staging rejects 24,000: the page said 50% of 48,000."""
    rejected = {"verdict": "rejected", "reason": "too_old", "error_code": 32, "bad_records": 24_000}
    for cluster, more in (("prod", {}), ("staging", rejected)):
        own = {"proxy": f"px-{cluster}", "boot": cluster}
        known = own | {"cluster_id": cluster}
        lines = [
            line(0, kind="start", facts={"mode": cluster}, **own),
            counters(1, records=24_000, **known, **more),
        ]
        name = f"decisions-20261120T000000Z-px-{cluster}.jsonl"
        write(tmp_path / name, *lines, heartbeat(2, **known))
    asked = ["daily", "--input", str(tmp_path), "--date", "2026-11-20", "--quiet", "--format", "json"]
    asked += ["--output", str(tmp_path / "out"), "--rollup", str(tmp_path / "rollup")]
    assert main(asked) == 2
    assert "of 2 clusters, and their numbers are not added up: give --cluster prod, --cluster staging" in (
        capsys.readouterr().err
    )
    assert not any((tmp_path / "out").iterdir())
    assert main([*asked, "--cluster", "prod"]) == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["headline"] == "The log is incomplete: of 24,000 records in it, none was rejected."
    assert main([*asked, "--cluster", "staging"]) == 1  # the rollup is of the other cluster
    assert "counts for 2026-11-20" in capsys.readouterr().err
