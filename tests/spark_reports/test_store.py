"""Tables of a lake: a real Delta table, and a plain sentence if the session has no such format."""

import json

import pytest

from spark_reports.cli import main
from spark_reports.log import store
from tests.spark_reports import cluster, connector
from tests.spark_reports.day import DAY_MS, MIDNIGHT_MS
from tests.spark_reports.logs import counters, heartbeat, line, write

DAYS = "2026-11-20..2026-11-21"


@pytest.mark.parametrize(
    ("command", "form"),
    [
        (("compact", "--format"), "delta"),
        (("daily", "--input-format"), "iceberg"),
    ],
)
def test_a_session_without_the_format_says_so_in_a_sentence_and_writes_nothing(
    spark, tmp_path, monkeypatch, capsys, command, form
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "in" / "decisions-20261120T000000Z-px.jsonl", counters(0))
    assert main([*command, form, "--input", "in", "--output", "table"]) == 1
    stderr = capsys.readouterr().err
    assert stderr.startswith(f"spark_reports: this Spark session has no {form}: ")
    assert stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_table_that_the_catalog_lacks_is_exit_code_2(spark, tmp_path, monkeypatch, capsys):
    """The session has Iceberg, or says so. Only the table does not exist."""
    monkeypatch.setattr(store, "require", lambda *_: None)
    asked = ["daily", "--input-format", "iceberg", "--input", "nowhere", "--output", str(tmp_path / "out")]
    assert main(asked) == 2
    assert "`nowhere` cannot be found" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.timeout(1_800)  # five starts of Java, on a machine that may be busy
@pytest.mark.full_only("Delta's jars and five JVMs; test_compact.py has tables of Parquet files")
def test_a_delta_table_holds_each_day_once_however_often_it_is_written(tmp_path):
    """Two days; the second is written again after a line came for it, and the first stays as it was. Then the
    files of the second are gone, and `--replace` leaves nothing of it."""

    def submitted(name, *arguments):
        (folder := tmp_path / name).mkdir()
        done = cluster.submit(
            folder, "local[1]", *arguments, jars=connector.delta(), settings=connector.DELTA_SETTINGS
        )
        # A report says that a line cannot be read.
        assert done.returncode == (3 if arguments[0] == "daily" else 0), done.stderr[-3000:]

    decisions, table, out = tmp_path / "in", tmp_path / "table", tmp_path / "out"
    own = [line(0, kind="start"), counters(1), counters(1), heartbeat(2)]
    write(decisions / "decisions-20261120T000000Z-px.jsonl", *own, raw="garbage\n")
    later = [counters(3, MIDNIGHT_MS + DAY_MS), line(4, kind="stop", at_ms=MIDNIGHT_MS + DAY_MS)]
    write(decisions / "decisions-20261121T000000Z-px.jsonl", later[0])
    compact = ("compact", "--input", decisions, "--output", table, "--format", "delta", "--quiet")
    submitted("both", *compact, "--date", DAYS)
    write(decisions / "decisions-20261121T010000Z-px.jsonl", later[1])
    submitted("again", *compact, "--date", "2026-11-21")
    daily = ("daily", "--input", table, "--input-format", "delta", "--date", DAYS, "--quiet")
    submitted("report", *daily, "--output", out)
    log = json.loads((out / "report.json").read_text())["log"]
    assert (log["lines"], log["duplicate_lines"], log["quarantined_lines"]) == (5, 1, {"not_json": 1})
    assert (log["lost_lines"], log["silent_boots"]) == (0, 0)
    assert (table / "_delta_log").is_dir()
    for file in decisions.glob("decisions-20261121T*"):
        file.unlink()
    submitted("gone", *compact, "--date", DAYS, "--replace")
    submitted("after", *daily, "--output", out)
    log = json.loads((out / "report.json").read_text())["log"]
    assert (log["lines"], log["duplicate_lines"], log["quarantined_lines"]) == (3, 1, {"not_json": 1})
