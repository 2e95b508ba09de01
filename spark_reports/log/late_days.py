"""Days of a table of which the input has lines that the table lacks.

A shipper that was down over a weekend brings the files of these days on Monday, when no run reads them any
more. Such a file is noticed by its name: each line of the table has the name of its file. Spark compares the
names, since there may be millions: only days come to the driver. And a machine that was off wrote nothing of
some days.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import compact, inputs, read
from spark_reports.log.period import days_between
from spark_reports.log.read import Source
from spark_reports.log.store import Table

LATE_DAYS: Final = 7
"""The days before the period for which late files are looked for."""
MISSED_DAYS: Final = 31
"""The most days before the period that are made up for if no run has written them."""


def days(
    spark: SparkSession, source: Source, table: Table, lines_before: int, left_over: Collection[date] = ()
) -> set[date]:
    """The days before those of `source`, which was written, whose lines the table lacks at least in part.
    Days before its first one were never wanted. `lines_before`: as in `Compacted`. `left_over`: days whose
    files the table may name, although no run has looked for lines of the day before in them."""
    before = {day for day in table.days(spark) if day < source.first}
    if not before:
        return set()
    day_before = source.first - timedelta(days=1)
    window = days_between(source.first - timedelta(days=MISSED_DAYS), day_before)
    # A killed run may have left a gap behind days that it had written.
    gaps = {day for day in window if day >= min(before) and not {day, day + timedelta(days=1)} <= before}
    opened = [day for day in window if day in gaps or day in window[-LATE_DAYS:]]
    rows = table.rows(spark, window[0], day_before)
    late = {day_before} if _holds_fewer(rows, day_before, lines_before) else set()
    with_new = _days_with_new_files(spark, source.inputs, rows, opened)
    with_new |= {day - timedelta(days=1) for day in left_over}
    asked = {day for day in with_new - late if day in window and day >= min(before)}
    return late | {day for day in sorted(asked) if _lacks(spark, source, rows, day)}


def _lacks(spark: SparkSession, source: Source, rows: DataFrame, day: date) -> bool:
    of_day = replace(source, first=day, last=day)
    coming = compact.within(compact.dated(spark, of_day), of_day)
    return not compact.lacking(coming, rows.where(F.col("event_date") == str(day))).isEmpty()


def _holds_fewer(rows: DataFrame, day: date, delivered: int) -> bool:
    """True if the table holds fewer lines of the day than the `delivered` ones of the input.

    Files that were opened before the day do not count: the input does not hold them.
    """
    opened_on = read.opened_on(F.col("file"))
    known = rows.where((F.col("event_date") == str(day)) & ((opened_on == "") | (opened_on >= str(day))))
    return delivered > 0 and delivered > (known.agg(F.sum("copies")).collect()[0][0] or 0)


def _days_with_new_files(
    spark: SparkSession, paths: Sequence[str], rows: DataFrame, opened: Sequence[date]
) -> set[date]:
    """The days that may have lines in files, `opened` on one of these days, which the table does not name, or
    does not name on that day. A file holds lines of the day on which it was opened and of the next one, and,
    if it was opened at midnight, of the last interval of the day before."""
    found = [names for path in paths for names in _names(spark, path, opened)]
    if not found:
        return set()
    # A run may know a file by its lines of the next day alone: it came when its first day was written.
    known = rows.select(_closed(F.col("file")).alias("name"), F.col("event_date").alias("day")).distinct()
    of_days = reduce(DataFrame.unionByName, found).where(F.col("day").isin(*map(str, opened)))
    new = of_days.join(known, on=["name", "day"], how="left_anti").select("day").distinct().collect()
    with_new = [date.fromisoformat(row["day"]) for row in new]
    return {near for day in with_new for near in days_between(day - read.LATENESS, day + read.LATENESS)}


def _names(spark: SparkSession, path: str, days: Sequence[date]) -> Iterator[DataFrame]:
    """The files of an input and their days: those in their names, else that of {date} in a glob of files."""
    has_date = inputs.has_date(path)
    places = [] if has_date else [path]
    for day in days if has_date else ():
        files, folders = inputs.split(spark, inputs.of_days(spark, path, [day]))
        places += folders
        if files:
            yield _listed(spark.read, files, F.lit(str(day)))
    if places:
        named = spark.read.option("pathGlobFilter", read.names_of(days)).option("recursiveFileLookup", "true")
        yield _listed(named, places, F.lit(""))


def _listed(reader: DataFrameReader, places: list[str], day: Column) -> DataFrame:
    name = F.col("_metadata.file_name")
    opened_on = F.coalesce(F.nullif(read.opened_on(name), F.lit("")), day)
    return (
        reader.format("binaryFile").load(places).select(_closed(name).alias("name"), opened_on.alias("day"))
    )


def _closed(name: Column) -> Column:
    """The name that a file has after it was closed."""
    return F.regexp_replace(F.coalesce(name, F.lit("")), r"\.open$", "")
