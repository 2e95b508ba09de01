"""The log as a stream: each line is in the table once, even after a crash at the worst moment."""

import json
import os
import shutil
from datetime import UTC, date, datetime

import pytest

from spark_reports.cli import main
from spark_reports.log import stream
from spark_reports.log.compact import compact
from spark_reports.log.read import Source
from spark_reports.log.store import Form, Table
from spark_reports.report.assemble import assemble
from tests.spark_reports.collected import collect
from tests.spark_reports.day import DAY_MS, MIDNIGHT_MS
from tests.spark_reports.logs import counters, heartbeat, line, write

FRIDAY = date(2026, 11, 20)


def asked(tmp_path):
    options = ["--input", tmp_path / "in", "--output", tmp_path / "table", "--checkpoint", tmp_path / "state"]
    return list(map(str, options))


def streamed(tmp_path, *more):
    assert main(["stream", *asked(tmp_path), "--once", *more]) == 0


def identity_of(checkpoint):
    """The id that Spark gave to the stream of a checkpoint."""
    return json.loads((checkpoint / "metadata").read_text())["id"]


def lines_of(spark, tmp_path):
    table = spark.read.parquet(str(tmp_path / "table"))
    return sorted(
        (row["event_date"].isoformat(), row["seq"] or 0, row["problem"] or "") for row in table.collect()
    )


def test_each_file_is_written_once_by_runs_that_follow_each_other(spark, tmp_path):
    """Open files wait. Unusable lines are kept with their problem. The first stream was killed after it
    wrote a batch, but before it noted that: Spark runs the batch again."""
    write(tmp_path / "in" / "a.jsonl", counters(0), heartbeat(1), raw="garbage\n")
    write(tmp_path / "in" / "b.jsonl.open", heartbeat(2))
    streamed(tmp_path)
    first = [("1970-01-01", 0, "not_json"), ("2026-11-20", 0, ""), ("2026-11-20", 1, "")]
    assert lines_of(spark, tmp_path) == first  # the file's name has no day
    for noted in (tmp_path / "state" / "commits").iterdir():
        noted.unlink()
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


def test_a_stream_whose_checkpoint_was_lost_replaces_nothing(spark, tmp_path):
    """The first file was deleted by then, as retention does it."""
    first = write(tmp_path / "in" / "a.jsonl", counters(0), heartbeat(1), raw="garbage\n")
    streamed(tmp_path)
    before = lines_of(spark, tmp_path)
    first.unlink()
    shutil.rmtree(tmp_path / "state")
    write(tmp_path / "in" / "b.jsonl", heartbeat(2), heartbeat(3))
    streamed(tmp_path)
    assert lines_of(spark, tmp_path) == [*before, ("2026-11-20", 2, ""), ("2026-11-20", 3, "")]


def test_two_streams_into_one_table_replace_nothing_of_each_other(spark, tmp_path):
    for name in ("one", "two"):
        write(tmp_path / name / "a.jsonl", heartbeat(0, proxy=name), heartbeat(1, proxy=name))
        streamed(tmp_path, "--input", str(tmp_path / name), "--checkpoint", str(tmp_path / f"state-{name}"))
    assert [seq for _, seq, _ in lines_of(spark, tmp_path)] == [0, 0, 1, 1]


def test_a_checkpoint_from_before_the_last_batches_stops_with_a_sentence(spark, tmp_path, capsys):
    """It was restored from a backup. The stream would number other lines as batches that are written."""
    write(tmp_path / "in" / "a.jsonl", heartbeat(0))
    streamed(tmp_path)
    shutil.copytree(tmp_path / "state", tmp_path / "backup")
    write(tmp_path / "in" / "b.jsonl", heartbeat(1))
    streamed(tmp_path)
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "backup").rename(tmp_path / "state")
    before = lines_of(spark, tmp_path)
    write(tmp_path / "in" / "c.jsonl", heartbeat(2))
    assert main(["stream", *asked(tmp_path), "--once"]) == 2
    stderr = capsys.readouterr().err
    assert "holds batch 1 of this stream, but the checkpoint" in stderr
    assert "ends with batch 0" in stderr
    assert stderr.count("\n") == 1
    assert lines_of(spark, tmp_path) == before


