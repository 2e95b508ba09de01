"""A small day: few tasks, however widely the session spreads its queries, and the report of a large one."""

import json
from datetime import date

import pytest

from spark_reports.cli import main
from spark_reports.log import frames, size
from spark_reports.report import sums
from spark_reports.spark.session import settings
from tests.spark_reports.day import a_day
from tests.spark_reports.logs import write

FRIDAY = date(2026, 11, 20)
MAX_TASKS = 60
SUBMITTED = 200
"""Spark's own default, which a session of spark-submit has."""


@pytest.fixture(scope="module")
def decisions(tmp_path_factory):
    """Two proxies, two hours, in two files; some lines are delivered twice."""
    folder = tmp_path_factory.mktemp("decisions")
    day = a_day(("px-1", "px-2"), hours=range(10, 12), minutes=range(0, 60, 30))
    half = len(day.lines) // 2
    write(folder / "decisions-20261120T090000Z-px-1-b-0001.jsonl.gz", *day.lines[:half])
    write(folder / "decisions-20261120T110000Z-px-2-b-0001.jsonl", *day.lines[half - 50 :])
    return folder


@pytest.fixture
def daily(spark, decisions, tmp_path):
    """Makes the report in a session that spreads queries over so many tasks: (report.json, all tasks)."""
    scheduler = spark.sparkContext._jsc.sc().taskScheduler()

    def make(shuffle_partitions=1, *more):
        options = ["--input", str(decisions), "--output", str(tmp_path), "--date", "2026-11-20"]
        wanted = {
            "spark.sql.shuffle.partitions": str(shuffle_partitions),
            "spark.sql.adaptive.enabled": str(shuffle_partitions == SUBMITTED).lower(),
        }
        before = scheduler.nextTaskId()
        with settings(spark, wanted):
            assert main(["daily", *options, "--format", "json", "--quiet", *more]) == 0
        report = json.loads((tmp_path / "report.json").read_text())
        return report | {"generated_ts": ""}, scheduler.nextTaskId() - before

    return make


def test_a_small_day_is_few_tasks_and_gives_the_report_and_stores_the_rollup_that_spark_alone_would_make(
    spark, daily, tmp_path, monkeypatch
):
    small, large = (str(tmp_path / name) for name in ("small", "large"))
    report, tasks = daily(SUBMITTED, "--rollup", small)
    assert tasks <= MAX_TASKS
    monkeypatch.setattr(size, "is_small", lambda *_: False)
    monkeypatch.setattr(sums, "_FEW", 0)
    of_spark, many = daily(1, "--rollup", large)
    assert of_spark == report
    assert many >= tasks
    for name in ("producers", "drift"):
        ours, theirs = (frames.rows(spark.read.parquet(f"{folder}/{name}")) for folder in (small, large))
        assert ours
        assert sorted(ours, key=repr) == sorted(theirs, key=repr)


def test_a_log_of_many_bytes_or_many_files_is_not_small(spark, tmp_path, monkeypatch):
    """A compressed file counts by the lines that it holds, a table more so."""
    lines = [{"seq": n} for n in range(20)]
    write(tmp_path / "plain" / "a.jsonl", *lines)
    write(tmp_path / "packed" / "a.jsonl.gz", *lines)
    spark.range(20).coalesce(1).write.parquet(str(tmp_path / "table"))
    plain, packed = (spark.read.schema("seq BIGINT").json(str(tmp_path / n)) for n in ("plain", "packed"))
    table = spark.read.schema("id BIGINT").parquet(str(tmp_path / "table"))
    files = ((plain, size.Form.JSON), (packed, size.Form.JSON), (table, size.Form.PARQUET))
    assert [is_small(*each) for each in files] == [True, True, True]
    monkeypatch.setattr(size, "_SMALL_BYTES", 600)
    assert [is_small(*each) for each in files] == [True, False, False]
    monkeypatch.setattr(size, "_FEW_FILES", 0)
    assert not is_small(*files[0])


def is_small(lines, form):
    return size.is_small(lines, form, size.file_bytes(lines, form))


@pytest.mark.parametrize(("mib", "tasks"), [(None, "200"), (0, "1"), (72, "9"), (1 << 20, "200")])
def test_a_large_log_is_spread_by_its_bytes_and_never_wider_than_the_session(spark, mib, tasks):
    name = "spark.sql.shuffle.partitions"
    with settings(spark, {name: "200"}):
        with size.spread(spark, None if mib is None else mib << 20):
            assert spark.conf.get(name) == tasks
        assert spark.conf.get(name) == "200"
