"""The queries of decision-log.md and reports.md over a table of the log give the truth, in each engine."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from spark_reports.cli import main
from spark_reports.log.compact import compact
from spark_reports.log.read import Source
from spark_reports.log.store import Table
from tests.spark_reports.day import a_day
from tests.spark_reports.logs import write
from tests.spark_reports.test_compact import FRIDAY

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "decision-log.md"
BLOCKS = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
VIEW, SPARK_SQL, DUCKDB, HOURS = BLOCKS
GUIDE = PAGE.parents[1] / "guide" / "reports.md"
[QUESTION] = re.findall(r"(?:^    .*read_parquet.*\n)(?:^    .*\n)+", GUIDE.read_text(), re.M)


@pytest.fixture(scope="module")
def day(spark, tmp_path_factory):
    """(the folder with the table `lines`, the records by client and reason that were rejected, those of each
    topic and verdict). Some lines were delivered twice."""
    folder = tmp_path_factory.mktemp("day")
    made = a_day(("px-1",), hours=range(13, 15), minutes=(0, 30))
    name = "decisions-20261120T130000Z-px-1-b-0001.jsonl"
    write(folder / "in" / name, *made.lines, *made.lines[:50], raw="garbage\n")
    compact(spark, Source([str(folder / "in")], FRIDAY, FRIDAY), Table(str(folder / "lines")))
    made_of = ["--input", str(folder / "in"), "--date", "2026-11-20", "--quiet", "--format", "json"]
    made_of += ["--output", str(folder / "out"), "--rollup", str(folder / "rollup")]
    assert main(["daily", *made_of]) == 3  # garbage may hold totals
    truth = Counter()
    for line in made.lines:
        if line["event"] == "counters" and line["is_final"] and "rejected" in line["verdict"]:
            truth[line.get("client_id"), line.get("reason")] += line["records"]
    assert len(truth) > 3
    final = {(topic, verdict): n for (topic, verdict, is_final), n in made.records.items() if is_final}
    assert sum(final.values()) < sum(made.records.values())
    return folder, truth, final


def test_spark_sql(spark, day):
    folder, truth, _ = day
    spark.read.parquet(str(folder / "lines")).createOrReplaceTempView("lines")
    spark.sql(VIEW)
    assert {(row[0], row[1]): row[2] for row in spark.sql(SPARK_SQL).collect()} == truth
    types = dict(spark.table("decisions").dtypes)
    assert (types["interval_start_ts"], types["line_ts"]) == ("timestamp", "timestamp")
    hours = spark.sql("select distinct hour(interval_start_ts) from decisions where event = 'counters'")
    assert {row[0] for row in hours.collect()} == {13, 14}


def test_duckdb(day, monkeypatch):
    """The question of reports.md counts nothing that was sent again."""
    import duckdb  # other tests need not load it

    folder, truth, final = day
    counts = Counter()
    monkeypatch.chdir(folder)
    for topic, _, verdict, records in duckdb.sql(QUESTION).fetchall():
        counts[topic, verdict] += records
    assert counts == final
    assert {(row[0], row[1]): row[2] for row in duckdb.sql(DUCKDB).fetchall()} == truth
    rolled = Counter()
    for topic, _, verdict, _, _, records in duckdb.sql(HOURS).fetchall():
        rolled[topic, verdict] += records
    assert rolled == {key: n for key, n in final.items() if key[1] != "accepted"}


def test_hours_has_the_columns_that_its_schema_names(spark, day):
    folder, *_ = day
    schema = json.loads(PAGE.with_name("rollup.schema.json").read_text())["properties"]
    table = spark.read.parquet(str(folder / "rollup" / "hours"))
    names = {"string": "string", "integer": "bigint", "boolean": "boolean"}
    types = dict(table.dtypes) | {"event_date": "string"}
    assert types == {name: names[each["type"] if isinstance(each["type"], str) else each["type"][0]]
                     for name, each in schema.items()}  # fmt: skip
