"""The log as a stream: each line is in the table once, even after a crash at the worst moment."""

from datetime import date

from spark_reports.cli import main
from spark_reports.log.read import Source
from spark_reports.log.store import Form
from spark_reports.report.assemble import assemble
from tests.spark_reports.collected import collect
from tests.spark_reports.day import DAY_MS, MIDNIGHT_MS
from tests.spark_reports.logs import counters, heartbeat, write

FRIDAY = date(2026, 11, 20)


def streamed(tmp_path):
    options = ["--input", tmp_path / "in", "--output", tmp_path / "table", "--checkpoint", tmp_path / "state"]
    assert main(["stream", *map(str, options), "--once"]) == 0


def lines_of(spark, tmp_path):
    table = spark.read.parquet(str(tmp_path / "table"))
    return sorted(
        (row["event_date"].isoformat(), row["seq"] or 0, row["problem"] or "") for row in table.collect()
    )


def test_each_file_is_written_once_by_runs_that_follow_each_other(spark, tmp_path):
    """Open files wait. Unusable lines are kept with their problem."""
    write(tmp_path / "in" / "a.jsonl", counters(0), heartbeat(1), raw="garbage\n")
    write(tmp_path / "in" / "b.jsonl.open", heartbeat(2))
    streamed(tmp_path)
    first = [("1970-01-01", 0, "not_json"), ("2026-11-20", 0, ""), ("2026-11-20", 1, "")]
    assert lines_of(spark, tmp_path) == first
    write(tmp_path / "in" / "c.jsonl.gz", heartbeat(3, MIDNIGHT_MS + DAY_MS))
    streamed(tmp_path)
    assert lines_of(spark, tmp_path) == [*first, ("2026-11-21", 3, "")]
    streamed(tmp_path)
    assert lines_of(spark, tmp_path) == [*first, ("2026-11-21", 3, "")]


def test_a_stream_of_a_topic_needs_sparks_connector_and_says_where_it_is(spark, tmp_path, capsys):
    options = ["--kafka", "127.0.0.1:1", "--output", str(tmp_path / "t"), "--checkpoint", str(tmp_path / "s")]
    assert main(["stream", *options, "--once"]) == 1
    stderr = capsys.readouterr().err
    assert "--packages org.apache.spark:spark-sql-kafka-0-10_2.13:" in stderr
    assert stderr.count("\n") == 1


def test_a_line_of_a_day_that_never_was_is_kept_with_those_of_no_day(spark, tmp_path):
    """Otherwise the column of days would be a text for every reader of the table."""
    days = ("2026-02-30", "9999-99-99", "0000-00-00")
    lines = [heartbeat(seq, interval_start=f"{day}T00:00:00.000Z") for seq, day in enumerate(days)]
    write(tmp_path / "in" / "a.jsonl", *lines)
    streamed(tmp_path)
    assert lines_of(spark, tmp_path) == [("1970-01-01", seq, "bad_instant") for seq in range(3)]


def test_a_batch_that_is_run_again_after_a_crash_is_there_once(spark, tmp_path):
    """The stream was killed after it wrote a batch, but before it noted that. Spark runs the batch again."""
    write(tmp_path / "in" / "a.jsonl", counters(0), heartbeat(1))
    streamed(tmp_path)
    before = lines_of(spark, tmp_path)
    for noted in (tmp_path / "state" / "commits").iterdir():
        noted.unlink()
    streamed(tmp_path)
    assert lines_of(spark, tmp_path) == before


def test_the_table_is_read_like_one_of_compact(spark, tmp_path):
    write(tmp_path / "in" / "a.jsonl", counters(0), heartbeat(1), counters(0))
    streamed(tmp_path)
    found = collect(spark, Source([str(tmp_path / "table")], FRIDAY, FRIDAY, Form.PARQUET))
    made = assemble(found, FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS)
    assert made["totals"]["records_accepted"] == 10
    assert made["log"]["duplicate_lines"] == 1
