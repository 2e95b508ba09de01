"""The table holds the same lines as the JSON files, even if it is written again."""

from datetime import date, timedelta

import pytest
import zstandard

from spark_reports.errors import LinesWouldVanishError
from spark_reports.log.compact import compact
from spark_reports.log.read import Source
from spark_reports.log.schema import COLUMNS
from spark_reports.log.store import Table
from spark_reports.report.assemble import assemble
from tests.spark_reports.collected import collect, rows
from tests.spark_reports.damage import a_random_day
from tests.spark_reports.day import DAY_MS, FRIDAY, MIDNIGHT_MS, SATURDAY
from tests.spark_reports.logs import counters, heartbeat, text_of, write

ONE_DAY = timedelta(days=1)


def rows_of(spark, table):
    return sorted(map(str, spark.read.parquet(str(table)).collect()))


def made_from(spark, source):
    found = assemble(collect(spark, source), source.first, source.last, MIDNIGHT_MS + 9 * DAY_MS)
    # A line that two files hold counts for one of them, whichever was read first.
    found["log"] |= {"files": 0, "open_files": 0, "quarantined_examples": []}
    return found


@pytest.fixture
def decisions(tmp_path):
    """Three lines of Friday, one of them twice, one line of garbage, and one of Saturday."""
    lines = [counters(0), counters(1), heartbeat(2)]
    write(tmp_path / "in" / "decisions-20261120T000000Z-a.jsonl", *lines, lines[1], raw="garbage\n")
    write(tmp_path / "in" / "decisions-20261121T000000Z-a.jsonl", heartbeat(3, MIDNIGHT_MS + DAY_MS))
    return tmp_path / "in"


def lines_from(spark, source):
    """Each line once, with all its columns but the file. A report is made of nothing else."""
    names = (*COLUMNS, "raw", "copies", "problem")
    return sorted(str({name: row[name] for name in names}) for row in rows(spark, source))


def test_the_table_holds_each_line_of_the_files_once_and_writing_it_again_changes_nothing(
    spark, decisions, tmp_path
):
    """Garbage keeps its source. No other day is touched."""
    table, friday = tmp_path / "table", Source([str(decisions)], FRIDAY, FRIDAY)
    done = compact(spark, friday, Table(str(table)))
    assert (done.lines, done.duplicate_lines, done.quarantined_lines) == (3, 1, {"not_json": 1})
    assert [path.name for path in table.iterdir() if path.is_dir()] == ["event_date=2026-11-20"]
    [apart] = spark.read.parquet(str(table)).where("problem is not null").collect()
    assert (apart["raw"], apart["file"]) == ("garbage", "decisions-20261120T000000Z-a.jsonl")
    compact(spark, Source([str(decisions)], SATURDAY, SATURDAY), Table(str(table)))
    from_lines = lines_from(spark, friday)
    assert lines_from(spark, Source([str(table)], FRIDAY, FRIDAY, is_table=True)) == from_lines
    assert sum("'copies': 2" in line for line in from_lines) == 1
    assert sum("'problem': 'not_json'" in line for line in from_lines) == 1
    before = rows_of(spark, table)
    compact(spark, friday, Table(str(table)))
    assert rows_of(spark, table) == before


@pytest.mark.full_only("thousands of lines; the test above has a few")
@pytest.mark.parametrize("seed", range(1, 6))
def test_a_report_from_the_table_is_the_report_from_the_lines_on_a_random_day_of_damage(
    spark, tmp_path, seed
):
    day = date.fromisoformat(a_random_day(seed, tmp_path, number=1).date)
    table = str(tmp_path / "table")
    compact(spark, Source([str(tmp_path)], day - ONE_DAY, day + ONE_DAY), Table(table))
    from_lines = made_from(spark, Source([str(tmp_path)], day, day))
    assert made_from(spark, Source([table], day, day, is_table=True)) == from_lines


def test_each_line_names_its_file_whatever_that_is_called_and_whichever_input_it_is_of(spark, tmp_path):
    """An unusable line of no such day is kept with its file's day. Zstandard is read."""
    names = [f"decisions-20261120T000000Z-{name}.jsonl" for name in ("a b+c", "100%2B", "é%")]
    inputs = [write(tmp_path / str(seq) / name, counters(seq)) for seq, name in enumerate(names)]
    names.append("decisions-20261120T000000Z-packed.jsonl.zst")
    (tmp_path / "0" / names[3]).write_bytes(zstandard.compress(text_of([counters(3)]).encode()))
    for ts in ("2026-02-30T00:00:00.000Z", "2019-01-01T00:00:00.000Z", "soon", None):
        seq, name = len(names), f"decisions-20261120T000000Z-{len(names)}.jsonl"
        write(tmp_path / "1" / name, heartbeat(seq, v=7) | {"interval_start": ts})
        names.append(name)
    table = tmp_path / "table"
    source = Source([str(path.parent) for path in inputs], FRIDAY, FRIDAY)
    done = compact(spark, source, Table(str(table)))
    assert (done.lines, done.quarantined_lines) == (4, {"unknown_version": 4})
    stored = spark.read.parquet(str(table)).collect()
    assert {row["seq"]: row["file"] for row in stored} == dict(enumerate(names))