def test_a_checkpoint_of_a_table_that_is_gone_stops_with_a_sentence(spark, tmp_path, capsys):
    """The lines of up to then would be in no table, and nobody would know."""
    write(tmp_path / "in" / "a.jsonl", heartbeat(0))
    streamed(tmp_path)
    (tmp_path / "table").rename(tmp_path / "elsewhere")
    write(tmp_path / "in" / "b.jsonl", heartbeat(1))
    assert main(["stream", *asked(tmp_path), "--once"]) == 2
    assert "table does not exist, but the checkpoint" in capsys.readouterr().err
    streamed(tmp_path, "--checkpoint", str(tmp_path / "another"))
    assert main(["stream", *asked(tmp_path), "--once"]) == 2
    assert "table has no batch of this stream, but the checkpoint" in capsys.readouterr().err
    assert [seq for _, seq, _ in lines_of(spark, tmp_path)] == [0, 1]
    assert not (tmp_path / "state" / "offsets" / "1").exists()


def test_a_table_that_is_older_than_its_checkpoint_stops_with_a_sentence(spark, tmp_path, capsys):
    """It was restored from a backup. The lines since then would be in no table, and nobody would know."""
    table = tmp_path / "table"
    write(tmp_path / "in" / "a.jsonl", heartbeat(0))
    streamed(tmp_path)
    shutil.copytree(table, tmp_path / "backup")
    write(tmp_path / "in" / "b.jsonl", heartbeat(1), heartbeat(2, MIDNIGHT_MS + DAY_MS))
    streamed(tmp_path)
    shutil.rmtree(table)
    (tmp_path / "backup").rename(table)
    write(tmp_path / "in" / "c.jsonl", heartbeat(3))
    assert main(["stream", *asked(tmp_path), "--once"]) == 2
    stderr = capsys.readouterr().err
    assert "holds no batch of this stream after batch 0, but the checkpoint" in stderr
    assert "knows of batch 1: the table is an old copy" in stderr
    assert stderr.count("\n") == 1
    assert lines_of(spark, tmp_path) == [("2026-11-20", 0, "")]


def test_a_stream_goes_on_after_batches_without_lines_and_after_days_were_deleted(spark, tmp_path):
    """A late file may bring lines of old days alone, and these days go by retention."""
    write(tmp_path / "in" / "a.jsonl", heartbeat(0, MIDNIGHT_MS + DAY_MS))
    streamed(tmp_path)
    write(tmp_path / "in" / "b.jsonl")
    streamed(tmp_path)
    write(tmp_path / "in" / "c.jsonl", heartbeat(1))
    streamed(tmp_path)
    shutil.rmtree(tmp_path / "table" / "event_date=2026-11-20")
    write(tmp_path / "in" / "d.jsonl", heartbeat(2, MIDNIGHT_MS + DAY_MS))
    streamed(tmp_path)
    assert [seq for _, seq, _ in lines_of(spark, tmp_path)] == [0, 2]
    assert len(list((tmp_path / "state" / "written").glob("[0-9]*"))) == 1


def test_a_file_that_comes_late_is_read_however_old_it_is(spark, tmp_path):
    """A proxy's disk was away for ten days, and the copy keeps its file's time. Spark would ignore it."""
    write(tmp_path / "in" / "a.jsonl", heartbeat(0))
    streamed(tmp_path)
    late = write(tmp_path / "in" / "b.jsonl", heartbeat(1))
    long_ago_s = late.stat().st_mtime - 10 * DAY_MS / 1000
    os.utime(late, (long_ago_s, long_ago_s))
    streamed(tmp_path)
    assert [seq for _, seq, _ in lines_of(spark, tmp_path)] == [0, 1]


def test_a_line_that_cannot_be_read_is_of_its_files_day_in_the_report_too(spark, tmp_path):
    """No other line says that this proxy exists: the report would call the log complete."""
    sound = [line(0, kind="start"), heartbeat(1, interval_ms=DAY_MS)]
    sound.append(line(2, kind="stop", at_ms=MIDNIGHT_MS + DAY_MS - 1))
    write(tmp_path / "in" / "decisions-20261120T000000Z-a.jsonl", *sound)
    write(tmp_path / "in" / "decisions-20261120T000000Z-b.jsonl", raw="garbage\n")
    streamed(tmp_path)
    assert ("2026-11-20", 0, "not_json") in lines_of(spark, tmp_path)
    made = collect(spark, Source([str(tmp_path / "table")], FRIDAY, FRIDAY, Form.PARQUET))
    log = assemble(made, FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS)["log"]
    assert (log["state"], log["lines_unusable"]) == ("incomplete", 1)


