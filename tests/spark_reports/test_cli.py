"""The command: exit codes, files, and no noise on either stream."""

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spark_reports.cli import main
from spark_reports.log.set_aside import ABSURD_COUNT
from spark_reports.report import files, teams
from spark_reports.spark.session import settings
from tests.spark_reports.day import DAY_MS, MIDNIGHT_MS, a_day
from tests.spark_reports.logs import counters, heartbeat, line, write

GOLDEN = Path(__file__).parents[1] / "decisions" / "golden"


@pytest.fixture(scope="module")
def decisions(tmp_path_factory):
    """The log of one hour on Friday and one on Saturday, as a proxy leaves it behind."""
    folder = tmp_path_factory.mktemp("decisions")
    for number, day in enumerate(("20261120", "20261121")):
        lines = a_day(("px",), range(1, 2), (0,), start_ms=MIDNIGHT_MS + number * DAY_MS).lines
        write(folder / f"decisions-{day}T010000Z-px-b-0001.jsonl", *[line | {"boot": day} for line in lines])
    return folder


def names_in(folder):
    return {path.name for path in folder.iterdir() if path.suffix != ".crc"}


@pytest.mark.spark
@pytest.mark.timeout(1_800)  # a start of Java, on a machine that may be busy
@pytest.mark.full_only("one more start of Java; the demo runs `daily` so, the other tests in this process")
def test_in_a_process_of_its_own_a_command_prints_its_answer_and_nothing_else(decisions, tmp_path):
    """The command as a user types it, of two days in one report."""
    out = tmp_path / "out"
    options = ["--date", "2026-11-20..2026-11-21", "--master", "local[2]", "--input", str(decisions)]
    asked = [sys.executable, "-m", "spark_reports", "daily", *options, "--output", str(out)]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2026-11-20 to 2026-11-21: ")
    assert names_in(out) == {"report.html", "report.json"}
    report = json.loads((out / "report.json").read_text())
    assert (report["log"]["boots"], len(report["hours"])) == (2, 48)


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


def test_a_report_of_each_day_is_in_a_folder_of_its_own_and_the_worst_day_is_the_exit_code(
    spark, decisions, tmp_path, capsys
):
    """Friday and Saturday have lines, and no other day has."""
    options = ["--input", str(decisions), "--store", str(tmp_path), "--format", "html,json"]
    options += ["--output", str(tmp_path / "out"), "--date"]
    assert main(["daily", *options, "2026-11-20..2026-11-21", "--fail-on", "rejected_rate>1%"]) == 3
    printed = capsys.readouterr()
    assert [line[:11] for line in printed.out.splitlines()][1:] == ["2026-11-20:", "2026-11-21:"]
    assert [line[:39] for line in printed.err.splitlines()] == [
        f"spark_reports: quality gate: 2026-11-{day}" for day in (20, 21)
    ]
    for day in ("2026-11-20", "2026-11-21"):
        report = json.loads((tmp_path / "out" / day / "report.json").read_text())
        assert (report["first_day"], report["last_day"], report["log"]["boots"]) == (day, day, 1)
        assert list((tmp_path / "rollup" / "producers" / f"event_date={day}").iterdir())
    assert [day["day"] for day in report["trend"]["days"]] == ["2026-11-20", "2026-11-21"]
    weeks = {producer["client_id"]: producer["week"] for producer in report["producers"]}
    assert weeks
    assert all(week[:6] == [None] * 6 and all(week[6:]) for week in weeks.values())
    assert {producer["since"] for producer in report["producers"]} == {"2026-11-20"}
    assert report["links"]["day_before"] == "../2026-11-20/report.html"
    index = (tmp_path / "out" / "index.html").read_text()
    links = re.findall(r'href="(.*?)"', index)
    days = ["2026-11-21/report.html", "2026-11-20/report.html"]
    assert [link for link in links if link.endswith("/report.html")] == days
    assert all((tmp_path / "out" / link.partition("#")[0]).is_file() for link in links)
    assert main(["daily", *options, "2026-11-21..2026-11-23", "--fail-on", "rejected_rate>1%"]) == 1
    said = f"spark_reports: no decision log lines of 2026-11-22 to 2026-11-23 under {decisions}: "
    assert capsys.readouterr().err.splitlines()[-1].startswith(said)


