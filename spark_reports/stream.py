"""The decision log as it comes, from files or from the Kafka topic, into a table as `compact` writes it.

Each micro-batch writes its own partitions (`event_date`, `batch_id`) and replaces them when it is run
again, so a batch that was repeated after a crash is there once: a table for every reader, and
`daily --input-format …` removes what shippers delivered twice. Lines that cannot be used are kept
with their `problem` and source, as everywhere.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses
from pyspark.sql.streaming.query import StreamingQuery

from spark_reports import read
from spark_reports.schema import CORRUPT, TABLE_COLUMNS, WHOLE_DDL
from spark_reports.store import Table

_TIMELESS: Final = "1970-01-01"
"""The day of lines that do not say when they were written."""


def from_files(spark: SparkSession, folder: str) -> DataFrame:
    """Lines of the closed files in a directory; a file being written has another suffix."""
    reader = spark.readStream.schema(WHOLE_DDL).option("columnNameOfCorruptRecord", CORRUPT)
    found = reader.option("pathGlobFilter", "*.jsonl*").option("recursiveFileLookup", "true").json(folder)
    return found.where(~F.col("_metadata.file_name").endswith(".open")).select(
        "*", F.col("_metadata.file_name").alias("file")
    )


def from_kafka(
    spark: SparkSession, bootstrap_servers: str, topic: str, options: Mapping[str, str]
) -> DataFrame:
    """Lines of the topic from its beginning; needs Spark's own Kafka connector (spark-sql-kafka-0-10)."""
    reader = spark.readStream.format("kafka").option("startingOffsets", "earliest").options(**options)
    records = reader.option("kafka.bootstrap.servers", bootstrap_servers).option("subscribe", topic).load()
    line = F.from_json(
        F.col("value").cast("string"), WHOLE_DDL, {"columnNameOfCorruptRecord": CORRUPT}
    ).alias("line")
    source = F.concat_ws("-", "topic", "partition").alias("file")
    return records.select(line, source).select("line.*", "file")


def write(lines: DataFrame, table: Table, checkpoint: str, *, is_once: bool) -> StreamingQuery:
    """Start writing; `is_once` ends when everything that is there by now has been written."""
    writer = lines.writeStream.option("checkpointLocation", checkpoint).foreachBatch(
        lambda batch, batch_id: _write_batch(batch, batch_id, table)
    )
    trigger = writer.trigger(availableNow=True) if is_once else writer.trigger(processingTime="1 minute")
    return trigger.start()


def _write_batch(batch: DataFrame, batch_id: int, table: Table) -> None:
    """All columns of the table; only this batch's partitions are replaced."""
    marked = read.with_marks(batch)
    is_formed = F.coalesce(F.col("day").rlike(r"^\d{4}-\d{2}-\d{2}$"), F.lit(False))
    is_day = is_formed & F.col("day").try_cast("date").isNotNull()  # a 30th of February has the form
    dated = marked.withColumn("event_date", F.when(is_day, F.col("day")).otherwise(_TIMELESS))
    rows = dated.select(*TABLE_COLUMNS, F.lit(batch_id).alias("batch_id"))
    table.replace(rows, ["event_date", "batch_id"])