def test_a_line_of_the_topic_that_cannot_be_read_is_of_the_day_of_its_record(spark):
    ddl = "value BINARY, topic STRING, partition INT, timestamp TIMESTAMP"
    times = [datetime(2026, 11, 20, 23, 59, tzinfo=UTC), datetime(1969, 12, 31, tzinfo=UTC)]
    records = spark.createDataFrame([(b"garbage", "decisions", 3, each) for each in times], ddl)
    found = [(row["file"], row["otherwise_on"]) for row in stream.of_records(records).collect()]
    assert found == [("decisions-3", "2026-11-20"), ("decisions-3", stream.TIMELESS)]


def test_a_file_that_a_stream_skips_is_a_line_of_the_table(spark, tmp_path, capsys):
    """It is in the second batch of the second run. The other files are sound, or were read before."""
    write(tmp_path / "in" / "decisions-20261120T000000Z-a.jsonl.gz", heartbeat(0))
    streamed(tmp_path, "--skip-damaged-files")
    write(tmp_path / "in" / "decisions-20261120T000000Z-b.jsonl.gz", heartbeat(1))
    damaged = write(tmp_path / "in" / "decisions-20261121T000000Z-a+é [1].jsonl.gz", heartbeat(2))
    damaged.write_bytes(damaged.read_bytes()[:20])
    os.utime(damaged, (damaged.stat().st_mtime + 60, damaged.stat().st_mtime + 60))
    assert main(["stream", *asked(tmp_path), "--once", "--max-files", "1"]) == 1
    assert "--skip-damaged-files" in capsys.readouterr().err
    for _ in range(2):
        streamed(tmp_path, "--skip-damaged-files", "--max-files", "1")
        assert lines_of(spark, tmp_path) == [
            *(("2026-11-20", seq, "") for seq in (0, 1)),
            ("2026-11-21", 0, "not_json"),
        ]


def test_a_table_whose_batches_do_not_name_their_stream_keeps_them(spark, tmp_path):
    """Version 0.1.0 wrote such tables."""
    write(tmp_path / "in" / "a.jsonl", heartbeat(0))
    streamed(tmp_path)
    [batch] = (tmp_path / "table" / "event_date=2026-11-20").iterdir()
    batch.rename(batch.with_name("batch_id=0"))
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "in" / "a.jsonl").unlink()
    write(tmp_path / "in" / "b.jsonl", heartbeat(1))
    streamed(tmp_path)
    assert [seq for _, seq, _ in lines_of(spark, tmp_path)] == [0, 1]


def test_a_stream_does_not_write_into_a_table_of_compact(spark, tmp_path, capsys):
    """No reader could read a table with both kinds of partitions."""
    write(tmp_path / "in" / "decisions-20261120T000000Z-a.jsonl", heartbeat(0))
    made = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "table"), "--date", "2026-11-20"]
    assert main(["compact", *made]) == 0
    capsys.readouterr()
    assert main(["stream", *asked(tmp_path), "--once"]) == 2
    assert "was written by `compact`" in capsys.readouterr().err


def test_a_micro_batch_has_at_most_so_many_files(spark, tmp_path):
    """Otherwise the first one would be all that exists, however much that is. A line of a day that never was
    is kept with those of no day: otherwise the column of days would be a text for every reader."""
    (tmp_path / "table").mkdir()  # it may be there before its first batch
    for number in range(4):
        write(tmp_path / "in" / f"{number}.jsonl", heartbeat(number))
    days = ("2026-02-30", "9999-99-99", "0000-00-00")
    lines = [heartbeat(4 + seq, interval_start=f"{day}T00:00:00.000Z") for seq, day in enumerate(days)]
    write(tmp_path / "in" / "4.jsonl", *lines)
    streamed(tmp_path, "--max-files", "2")
    batches = [path.name for path in (tmp_path / "table").glob("event_date=*/*")]
    own = f"batch_id={identity_of(tmp_path / 'state')}"
    assert sorted(set(batches)) == [f"{own}-{number}" for number in range(3)]
    assert lines_of(spark, tmp_path) == [
        *(("1970-01-01", seq, "bad_instant") for seq in (4, 5, 6)),
        *(("2026-11-20", seq, "") for seq in range(4)),
    ]


