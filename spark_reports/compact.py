"""The decision log as a table, one partition a day: what later reports read instead of JSON.

One pass reads the lines, marks those that cannot be used and writes them all: `problem` says what is wrong
with a line and `file` where it came from, so the quarantine is part of the table and nothing is lost.
Lines of unknown time go to the day their file was opened on. A run replaces the partitions of its own days
and no others, so it may be repeated; lines that came late for the day before are seen and that day is
written again.

Duplicates are looked for in what was written, by three columns of it; only where a boot holds a line
twice is its day written once more, with each line once. A reader that comes in between sees duplicates,
and `read` removes them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports import read, sequence
from spark_reports.schema import TABLE_COLUMNS, WHOLE_DDL
from spark_reports.session import settings
from spark_reports.store import Form, Table

_LINES_UNTOUCHED: Final[Mapping[str, str]] = MappingProxyType({"spark.sql.codegen.wholeStage": "false"})
"""Steps that Spark compiles into one hand a line on column by column, and whatever cannot be compiled so has
them put it together again: counting late lines, choosing days and sorting were two copies of 82 columns. By
themselves they hand it on as it is."""
_ONE_DAY: Final[Mapping[str, str]] = MappingProxyType({"spark.sql.maxConcurrentOutputFileWriters": "2"})
"""Where a task may keep two partitions' files open, Spark does not sort by partition. A day has one: at the
second, what is left would be sorted after all."""

_NAME_BITS: Final = 28
"""Of 64 for event, topic and client; two names that share theirs are mixed, and nothing else."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What the table holds of the days after a run."""

    lines: int
    duplicate_lines: int
    quarantined_lines: dict[str, int]
    """By problem."""
    restated_days: list[str]
    """Days before the period that were written again, because lines for them came late."""

    @property
    def corrupt_rate(self) -> float:
        """Lines set apart, of all lines."""
        apart = sum(self.quarantined_lines.values())
        return apart / (self.lines + apart) if apart else 0.0


def compact(spark: SparkSession, inputs: Sequence[str], first: date, last: date, table: Table) -> Compacted:
    """Write the days' lines to `table`; what it then holds of them.

    Raises pyspark's AnalysisException where an input is not there.
    """
    day_before = first - timedelta(days=1)
    lines_before = _write(spark, inputs, first, last, table)
    is_restated = _holds_fewer(spark, table, day_before, lines_before)
    if is_restated:
        _write(spark, inputs, day_before, day_before, table)
    return _held(_days_of(spark, table, first, last), [day_before.isoformat()] if is_restated else [])


def _write(spark: SparkSession, inputs: Sequence[str], first: date, last: date, table: Table) -> int:
    """How many lines of the day before were met on the way."""
    dated, met = _dated(spark, inputs, first, last), Observation()
    before = (first - timedelta(days=1)).isoformat()
    seen = dated.observe(met, F.count(F.when(F.col("event_date") == before, 1)).alias("lines_before"))
    _overwrite(_within(seen, first, last), first == last, table)
    written = read.identified(_days_of(spark, table, first, last))
    twice = sequence.repeated(sequence.words(written, sequence.side(first, last))).collect()
    if twice:
        # As a literal: a query that still read the table could not replace it.
        found = json.dumps([row.asDict() for row in twice])
        boots = F.from_json(F.lit(found), "array<struct<proxy:string,boot:string>>")
        dirty = spark.range(1).select(F.inline(boots))
        _overwrite(read.deduplicated(_within(dated, first, last), dirty), first == last, table)
    return int(met.get["lines_before"])


def _dated(spark: SparkSession, inputs: Sequence[str], first: date, last: date) -> DataFrame:
    """Every line that was read, with the columns of the table. In one step: each copies every line."""
    raw, file = read.json_lines(spark, inputs, WHOLE_DDL, first, last), read.file_name()
    marks = read.marks()
    made = marks | {"file": file, "event_date": _day(marks["day"], marks["problem"], file, first, last)}
    return raw.select(*[made[name].alias(name) if name in made else name for name in TABLE_COLUMNS])


def _day(says: Column, problem: Column, file: Column, first: date, last: date) -> Column:
    """The day that a line `says`; never null, as Spark sorts once more by a partition that might be.

    An unusable one that names no day near these has the day its file was opened: a quarantine loses nothing.
    """
    opened_on = F.coalesce(F.nullif(_opened_on(file), F.lit("")), F.lit(first.isoformat()))
    near = [(first + timedelta(days=n)).isoformat() for n in range(-1, (last - first).days + 2)]
    # What is wrong with a line is asked once more only of those that say another day.
    is_placed = F.coalesce(says.isin(near), F.lit(False)) | problem.isNull()
    return F.coalesce(F.when(is_placed, says).otherwise(opened_on), F.lit(""))


def _opened_on(file: Column) -> Column:
    """The day in the name of a line's file, `2026-11-20`; empty where there is none."""
    return F.regexp_replace(F.regexp_extract(file, r"decisions-(\d{8})", 1), r"(....)(..)(..)", "$1-$2-$3")


def _within(dated: DataFrame, first: date, last: date) -> DataFrame:
    return dated.where(F.col("event_date").between(first.isoformat(), last.isoformat()))


def _overwrite(dated: DataFrame, is_one_day: bool, table: Table) -> None:
    rows = dated.select(*TABLE_COLUMNS)
    if is_one_day and table.form is Form.PARQUET:
        wanted, by = {**_LINES_UNTOUCHED, **_ONE_DAY}, [_order()]
    else:
        wanted, by = {**_LINES_UNTOUCHED}, [F.col("event_date"), _order()]
    with settings(rows.sparkSession, wanted):
        table.replace(rows.sortWithinPartitions(*by), ["event_date"])


def _order() -> Column:
    """A number by which the lines of an event come together, of these those of a topic, and then of a client.

    Equal names side by side compress, and reports ask for one event. Spark sorts by one number without a
    look at the lines; by names it compares them, twenty times each, wherever in memory they lie.
    """
    event, topic, client_id = [F.xxhash64(name) for name in ("event", "topic", "client_id")]
    low = F.lit((1 << _NAME_BITS) - 1)
    named = F.shiftleft(topic.bitwiseAND(low), _NAME_BITS).bitwiseOR(client_id.bitwiseAND(low))
    return F.shiftleft(event, 2 * _NAME_BITS).bitwiseOR(named)


def _days_of(spark: SparkSession, table: Table, first: date, last: date) -> DataFrame:
    stored = table.rows(spark).withColumnRenamed("event_date", "day")
    return read.of_period(stored, first, last)


def _holds_fewer(spark: SparkSession, table: Table, day: date, met: int) -> bool:
    """True where the table has the day, but fewer of its lines than were met in the files of it and later."""
    opened_on = _opened_on(F.col("file"))
    stored = _days_of(spark, table, day, day)
    counts = stored.agg(
        F.count("*").alias("all"),
        F.sum(F.when((opened_on == "") | (opened_on >= day.isoformat()), F.col("copies"))).alias("met"),
    ).collect()[0]
    return bool(counts["all"]) and met > (counts["met"] or 0)


def _held(stored: DataFrame, restated: list[str]) -> Compacted:
    counts = stored.groupBy("problem").agg(
        F.count("*").alias("lines"), F.sum(F.col("copies") - 1).alias("duplicates")
    )
    rows = counts.collect()
    return Compacted(
        lines=sum(row["lines"] for row in rows if row["problem"] is None),
        duplicate_lines=sum(row["duplicates"] for row in rows),
        quarantined_lines={row["problem"]: row["lines"] for row in rows if row["problem"] is not None},
        restated_days=restated,
    )
