"""Days of a table for which files came after it was written.

A shipper that was down over a weekend brings the files of these days on Monday, when no run reads them any
more. Such a file is noticed by its name: each line of the table has the name of its file. Spark compares the
names, since there may be millions: only days come to the driver.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import inputs, read

_DAY: Final = r"decisions-(\d{8})"
_OPEN: Final = r"\.open$"


def days_with_new_files(
    spark: SparkSession, paths: Sequence[str], stored: DataFrame, first: date, last: date
) -> list[date]:
    """The days from `first` to `last` that may have lines in files which `stored` does not name, or does not
    name on the day on which they were opened.

    `stored`: lines with `day` and `file`. A file holds lines of the day on which it was opened, or of the
    next. Only files in directories of the input are found, and those of `last` are not looked for.
    """
    opened = [first + timedelta(days=n) for n in range((last - first).days)]
    folders = [path for path in paths if not inputs.are_files(spark, path)] if opened else []
    places = [place for path in folders for place in inputs.of_days(spark, path, opened)]
    if not places:
        return []
    # A run may know a file by its lines of the next day alone: it came when its first day was written.
    known = read.of_period(stored, first, last).select("day", "file").distinct()
    on_its_day = known.where(read.opened_on(F.col("file")) == F.col("day"))
    near = on_its_day.select(_closed(F.col("file")).alias("name")).distinct()
    new = _names(spark, places, opened).join(near, on="name", how="left_anti")
    rows = new.select(F.regexp_extract("name", _DAY, 1).alias("day")).distinct().collect()
    with_new = [datetime.strptime(row["day"], "%Y%m%d").date() for row in rows]  # noqa: DTZ007  # days are UTC
    return sorted({each for day in with_new for each in (day, day + timedelta(days=1))})


def _names(spark: SparkSession, places: list[str], days: Sequence[date]) -> DataFrame:
    """The names of the files in directories and below them that are named for one of the days."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    found = reader.option("pathGlobFilter", read.names_of(days)).load(places)
    return found.select(_closed(F.col("_metadata.file_name")).alias("name"))


def _closed(name: Column) -> Column:
    """The name that a file has after it was closed."""
    return F.regexp_replace(F.coalesce(name, F.lit("")), _OPEN, "")
