"""A table of the log's lines: plain Parquet, Delta or Iceberg.

`name` is a directory on any file system that Spark knows (Parquet, Delta) or a table of a catalog of the
session (Iceberg, `lake.logs.lines`). In all three, a write replaces exactly the partitions of its rows. The
session brings Delta and Iceberg (`spark-submit --packages …`); neither is imported here.

Parquet is read with the schema of this version. The others have a schema of their own; a column that an older
version did not write is null.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.exits import SparkUnavailableError
from spark_reports.log import folders, set_aside
from spark_reports.log.inputs import Form
from spark_reports.log.schema import TABLE_DDL


@dataclass(frozen=True, slots=True)
class Table:
    """The place of a table, and its form (not JSON)."""

    name: str
    form: Form = Form.PARQUET

    def rows(self, spark: SparkSession) -> DataFrame:
        """All its rows, with the columns of TABLE_DDL. Raises AnalysisException if it does not exist."""
        match self.form:
            case Form.PARQUET:
                # A damaged file of the log may be skipped. A file of the table may hold all lines of a day.
                whole = spark.read.schema(TABLE_DDL).option("ignoreCorruptFiles", "false")
                return whole.parquet(self.name)
            case Form.ICEBERG:
                return _of_this_version(spark.table(self.name))
            case _:
                return _of_this_version(spark.read.format(self.form.value).load(self.name))

    def lines(self, spark: SparkSession, days: Sequence[str]) -> DataFrame:
        """Its rows of these days. `problem` is what the checks of this release find, whichever release wrote
        the table."""
        rows = self.rows(spark).where(F.col("event_date").isin(*days))
        # The checks read nearly all columns, so they are left out if no line needs them.
        if rows.where(set_aside.is_to_check()).isEmpty():
            return rows
        return rows.withColumns({"problem": set_aside.of_stored(), "checks": F.lit(set_aside.CHECKS)})

    def exists(self, spark: SparkSession) -> bool:
        """True if somebody has written the table. Raises Java's errors for a file system that Spark lacks."""
        if self.form is Form.ICEBERG:
            return bool(spark.catalog.tableExists(self.name))
        return folders.exists(spark, f"{self.name}/_delta_log" if self.form is Form.DELTA else self.name)

    def overwrite(self, rows: DataFrame) -> None:
        """Replace the days of `rows`, and no others."""
        if self.form is Form.ICEBERG:
            self._replace_in_catalog(rows)
            return
        writer = rows.write.format(self.form.value).mode("overwrite").partitionBy("event_date")
        # Without this option, Spark would delete all other days. A setting would outlast the command.
        writer = writer.option("partitionOverwriteMode", "dynamic")
        if self.form is Form.DELTA:
            writer = writer.option("mergeSchema", "true")
        writer.option("compression", "zstd").save(self.name)

    def replace_days(self, rows: DataFrame, days: Iterable[date]) -> None:
        """Replace these days of a table of Parquet files. A day of which `rows` has no row loses what the
        table holds of it; `overwrite` would leave it."""
        spark = rows.sparkSession
        before = {day: folders.names(spark, self._folder(day)) for day in days}
        self.overwrite(rows)
        for day, names in before.items():
            if names and folders.names(spark, self._folder(day)) == names:
                self.remove(spark, day)

    def remove(self, spark: SparkSession, day: date) -> None:
        """Remove all rows of a day."""
        if self.form is Form.PARQUET:
            folders.delete(spark, self._folder(day))
            return
        none, is_of_day = self.rows(spark).limit(0), f"event_date = '{day}'"
        if self.form is Form.ICEBERG:
            none.writeTo(self.name).overwrite(F.expr(is_of_day))
            return
        writer = none.write.format(self.form.value).mode("overwrite").option("replaceWhere", is_of_day)
        writer.save(self.name)

    def _folder(self, day: date) -> str:
        return f"{self.name}/event_date={day}"

    def _replace_in_catalog(self, rows: DataFrame) -> None:
        # Columns of a later version may stand between those of the table: their names count.
        writer = rows.writeTo(self.name).options(**{"merge-schema": "true", "check-ordering": "false"})
        if rows.sparkSession.catalog.tableExists(self.name):
            writer.overwritePartitions()
            return
        # A later version's columns may be added to it.
        made = writer.using("iceberg").tableProperty("write.spark.accept-any-schema", "true")
        made.partitionedBy(F.col("event_date")).create()


def require(spark: SparkSession, form: Form) -> None:
    """Check that the session has the format. Raises SparkUnavailableError with one sentence."""
    if form not in (Form.DELTA, Form.ICEBERG):
        return
    try:
        spark.read.format(form.value).load("/tsproxy-asks-for-the-format-alone")
    except (PySparkException, Py4JJavaError) as error:  # raised by Java if a class is missing
        if "DATA_SOURCE_NOT_FOUND" in str(error):
            raise SparkUnavailableError(
                f"this Spark session has no {form.value}: start it by spark-submit with {form.value}'s "
                "package for this version of Spark, and its settings"
            ) from error
        # Any other error comes from the format itself: it is installed, only the table does not exist.


def _of_this_version(rows: DataFrame) -> DataFrame:
    there = set(rows.columns)
    return rows.select(
        *[
            F.col(field.name) if field.name in there else F.lit(None).cast(field.dataType).alias(field.name)
            for field in rows.sparkSession.createDataFrame([], TABLE_DDL).schema.fields
        ]
    )
