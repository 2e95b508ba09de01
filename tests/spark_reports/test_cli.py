"""The command: exit codes, files, and no noise on either stream."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spark_reports.cli import main
from tests.spark_reports import reports
from tests.spark_reports.day import DAY_MS, MIDNIGHT_MS, a_day
from tests.spark_reports.logs import write

GOLDEN = Path(__file__).parents[1] / "decisions" / "golden"


@pytest.fixture(scope="module")
def decisions(tmp_path_factory):
    """The log of one hour on Friday and one on Saturday, as a proxy leaves it behind."""
    folder = tmp_path_factory.mktemp("decisions")
    for number, day in enumerate(("20261120", "20261121")):
        lines = a_day(("px",), range(1, 2), (0,), start_ms=MIDNIGHT_MS + number * DAY_MS).lines
        write(folder / f"decisions-{day}T010000Z-px-b-0001.jsonl", *[line | {"boot": day} for line in lines])
    return folder


@pytest.mark.spark
@pytest.mark.timeout(1_800)  # two starts of Java, on a machine that may be busy
def test_in_a_process_of_its_own_a_command_prints_its_answer_and_nothing_else(decisions, tmp_path):
    """As a user types it: nothing on standard error."""
    done = in_a_process("compact", "--input", decisions, "--output", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"[1-9]\d* lines, 0 duplicates left out, set apart: none\.\n", done.stdout)
    days = {path.name for path in (tmp_path / "out").glob("event_date=*")}
    assert days == {"event_date=2026-11-20", "event_date=2026-11-21"}


def in_a_process(command, *options):
    everything = [sys.executable, "-m", "spark_reports", command, "--date", "2026-11-20..2026-11-21"]
    everything += ["--master", "local[2]", *map(str, options)]
    return subprocess.run(everything, capture_output=True, text=True)


@pytest.mark.spark
@pytest.mark.timeout(1_800)
@pytest.mark.skipif(os.environ.get("TSPROXY_TEST") != "full", reason="one more start of Java: make test-full")
def test_daily_in_a_process_of_its_own_writes_its_files_and_prints_a_summary(decisions, tmp_path):
    """Two days in one report."""
    done = in_a_process("daily", "--input", decisions, "--output", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tsproxy daily report · 2026-11-20 to 2026-11-21 · UTC")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"report.html", "report.md", "report.json"}
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["log"]["boots"] == 2
    assert len(report["hours"]) == 48
    assert sum(1 for records in report["all_topics"]["records"] if records) == 2


@pytest.mark.parametrize("version", ["v1"])
def test_a_gate_that_trips_is_exit_code_3_and_the_report_is_there(spark, version, tmp_path, capsys):
    """Of a golden log, one for each version ever written: kept for ever, so that it stays readable."""
    options = ["--input", str(GOLDEN / f"{version}.jsonl"), "--output", str(tmp_path), "--format", "json"]
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
    assert report["log"]["is_complete"]


def test_a_day_of_which_the_log_says_nothing_is_exit_code_1(spark, tmp_path, capsys):
    (tmp_path / "decisions").mkdir()
    options = ["--input", str(tmp_path / "decisions"), "--output", str(tmp_path / "out")]
    assert main(["daily", "--date", "2026-11-20", *options]) == 1
    assert "no decision log lines of 2026-11-20" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main(["compact", "--date", "2026-11-20", *options]) == 1
    assert "the files decisions-<day>" in capsys.readouterr().err


def test_every_path_may_be_on_another_file_system(spark, decisions, tmp_path, capsys):
    """Of Hadoop's own ones that need no server: one that shows other folders under names of its own."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.far.link./in", decisions.as_uri())
    (tmp_path / "kept").mkdir()
    hadoop.set("fs.viewfs.mounttable.far.link./kept", (tmp_path / "kept").as_uri())
    out = "viewfs://far/kept/reports/"
    options = ["--rollup", "viewfs://far/kept/rollup", "--output", out, "--date", "2026-11-20"]
    for _ in range(2):  # a rerun replaces what is there
        assert main(["daily", "--input", "viewfs://far/in", *options]) == 0
    assert f"Written: {out}report.html, {out}report.md, {out}report.json\n" in capsys.readouterr().out
    written = {path.name for path in (tmp_path / "kept" / "reports").iterdir() if path.suffix != ".crc"}
    assert written == {"report.html", "report.md", "report.json"}
    assert json.loads((tmp_path / "kept" / "reports" / "report.json").read_text())["log"]["is_complete"]
    assert not any("viewfs" in path.name for path in Path.cwd().iterdir())
    assert main(["what-if", "--rollup", "viewfs://far/kept/rollup", "--date", "2026-11-20"]) == 0