def test_the_time_between_micro_batches_is_that_of_the_trigger(spark, tmp_path):
    write(tmp_path / "in" / "a.jsonl", heartbeat(0))
    lines = stream.from_files(spark, str(tmp_path / "in"), 10)
    query = stream.write(lines, Table(str(tmp_path / "table")), str(tmp_path / "state"), every_s=3_600)
    try:
        while "Waiting for next trigger" not in query.status["message"]:  # it has written the first one
            assert not query.awaitTermination(0.1)  # raises the query's error, if it has ended by one
        write(tmp_path / "in" / "b.jsonl", heartbeat(1))
        status = query.status
    finally:
        query.stop()
    assert not status["isTriggerActive"]  # the next one is an hour away
    assert len(lines_of(spark, tmp_path)) == 1


def test_compact_makes_a_table_of_a_stream_and_finds_what_came_late(spark, tmp_path, capsys):
    """Friday's lines come in three micro-batches, one of them after Friday was compacted. A line comes twice,
    and a line without a time belongs to the day of its file. Reports read the stream's table as well."""
    saturday = MIDNIGHT_MS + DAY_MS
    name = "decisions-202611{}T000000Z-{}.jsonl".format
    asked = ["compact", "--input", str(tmp_path / "table"), "--input-format", "parquet", "--json"]
    asked += ["--output", str(tmp_path / "lines"), "--date"]
    write(tmp_path / "in" / name(20, "a"), counters(0), heartbeat(1), raw="garbage\n")
    write(tmp_path / "in" / name(20, "b"), counters(2), counters(0))
    streamed(tmp_path, "--max-files", "1")
    made = collect(spark, Source([str(tmp_path / "table")], FRIDAY, FRIDAY, Form.PARQUET))
    report = assemble(made, FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS)
    assert (report["totals"]["records_accepted"], report["log"]["duplicate_lines"]) == (20, 1)
    assert main([*asked, "2026-11-20"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["lines"], found["duplicate_lines"], found["quarantined_lines"]) == (3, 1, {"not_json": 1})
    write(tmp_path / "in" / name(21, "c"), counters(3), heartbeat(4, saturday), raw="more garbage\n")
    streamed(tmp_path)
    assert main([*asked, "2026-11-21"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["lines"], found["quarantined_lines"]) == (1, {"not_json": 1})
    assert found["restated_days"] == ["2026-11-20"]
    stored = spark.read.parquet(str(tmp_path / "lines")).collect()
    assert sorted((str(row["event_date"]), row["seq"] or -1, row["copies"]) for row in stored) == [
        *(("2026-11-20", seq, copies) for seq, copies in ((-1, 1), (-1, 2), (1, 1), (2, 1), (3, 1))),
        *(("2026-11-21", seq, 1) for seq in (-1, 4)),
    ]
    assert len(list((tmp_path / "lines" / "event_date=2026-11-20").glob("*.parquet"))) == 1


def test_a_line_of_1970_is_not_moved_to_the_day_of_its_file(spark, tmp_path):
    """A clock stood at 1970 for a moment. An unusable line without a time has the same day in a table of an
    earlier release."""
    usable, unusable = counters(1, start_ms=0), heartbeat(2, interval_start="1970-01-01", v=7)
    write(tmp_path / "in" / "decisions-20261120T000000Z-a.jsonl", counters(0), usable, unusable)
    streamed(tmp_path)
    table = Table(str(tmp_path / "lines"))
    done = compact(spark, [str(tmp_path / "table")], FRIDAY, FRIDAY, table, form=Form.PARQUET)
    assert (done.lines, done.quarantined_lines) == (1, {"unknown_version": 1})


def test_compact_does_not_write_into_the_table_of_a_stream(spark, tmp_path, capsys):
    table = str(tmp_path / "table")
    assert main(["compact", "--input", table, "--input-format", "parquet", "--output", f"{table}/"]) == 2
    assert "write to another table" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--kafka", "k:9092", "--max-files", "5"], "--max-files is for --input"),
        (["--input", "in", "--max-offsets", "5"], "--max-offsets is for --kafka"),
    ],
)
def test_a_limit_of_another_source_is_exit_code_2(more, says, capsys):
    assert main(["stream", *more, "--output", "table", "--checkpoint", "state"]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("trigger", ["0s", "1d", "-5m", "often", "10"])
def test_a_trigger_that_is_no_interval_is_exit_code_2(trigger, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["stream", "--input", "in", "--output", "t", "--checkpoint", "s", f"--trigger={trigger}"])
    assert ended.value.code == 2
    assert "is not an interval such as 30s" in capsys.readouterr().err
