"""Days of a table for which files came after it was written.

A shipper that was down over a weekend brings the files of these days on Monday, when no run reads them any
more. Such a file is noticed by its name: each line of the table has the name of its file.
"""

from collections.abc import Sequence
from datetime import date, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import read


def days_with_new_files(
    spark: SparkSession, inputs: Sequence[str], stored: DataFrame, first: date, last: date
) -> list[date]:
    """The days from `first` to `last` that may have lines in files which `stored` does not name.

    `stored`: lines with `day` and `file`. A file holds lines of the day on which it was opened, or of the
    next. Only files in directories of the input are found, and those of `last` are not looked for.
    """
    opened = [first + timedelta(days=n) for n in range((last - first).days)]
    if not opened:
        return []
    names = [_names(spark, path, opened) for path in inputs if not read.is_file_name(path)]
    delivered = {name for each in names for name in each}
    if not delivered:
        return []
    near = read.of_period(stored, first, last).select("file").distinct()
    new = delivered - {_closed(row["file"] or "") for row in near.collect()}
    with_new = [day for day in opened if any(name.startswith(read.file_prefix(day)) for name in new)]
    return sorted({each for day in with_new for each in (day, day + timedelta(days=1))})


def _names(spark: SparkSession, folder: str, days: Sequence[date]) -> set[str]:
    """The names of the files in a directory and below it that are named for one of the days."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    found = reader.option("pathGlobFilter", read.names_of(days)).load(folder)
    return {
        _closed(row["name"]) for row in found.select(F.col("_metadata.file_name").alias("name")).collect()
    }


def _closed(name: str) -> str:
    """The name that a file has after it was closed."""
    return name.removesuffix(".open")