def test_a_file_system_that_spark_does_not_have_is_a_sentence(spark, decisions, capsys):
    asked = ["daily", "--input", str(decisions), "--date", "2026-11-20", "--output", "s3a://lake/reports"]
    assert main(asked) == 1
    said = capsys.readouterr().err
    assert "org.apache.hadoop:hadoop-aws for s3a" in said
    assert said.count("\n") == 1


def test_a_folder_named_as_a_file_address_is_that_folder(spark, decisions, tmp_path):
    options = ["--date", "2026-11-20", "--output", (tmp_path / "out").as_uri(), "--format", "json", "--quiet"]
    assert main(["daily", "--input", str(decisions), *options]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.json"]


def test_an_input_that_is_not_there_is_exit_code_2(spark, tmp_path, capsys):
    options = ["--input", str(tmp_path / "nowhere"), "--output", str(tmp_path / "out")]
    assert main(["daily", "--date", "2026-11-20", *options]) == 2
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["daily", "--date", "2026-02-30"], "not a day"),
        (["daily", "--date", "2026-11-20..2026-11-01"], "not a period"),
        (["daily", "--date", "2026-11-01..2026-11-20"], "not a period of 1 to 7 days"),
        (["daily", "--date", "0001-01-01"], "outside of the years 1970 to 9998"),
        (["compact", "--date", "9999-12-31"], "outside of the years 1970 to 9998"),
        (["trend", "--date", "1969-12-31..1970-01-01"], "outside of the years 1970 to 9998"),
        (["what-if", "--date", "2020-01-01..2026-11-20"], "not a period of 1 to 366 days"),
        (["daily", "--format", "pdf"], "'pdf' is none of html, md, json, csv"),
        (["daily", "--top", "0"], "not a number from 1"),
        (["daily", "--fail-on", "much"], "is not MEASURE>NUMBER"),
        (["weekly"], "invalid choice"),
        ([], "required"),
    ],
)
def test_a_mistake_in_the_arguments_is_exit_code_2_in_one_sentence(arguments, says, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "example"),
    [
        (["--help"], "spark_reports daily --date 2026-11-20 --input"),
        (["daily", "--help"], "spark_reports daily --date 2026-11-20 --input"),
        (["render", "--help"], "spark_reports render out/report.json"),
    ],
)
def test_help_has_an_example(command, example, capsys):
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 0
    assert example in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "starts"),
    [("html", "<!doctype html>"), ("md", "# tsproxy"), ("json", "{"), ("terminal", "tsproxy daily")],
)
def test_render_makes_each_form_from_a_report(name, starts, tmp_path, capsys):
    assert main(["render", str(reports.FIXED), "--format", name, "-o", str(tmp_path / "made")]) == 0
    assert (tmp_path / "made").read_text().startswith(starts)
    assert main(["render", str(reports.FIXED), "--format", name]) == 0
    assert capsys.readouterr().out.startswith(starts)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        ("{", "is not JSON"),
        ("[]", "not a report made by spark_reports"),
        ('{"report": "daily", "version": 99}', "version 99"),
        ('{"report": "daily", "version": 1}', "is not of its form (KeyError: 'first_day')"),
        ('{"report": "daily", "version": 1, "first_day": []}', "docs/report.schema.json has it"),
    ],
)
def test_render_of_what_is_no_report_is_exit_code_1_in_one_sentence(content, says, tmp_path, capsys):
    path = tmp_path / "report.json"
    if content is not None:
        path.write_text(content)
    assert main(["render", str(path)]) == 1
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_a_locale_without_the_signs_of_a_summary_still_shows_it():
    command = [sys.executable, "-m", "spark_reports", "render", str(reports.FIXED)]
    done = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"divide by 1,000,000" in done.stdout


def test_render_needs_neither_pyspark_nor_java(tmp_path):
    """The renderers run where only a report.json is."""
    script = (
        "import sys; from spark_reports.cli import main; "
        f"code = main(['render', {str(reports.FIXED)!r}, '-o', {str(tmp_path / 'x')!r}]); "
        "sys.exit(code or any(name.split('.')[0] in ('pyspark', 'py4j') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
    assert (tmp_path / "x").exists()


def test_without_java_one_sentence_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert main(["daily", "--input", str(tmp_path), "--output", str(tmp_path / "out")]) == 1
    assert "Spark needs Java 17 or newer" in capsys.readouterr().err


def test_importing_the_package_loads_no_spark():
    script = "import sys, spark_reports, spark_reports.cli; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