def test_a_day_without_lines_is_exit_code_1(spark, tmp_path, capsys):
    (tmp_path / "decisions").mkdir()
    options = ["--input", str(tmp_path / "decisions"), "--output", str(tmp_path / "out")]
    assert main(["daily", "--date", "2026-11-20", *options]) == 1
    assert "no decision log lines of 2026-11-20" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_every_path_may_be_on_another_file_system(spark, decisions, tmp_path, capsys):
    """One of Hadoop's own file systems without a server: it shows other folders under its own names."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.far.link./in", decisions.as_uri())
    (tmp_path / "kept").mkdir()
    hadoop.set("fs.viewfs.mounttable.far.link./kept", (tmp_path / "kept").as_uri())
    options = ["--store", "viewfs://far/kept", "--date", "2026-11-20", "--format", "html,json"]
    (tmp_path / "kept" / "owners.toml").write_text(
        '[[owners]]\nteam = "Pay"\nprincipals = ["User:billing"]\n'
    )
    reports = tmp_path / "kept" / "reports"
    killed = reports / "2026-11-20" / ".report.html.4711.draft"
    killed.parent.mkdir(parents=True)
    killed.write_text("half a pa")
    os.utime(killed, (0, 0))
    killed.with_name("report.json").write_text("the report of an earlier run")
    assert main(["daily", "--input", "viewfs://far/in", *options]) == 0
    assert "Written to viewfs://far/kept/reports/2026-11-20.\n" in capsys.readouterr().out
    assert not killed.exists()
    pay = reports / "teams" / teams.folder_of("Pay")
    assert names_in(pay) == {"2026-11-20.html", "feed.xml", "index.html", "latest.json"}
    assert f"../teams/{pay.name}/2026-11-20.html" in killed.with_name("report.html").read_text()
    places = ("viewfs://far/kept/reports/teams", str(pay.parent))
    far, here = (files.read_folders(spark, place, "latest.json") for place in places)
    assert far == here
    assert far.keys() == {pay.name, "no-owner"}
    assert names_in(killed.parent) == {"report.html", "report.json"}
    report = json.loads(killed.with_name("report.json").read_text())
    assert report["log"]["state"] == "complete_in_part"
    assert 'href="2026-11-20/report.html">2026-11-20<' in (reports / "index.html").read_text()
    assert [row["team"] for row in report["owners"]["teams"]] == ["Pay", None]
    assert not any("viewfs" in path.name for path in Path.cwd().iterdir())
    assert main(["what-if", "--rollup", str(tmp_path / "kept" / "rollup"), "--date", "2026-11-20"]) == 0


def test_in_a_notebook_the_session_is_afterwards_as_it_was(spark, decisions, tmp_path):
    """Also if the command fails. The table is written with an option, so that the user's own writes replace
    what they replaced before."""
    with settings(spark, {"spark.sql.session.timeZone": "Europe/Berlin"}):
        before = dict(spark.conf.getAll)
        asked = ["daily", "--store", str(tmp_path), "--format", "json", "--quiet", "--skip-damaged-files"]
        assert main([*asked, "--input", str(decisions), "--date", "2026-11-20"]) == 0
        assert main([*asked, "--input", "nowhere*"]) == 2
        after = dict(spark.conf.getAll)
    assert {name: after[name] for name in before} == before
    assert spark.conf.get("spark.sql.sources.partitionOverwriteMode").upper() == "STATIC"


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
    assert not (tmp_path / "out").exists()
    assert main([*asked, "--cluster", "prod"]) == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["headline"] == "The log is incomplete: of 24,000 records in it, none was rejected."
    assert main([*asked, "--cluster", "staging"]) == 1  # the rollup is of the other cluster
    assert "counts for 2026-11-20" in capsys.readouterr().err
