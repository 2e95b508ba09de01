"""The decision log as a table, one partition for each day. Later reports read it instead of JSON.

A run writes all lines of its days as they are read: `problem` says what is wrong with a line, and `file`
where it came from. So unusable lines are part of the table, and nothing is lost. Lines of unknown time belong
to the day on which their file was opened. A run replaces the partitions of its own days and no others, so it
may be repeated, also after it was killed. It does not replace a partition by one that lacks lines of it:
files of the day may have been deleted since, and no later report could know.

Duplicates are looked for in the written table, by three of its columns. If a boot has a repeated line, the
days are written again, with each line once. A reader in between sees duplicates, and `read` removes them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.errors import LinesWouldVanishError
from spark_reports.log import frames, read, second_read, sequence
from spark_reports.log.period import days_between
from spark_reports.log.read import Source
from spark_reports.log.schema import IDENTITY, TABLE_COLUMNS, WHOLE_DDL
from spark_reports.log.store import Table
from spark_reports.spark.session import settings
from tsproxy.model.words import many

_PLAINLY: Final[Mapping[str, str]] = MappingProxyType(
    {"spark.sql.files.openCostInBytes": str(64 << 10), "spark.sql.maxConcurrentOutputFileWriters": "2"}
)
"""A task reads 128 MiB even of small files, and writes a file for each day: by default a small file counts
for 4 MiB, and 1,000 proxies would become a million files a year. Spark sorts the lines by day only if a task
has those of more than two days."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """The content of the table for the days, after a run."""

    lines: int
    duplicate_lines: int
    quarantined_lines: dict[str, int]
    """Lines by problem."""
    lines_before: int
    """Lines of the day before the period in the input, as often as they were delivered."""


def compact(spark: SparkSession, source: Source, table: Table, *, may_lose_lines: bool = False) -> Compacted:
    """Write the days of `source` to `table`, and return what it then holds for them.

    Raises pyspark's AnalysisException if an input does not exist, and LinesWouldVanishError if the table
    holds lines of the days that the input lacks, unless the run `may_lose_lines`.
    """
    vanished = _would_vanish(spark, source, table)
    if vanished and not may_lose_lines:
        days = list(vanished)
        more = f" and of {many(len(days) - 1, 'other day')}" if len(days) > 1 else ""
        raise LinesWouldVanishError(
            f"the table holds {many(vanished[days[0]], 'line')} of {days[0]}{more} that the input lacks; "
            "nothing was written. Add the files that hold them to --input, or give --replace to write the "
            "table without these lines"
        )
    first = _first(spark, source)
    before, suspects = _write(spark, source, table, first, vanished)
    if suspects and (whole := _with_second(spark, source, first)) is not first:
        before, _ = _write(spark, source, table, whole, vanished)
    counts = table.rows(spark, source.first, source.last).groupBy("problem")
    rows = counts.agg(F.count("*").alias("lines"), F.sum(F.col("copies") - 1).alias("duplicates")).collect()
    return Compacted(
        lines=sum(row["lines"] for row in rows if row["problem"] is None),
        duplicate_lines=sum(row["duplicates"] for row in rows),
        quarantined_lines={row["problem"]: row["lines"] for row in rows if row["problem"] is not None},
        lines_before=before,
    )


def lacking(stored: DataFrame, coming: DataFrame) -> DataFrame:
    """The lines of `stored` that `coming` lacks, as rows of `event_date`. Columns of both: `event_date`,
    IDENTITY and `problem`. Lines without an identity are left out.

    A usable line must not be replaced by an unusable one. An unusable one must not vanish either: it may be
    all that says that a proxy is of a newer version. A line in conflict is usable alone.
    """
    usable = F.col("problem").isNull() | (F.col("problem") == read.CONFLICT)
    both = F.when(usable, F.array(F.lit(True), F.lit(False))).otherwise(F.array(F.lit(False)))
    names = ("event_date", *IDENTITY)
    held = read.identified(stored).select(*names, usable.alias("is_usable"))
    new = read.identified(coming).select(*names, F.explode(both).alias("is_usable"))
    return held.join(new, on=[*names, "is_usable"], how="left_anti").select("event_date")


def dated(spark: SparkSession, source: Source) -> DataFrame:
    """Every line of the input, with the columns of the table, after both readings."""
    return _with_second(spark, source, _first(spark, source))


def within(lines: DataFrame, source: Source) -> DataFrame:
    """The lines of the days of `source`."""
    return lines.where(F.col("event_date").between(source.first.isoformat(), source.last.isoformat()))


def _would_vanish(spark: SparkSession, source: Source, table: Table) -> dict[date, int]:
    """The lines of the days that the table holds and the input lacks: a number for each such day.

    Nearly always the table has no line of the days yet. Then the input is not read.
    """
    if not table.days(spark).intersection(days_between(source.first, source.last)):
        return {}
    stored = table.rows(spark, source.first, source.last)
    counts = lacking(stored, dated(spark, source)).groupBy("event_date").count()
    rows = counts.orderBy("event_date").collect()
    return {date.fromisoformat(row["event_date"]): row["count"] for row in rows}


def _write(
    spark: SparkSession, source: Source, table: Table, lines: DataFrame, vanished: Collection[date]
) -> tuple[int, int]:
    """Write the days of these lines. The number of lines of the day before, and of those to read again.

    `vanished`: days of which the table holds lines that are not among these.
    """
    counts, of_days = Observation(), within(lines, source)
    is_before = F.col("event_date") == (source.first - timedelta(days=1)).isoformat()
    counted = lines.observe(
        counts,
        F.count(F.when(is_before, 1)).alias("before"),
        F.count(F.when(second_read.is_suspect(), 1)).alias("suspects"),
    )
    with settings(spark, _PLAINLY):
        table.replace_days(within(counted, source), vanished)
        written = read.identified(table.rows(spark, source.first, source.last))
        side = sequence.side_of(source.first, source.last)(F.col("event_date"))
        spans = sequence.spans(sequence.words(written, side))
        if twice := frames.rows(spans.where("is_repeated").select(*sequence.BOOT)):
            # A literal, because a query that still reads the table cannot replace it.
            dirty = frames.frame_of(spark, twice, sequence.BOOT_DDL)
            # A version of another day stays on its day, as if each day were written alone.
            by = (*IDENTITY, "event_date")
            once = read.deduplicated(of_days, dirty, source.first, source.last, by=by)
            table.replace_days(once.select(*TABLE_COLUMNS), vanished)
    return int(counts.get["before"]), int(counts.get["suspects"])


def _first(spark: SparkSession, source: Source) -> DataFrame:
    """Every line as it was read first."""
    raw = read.json_lines(spark, source, WHOLE_DDL)
    return _in_table(raw, source, read.marks() | {"file": read.file_name()})


def _with_second(spark: SparkSession, source: Source, first: DataFrame) -> DataFrame:
    """These lines, with what a second reading understands; `first` itself if that is nothing."""
    again = second_read.files(first)
    if not again:
        return first
    lines = second_read.lines(spark, source, WHOLE_DDL, again)
    second = _in_table(lines, source, read.marks(is_second=True) | {"file": F.col("file")})
    if second.where(F.col("problem").isNull() & F.col("raw").isNotNull()).isEmpty():
        return first
    return second_read.without(first, again).unionByName(second)


def _in_table(raw: DataFrame, source: Source, marks: dict[str, Column]) -> DataFrame:
    """The columns of the table. This is one step, because each step copies all lines."""
    marks["event_date"] = _day(marks, source)
    return raw.select(*[marks[name].alias(name) if name in marks else name for name in TABLE_COLUMNS])


def _day(marks: Mapping[str, Column], source: Source) -> Column:
    """The day of a line; never null. An unusable line without a day near the period belongs to the day on
    which its file was opened, so that no line is lost."""
    day, first = marks["day"], F.lit(source.first.isoformat())
    opened_on = F.coalesce(F.nullif(read.opened_on(marks["file"]), F.lit("")), first)
    near = list(map(str, source.days_of_files))
    # `problem` is computed a second time only for lines of other days.
    is_placed = F.coalesce(day.isin(near), F.lit(False)) | marks["problem"].isNull()
    return F.coalesce(F.when(is_placed, day).otherwise(opened_on), F.lit(""))