def test_many_small_files_become_few_files_a_day(spark, tmp_path):
    """Without this, there is a file for each 32 files. Both days have lines in the same files."""
    lines = [counters(0), counters(1, MIDNIGHT_MS + DAY_MS)]
    for proxy in range(100):
        name = f"decisions-20261120T000000Z-px-{proxy}.jsonl"
        write(tmp_path / "in" / name, *[line | {"boot": f"b{proxy}"} for line in lines])
    table = tmp_path / "table"
    cores = spark.sparkContext.defaultParallelism
    assert spark.read.text(str(tmp_path / "in")).rdd.getNumPartitions() > cores
    done = compact(spark, Source([str(tmp_path / "in")], FRIDAY, SATURDAY), Table(str(table)))
    assert done.lines == 200
    files = [len(list(day.glob("*.parquet"))) for day in table.glob("event_date=*")]
    assert len(files) == 2
    assert max(files) <= cores
    assert spark.conf.get("spark.sql.maxConcurrentOutputFileWriters") == "0"


def test_a_line_in_versions_of_two_days_is_in_the_table_on_each_of_them(spark, tmp_path):
    """A container was restored three days later and went on with its old numbers. A run over all these days
    writes what the run of each day writes."""
    later = MIDNIGHT_MS + 3 * DAY_MS
    for name, at_ms in (("20261120", MIDNIGHT_MS), ("20261123", later)):
        own = [counters(0, at_ms), counters(0, at_ms, proxy=f"p{name}")]
        write(tmp_path / "in" / f"decisions-{name}T000000Z-px.jsonl", *own)
    for days in ((FRIDAY, FRIDAY + 3 * ONE_DAY), (FRIDAY, FRIDAY), (FRIDAY + 3 * ONE_DAY,) * 2):
        table = tmp_path / ("whole" if days[0] != days[1] else "by-day")
        compact(spark, Source([str(tmp_path / "in")], *days), Table(str(table)))
    assert rows_of(spark, tmp_path / "whole") == rows_of(spark, tmp_path / "by-day")


def test_a_day_is_not_written_again_without_lines_that_the_table_holds(spark, decisions, tmp_path):
    """A proxy has deleted its old files. The rest of them, or late lines, must not replace the whole day."""
    table, asked = tmp_path / "table", Source([str(decisions)], FRIDAY, SATURDAY)
    write(decisions / "decisions-20261120T000000Z-b.jsonl", *[counters(seq, boot="b2") for seq in range(70)])
    compact(spark, asked, Table(str(table)))
    before = rows_of(spark, table)
    (decisions / "decisions-20261120T000000Z-b.jsonl").unlink()
    more = [counters(seq, boot="b3") for seq in range(200)]
    write(decisions / "decisions-20261120T100000Z-c.jsonl", counters(68, boot="b2"), *more)
    with pytest.raises(LinesWouldVanishError) as refused:
        compact(spark, asked, Table(str(table)))
    assert str(refused.value) == (
        "the table holds 69 lines of 2026-11-20 that the input lacks; nothing was "
        "written. Add the files that hold them to --input, or give --replace to write the table without "
        "these lines"
    )
    assert rows_of(spark, table) == before
    assert compact(spark, asked, Table(str(table)), may_lose_lines=True).lines == 205
    for path in decisions.glob("decisions-20261120*"):
        path.unlink()
    assert compact(spark, asked, Table(str(table)), may_lose_lines=True).lines == 1
    assert [path.name for path in table.glob("event*")] == ["event_date=2026-11-21"]


def test_unusable_lines_of_deleted_files_do_not_vanish_from_the_table(spark, tmp_path):
    """They are all that says that a proxy of a newer version exists. Without them, the log is complete."""
    write(tmp_path / "in" / "decisions-20261120T000000Z-a.jsonl", counters(0), counters(1))
    newer = write(tmp_path / "in" / "decisions-20261120T000000Z-b.jsonl", counters(0, proxy="qx", v=2))
    asked = Source([str(tmp_path / "in")], FRIDAY, FRIDAY), Table(str(tmp_path / "table"))
    compact(spark, *asked)
    before = rows_of(spark, tmp_path / "table")
    newer.unlink()
    write(tmp_path / "in" / "decisions-20261120T100000Z-c.jsonl", counters(5))
    with pytest.raises(LinesWouldVanishError, match="the table holds 1 line of 2026-11-20 that the input"):
        compact(spark, *asked)
    assert rows_of(spark, tmp_path / "table") == before
    write(newer, counters(0, proxy="qx"))  # the same line, in a version that is known
    done = compact(spark, *asked)
    assert (done.lines, done.duplicate_lines, done.quarantined_lines) == (4, 0, {})
    write(newer, counters(0, proxy="qx", v=2))
    with pytest.raises(LinesWouldVanishError):  # a usable line is not replaced by an unusable one
        compact(spark, *asked)
