"""A table in Parquet files, one partition (`event_date`) for each day: of the log's lines, or of a rollup.

A write replaces exactly the partitions of its days.
"""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from spark_reports.errors import FailedError
from spark_reports.log import folders
from spark_reports.log.period import days_named
from spark_reports.log.schema import TABLE_DDL

_PARTITION: Final = "event_date={}"
_WRITE: Final = re.compile(r"part-\d+-([0-9a-f-]{36})")
"""The name of a file that Spark wrote, with the number that all files of one write share."""
_STAGING: Final = ".spark-staging-*"
_STAGING_LASTS_S: Final = 86_400
"""No job takes so long to write a file: what it wrote is of a run that was killed."""


@dataclass(frozen=True, slots=True)
class Table:
    """A directory on any file system that Spark knows."""

    name: str

    def days(self, spark: SparkSession) -> set[date]:
        """The days of which it holds rows; none if it does not exist. Raises Java's errors for a file system
        that Spark lacks."""
        return set(days_named(folders.names(spark, self.name), _PARTITION))

    def rows(self, spark: SparkSession, first: date, last: date) -> DataFrame:
        """Its rows of the days from `first` to `last`. A column that an older version did not write is null.
        Raises AnalysisException if the table does not exist."""
        # A damaged file of the log may be skipped. A file of the table may hold all lines of a day.
        whole = spark.read.schema(TABLE_DDL).option("ignoreCorruptFiles", "false").parquet(self.name)
        return whole.where(whole["event_date"].between(str(first), str(last)))

    def replace_days(self, rows: DataFrame, days: Iterable[date]) -> None:
        """Replace the days of `rows`, and no others. One of `days` of which `rows` has no row loses what the
        table holds of it. Raises FailedError if another run wrote one of `days` at the same time."""
        spark = rows.sparkSession
        self._remove_staging(spark)
        before = {day: folders.names(spark, self._folder(day)) for day in days}
        writer = rows.write.mode("overwrite").partitionBy("event_date").option("compression", "zstd")
        # Without this option, Spark would delete all other days. A setting would outlast the command.
        writer.option("partitionOverwriteMode", "dynamic").parquet(self.name)
        twice = ""
        for day, names in before.items():
            there = folders.names(spark, self._folder(day))
            if names and there == names:
                self.remove(spark, day)
            elif len({write[1] for write in map(_WRITE.search, there) if write is not None}) > 1:
                twice = str(day)  # on an object store, where the other run fails likewise
        if before and (twice := self.remove_nested(spark, f"{{{','.join(map(str, before))}}}") or twice):
            raise FailedError(f"another run wrote {twice} to {self.name} at the same time: run it again")

    def remove_nested(self, spark: SparkSession, days: str = "*") -> str:
        """Remove the second copies of days, and return a text that names these days. `days`: a glob.

        Spark deletes a day and then moves the new one to its place. If the day of another run is there again,
        the new one is moved into it: numbers are doubled, and Spark reads the table no more.
        """
        nested = folders.matches(spark, f"{self.name}/event_date={days}/event_date=*")
        for each in nested:
            folders.delete(spark, each.getPath().toString())
        return ", ".join(sorted(each.getPath().getParent().getName()[-10:] for each in nested))

    def _remove_staging(self, spark: SparkSession) -> None:
        """Remove the lines that killed runs wrote and did not move to their day."""
        for each in folders.matches(spark, f"{self.name}/{_STAGING}"):
            name = each.getPath().toString()
            if 0 < folders.changed_ms(spark, name) / 1000 < time.time() - _STAGING_LASTS_S:
                folders.delete(spark, name)

    def remove(self, spark: SparkSession, day: date) -> None:
        """Remove all rows of a day."""
        folders.delete(spark, self._folder(day))

    def _folder(self, day: date) -> str:
        return f"{self.name}/{_PARTITION.format(day)}"
