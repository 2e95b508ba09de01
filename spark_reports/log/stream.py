"""Streams the decision log, from files or from the Kafka topic, into a table like that of `compact`.

Each micro-batch writes its own partitions (`event_date`, `batch_id`) and replaces them if it runs again, so
a batch that is repeated after a crash is in the table once. `batch_id` names the stream, which is the id that
Spark keeps in the checkpoint: a stream with another checkpoint, or a lost one, replaces nothing that this one
wrote. `daily --input-format …` removes lines that came twice. As in `compact`, unusable lines are kept with
their `problem` and `file`.

A stream writes a partition for each micro-batch, and each has at least one small file. `compact` makes a
table of large files from it, a partition for each day.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses
from pyspark.sql.streaming.query import StreamingQuery

from spark_reports.exits import UsageError
from spark_reports.log import read
from spark_reports.log.schema import CORRUPT, TABLE_COLUMNS, WHOLE_DDL
from spark_reports.log.store import Table

TIMELESS: Final = "1970-01-01"
"""The day of lines without a time."""

_STREAM_ID: Final = "sql.streaming.queryId"
"""The local property in which Spark names the stream to the code of a micro-batch."""


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
    now are written.

    Raises UsageError if the stream could replace lines of the table.
    """
    _require_kept(lines.sparkSession, table, checkpoint)
    writer = lines.writeStream.option("checkpointLocation", checkpoint).foreachBatch(
        lambda batch, batch_id: _write_batch(batch, batch_id, table)
    )
    if every_s is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{every_s} seconds").start()


def _require_kept(spark: SparkSession, table: Table, checkpoint: str) -> None:
    """Raises UsageError for a table whose partitions are not those of streams, and for a checkpoint that is
    older than the table: the stream would number other lines as batches that are written."""
    if not table.exists(spark):
        return
    rows = table.batches(spark)
    if dict(rows.dtypes).get("batch_id") != "string" or not rows.where("batch_id IS NULL").isEmpty():
        raise UsageError(
            f"{table.name} was written by `compact`, or begun by a stream of tsproxy 0.1.0: its lines do not "
            "name their stream. Give --output a new table"
        )
    if (stream := _stream_of(spark, checkpoint)) is None:
        return
    number = F.substring_index("batch_id", "-", -1).try_cast("bigint")
    newest = rows.where(F.col("batch_id").startswith(f"{stream}-")).agg(F.max(number)).collect()[0][0]
    begun = max(map(int, filter(str.isdigit, _names(spark, f"{checkpoint}/offsets"))), default=-1)
    if newest is not None and newest > begun:
        raise UsageError(
            f"{table.name} holds batch {newest} of this stream, but the checkpoint {checkpoint} ends with "
            f"batch {begun}: it is an old copy, and its next batches would replace lines. Give --checkpoint "
            "a new directory: the stream begins anew, and reports count lines that come twice once"
        )


def _stream_of(spark: SparkSession, checkpoint: str) -> str | None:
    """The id of the stream that uses the checkpoint; None if none does."""
    if "metadata" not in _names(spark, checkpoint):
        return None
    text = "".join(row["value"] for row in spark.read.text(f"{checkpoint}/metadata").collect())
    return str(json.loads(text)["id"])


def _names(spark: SparkSession, folder: str) -> list[str]:
    """The names of the files in a directory; none if it does not exist."""
    context: Any = spark.sparkContext  # the way to Java's classes has no public name
    path = context._jvm.org.apache.hadoop.fs.Path(folder)
    files = path.getFileSystem(context._jsc.hadoopConfiguration())
    return [each.getPath().getName() for each in files.listStatus(path)] if files.exists(path) else []


def _write_batch(batch: DataFrame, number: int, table: Table) -> None:
    """Write the lines of one batch, and replace only its partitions."""
    stream = batch.sparkSession.sparkContext.getLocalProperty(_STREAM_ID)
    if not stream:
        raise RuntimeError(f"Spark did not name the stream of a micro-batch ({_STREAM_ID})")
    marked = read.with_marks(batch)
    is_formed = F.coalesce(F.col("day").rlike(r"^\d{4}-\d{2}-\d{2}$"), F.lit(False))
    is_day = is_formed & F.col("day").try_cast("date").isNotNull()  # a 30th of February has the form
    dated = marked.withColumn("event_date", F.when(is_day, F.col("day")).otherwise(TIMELESS))
    rows = dated.select(*TABLE_COLUMNS, F.lit(f"{stream}-{number}").alias("batch_id"))
    table.replace(rows, ["event_date", "batch_id"], written_by=(stream, number))
