"""Streams the decision log, from files or from the Kafka topic, into a table like that of `compact`.

Each micro-batch writes its own partitions (`event_date`, `batch_id`) and replaces them if it runs again, so
a batch that is repeated after a crash is in the table once. `daily --input-format …` removes lines that
shippers delivered twice. As in `compact`, unusable lines are kept with their `problem` and `file`.

A stream writes a partition for each micro-batch, and each has at least one small file. `compact` makes a
table of large files from it, a partition for each day.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses
from pyspark.sql.streaming.query import StreamingQuery

from spark_reports.log import read
from spark_reports.log.schema import CORRUPT, TABLE_COLUMNS, WHOLE_DDL
from spark_reports.log.store import Table

TIMELESS: Final = "1970-01-01"
"""The day of lines without a time."""


def from_files(spark: SparkSession, folder: str, max_files: int) -> DataFrame:
    """The lines of the closed files in a directory, at most `max_files` of them at a time. Open files have
    another suffix."""
    reader = spark.readStream.schema(WHOLE_DDL).option("columnNameOfCorruptRecord", CORRUPT)
    reader = reader.option("maxFilesPerTrigger", max_files)
    found = reader.option("pathGlobFilter", "*.jsonl*").option("recursiveFileLookup", "true").json(folder)
    file = F.col("_metadata.file_name")
    return found.where(~file.endswith(".open")).select("*", file.alias("file"))


def from_kafka(
    spark: SparkSession, bootstrap_servers: str, topic: str, max_offsets: int, options: Mapping[str, str]
) -> DataFrame:
    """The lines of the topic from its beginning, at most `max_offsets` of them at a time. Spark needs its
    Kafka connector (spark-sql-kafka-0-10)."""
    reader = spark.readStream.format("kafka").option("startingOffsets", "earliest")
    reader = reader.option("maxOffsetsPerTrigger", max_offsets).options(**options)
    records = reader.option("kafka.bootstrap.servers", bootstrap_servers).option("subscribe", topic).load()
    line = F.from_json(F.col("value").cast("string"), WHOLE_DDL, {"columnNameOfCorruptRecord": CORRUPT})
    source = F.concat_ws("-", "topic", "partition").alias("file")
    return records.select(line.alias("line"), source).select("line.*", "file")


def write(lines: DataFrame, table: Table, checkpoint: str, *, every_s: int | None) -> StreamingQuery:
    """Start writing: a micro-batch every so many seconds. With None, the query ends when all lines that exist
    now are written."""
    writer = lines.writeStream.option("checkpointLocation", checkpoint).foreachBatch(
        lambda batch, batch_id: _write_batch(batch, batch_id, table)
    )
    if every_s is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{every_s} seconds").start()


def _write_batch(batch: DataFrame, batch_id: int, table: Table) -> None:
    """Write the lines of one batch, and replace only its partitions."""
    marked = read.with_marks(batch)
    is_formed = F.coalesce(F.col("day").rlike(r"^\d{4}-\d{2}-\d{2}$"), F.lit(False))
    is_day = is_formed & F.col("day").try_cast("date").isNotNull()  # a 30th of February has the form
    dated = marked.withColumn("event_date", F.when(is_day, F.col("day")).otherwise(TIMELESS))
    rows = dated.select(*TABLE_COLUMNS, F.lit(batch_id).alias("batch_id"))
    table.replace(rows, ["event_date", "batch_id"])
