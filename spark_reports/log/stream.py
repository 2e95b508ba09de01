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
from typing import Final

from pyspark.sql import DataFrame, DataFrameReader, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses
from pyspark.sql.streaming.query import StreamingQuery

from spark_reports.exits import UsageError
from spark_reports.log import damaged_files, folders, read
from spark_reports.log.schema import CORRUPT, TABLE_COLUMNS, WHOLE_DDL
from spark_reports.log.store import Table

TIMELESS: Final = "1970-01-01"
"""The day of lines without a time in a file without a day in its name."""

_OTHERWISE: Final = "otherwise_on"
"""The column with the day of a line that has no time: the day on which its file was opened, or its record of
the topic was written. Without it, a line that cannot be read would be in no day's report."""

_ANY_AGE: Final = "36500d"
_CLOSED: Final = "*.jsonl*"
"""Closed files, and open ones, which have another suffix behind it."""

_ANEW: Final = (
    "Give --checkpoint a new directory: the stream begins anew, and reports count lines that come twice once"
)

_WRITTEN: Final = "written"
"""The folder of a checkpoint in which `_note` notes a batch. Spark has none of this name."""

_STREAM_ID: Final = "sql.streaming.queryId"
"""The local property in which Spark names the stream to the code of a micro-batch."""


def from_files(spark: SparkSession, folder: str, max_files: int) -> DataFrame:
    """The lines of the closed files in a directory, at most `max_files` of them at a time. Open files have
    another suffix."""
    reader = spark.readStream.schema(WHOLE_DDL).option("columnNameOfCorruptRecord", CORRUPT)
    reader = reader.option("maxFilesPerTrigger", max_files)
    # By default, Spark ignores a file that is a week older than the newest one, however late it came.
    reader = reader.option("maxFileAge", _ANY_AGE)
    found = reader.option("pathGlobFilter", _CLOSED).option("recursiveFileLookup", "true").json(folder)
    file = F.col("_metadata.file_name")
    named = found.where(~file.endswith(".open")).select("*", file.alias("file"))
    return named.withColumn(_OTHERWISE, read.opened_on(F.col("file")))


def from_kafka(
    spark: SparkSession, bootstrap_servers: str, topic: str, max_offsets: int, options: Mapping[str, str]
) -> DataFrame:
    """The lines of the topic from its beginning, at most `max_offsets` of them at a time. Spark needs its
    Kafka connector (spark-sql-kafka-0-10)."""
    reader = spark.readStream.format("kafka").option("startingOffsets", "earliest")
    reader = reader.option("maxOffsetsPerTrigger", max_offsets).options(**options)
    records = reader.option("kafka.bootstrap.servers", bootstrap_servers).option("subscribe", topic).load()
    return of_records(records)


def of_records(records: DataFrame) -> DataFrame:
    """The lines of a topic's records, which have the columns of Spark's Kafka source."""
    line = F.from_json(F.col("value").cast("string"), WHOLE_DDL, {"columnNameOfCorruptRecord": CORRUPT})
    source = F.concat_ws("-", "topic", "partition").alias("file")
    written_on = F.greatest(F.col("timestamp").cast("date").cast("string"), F.lit(TIMELESS)).alias(_OTHERWISE)
    return records.select(line.alias("line"), source, written_on).select("line.*", "file", _OTHERWISE)


def write(
    lines: DataFrame, table: Table, checkpoint: str, *, every_s: int | None, folder: str | None = None
) -> StreamingQuery:
    """Start writing: a micro-batch every so many seconds. With None, the query ends when all lines that exist
    now are written. `folder`: that of `from_files`, None for a topic.

    Raises UsageError if the stream could replace lines of the table, or leave lines out of it.
    """
    _require_whole(lines.sparkSession, table, checkpoint)

    def write_batch(batch: DataFrame, number: int) -> None:
        if folder is not None and damaged_files.are_skipped(batch.sparkSession):
            batch = _with_damaged(batch, folder, _files_of(batch.sparkSession, checkpoint, number))
        if (newest_day := _write_batch(batch, number, table)) is not None:
            _note(batch.sparkSession, checkpoint, number, newest_day)

    writer = lines.writeStream.option("checkpointLocation", checkpoint).foreachBatch(write_batch)
    if every_s is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{every_s} seconds").start()


def _require_whole(spark: SparkSession, table: Table, checkpoint: str) -> None:
    """Raises UsageError for a table whose partitions are not those of streams, and for a table and a
    checkpoint of different age. If the checkpoint is older, the stream would number other lines as batches
    that are written. If the table is older, or has none of its batches, lines would never come to it."""
    stream = _stream_of(spark, checkpoint)
    is_there = table.exists(spark)
    newest = _newest(spark, table, stream) if is_there else None
    if stream is None:
        return
    begun, done = (_numbers(spark, f"{checkpoint}/{name}") for name in ("offsets", "commits"))
    if newest is None and done:
        raise UsageError(
            f"{table.name} {'has no batch of this stream' if is_there else 'does not exist'}, but the "
            f"checkpoint {checkpoint} says that it was written: the lines of up to now would be missing. "
            f"{_ANEW}"
        )
    if newest is not None and newest > max(begun, default=-1):
        raise UsageError(
            f"{table.name} holds batch {newest} of this stream, but the checkpoint {checkpoint} ends with "
            f"batch {max(begun, default=-1)}: it is an old copy, and its next batches would replace lines. "
            f"{_ANEW}"
        )
    noted, day = max(_noted(spark, checkpoint), default=(-1, TIMELESS))
    # If the table holds no day up to that one, the batch went with days that were deleted.
    if newest is not None and newest < noted and _holds_up_to(spark, table, day):
        raise UsageError(
            f"{table.name} holds no batch of this stream after batch {newest}, but the checkpoint "
            f"{checkpoint} knows of batch {noted}: the table is an old copy, and the lines since then would "
            f"be missing. {_ANEW}"
        )


def _holds_up_to(spark: SparkSession, table: Table, day: str) -> bool:
    """True if the table holds the day, or one before it."""
    is_up_to = (F.col("event_date") > TIMELESS) & (F.col("event_date") <= day)
    return not table.rows(spark).where(is_up_to).isEmpty()


def _note(spark: SparkSession, checkpoint: str, number: int, day: str) -> None:
    """Note in the checkpoint that this batch is the newest one with lines, and its newest day: by the name of
    a file, which is there or not, even if the machine stops now."""
    folder, name = f"{checkpoint}/{_WRITTEN}", f"{number}_{day}"
    before = folders.names(spark, folder)
    folders.touch(spark, folder, name)
    for other in before:
        if other != name:
            folders.delete(spark, f"{folder}/{other}")


def _noted(spark: SparkSession, checkpoint: str) -> list[tuple[int, str]]:
    """The batches that `_note` has noted, each with its day."""
    found = [name.partition("_") for name in folders.names(spark, f"{checkpoint}/{_WRITTEN}")]
    return [(int(number), day) for number, _, day in found if number.isdigit()]


def _newest(spark: SparkSession, table: Table, stream: str | None) -> int | None:
    """The number of the newest batch of the stream in the table; None if there is none."""
    rows = table.batches(spark)
    if dict(rows.dtypes).get("batch_id") != "string" or not rows.where("batch_id IS NULL").isEmpty():
        raise UsageError(
            f"{table.name} was written by `compact`, or begun by a stream of tsproxy 0.1.0: its lines do not "
            "name their stream. Give --output a new table"
        )
    if stream is None:
        return None
    number = F.substring_index("batch_id", "-", -1).try_cast("bigint")
    found = rows.where(F.col("batch_id").startswith(f"{stream}-")).agg(F.max(number)).collect()[0][0]
    return None if found is None else int(found)


def _numbers(spark: SparkSession, folder: str) -> list[int]:
    """The numbers that are names of files in a directory."""
    return [int(name) for name in folders.names(spark, folder) if name.isdigit()]


def _with_damaged(batch: DataFrame, folder: str, files: list[str]) -> DataFrame:
    """The batch, with a line for each of its `files` in which Spark skips something."""
    spark = batch.sparkSession

    def reader() -> DataFrameReader:
        return spark.read.option("pathGlobFilter", _CLOSED).option("recursiveFileLookup", "true")

    of_batch = reader().text(folder).where(F.col(damaged_files.PATH).isin(files))
    if not (found := damaged_files.paths(of_batch)):
        return batch
    file = F.col("_metadata.file_name")
    lines = damaged_files.as_lines(batch.schema, {"file": file, _OTHERWISE: read.opened_on(file)})
    return batch.unionByName(damaged_files.files(reader(), [folder], found).select(*lines))


def _files_of(spark: SparkSession, checkpoint: str, number: int) -> list[str]:
    """The files of a micro-batch. A batch in Python has no such list, so it is read from the checkpoint: the
    offset of a batch is the number of the last list of files up to it."""
    offsets = [
        json.loads(spark.read.text(f"{checkpoint}/offsets/{each}").collect()[-1]["value"])["logOffset"]
        for each in (number - 1, number)
        if each >= 0
    ]
    since, until = offsets if number else (-1, *offsets)
    listed = spark.read.schema("path STRING, batchId BIGINT").json(f"{checkpoint}/sources/0")
    own = listed.where(F.col("path").isNotNull() & F.col("batchId").between(since + 1, until))
    return [damaged_files.as_metadata(row["path"]) for row in own.select("path").distinct().collect()]


def _stream_of(spark: SparkSession, checkpoint: str) -> str | None:
    """The id of the stream that uses the checkpoint; None if none does."""
    if "metadata" not in folders.names(spark, checkpoint):
        return None
    text = "".join(row["value"] for row in spark.read.text(f"{checkpoint}/metadata").collect())
    return str(json.loads(text)["id"])


def _write_batch(batch: DataFrame, number: int, table: Table) -> str | None:
    """Write the lines of one batch, and replace only its partitions. Return its newest day; None without
    lines."""
    stream = batch.sparkSession.sparkContext.getLocalProperty(_STREAM_ID)
    if not stream:
        raise RuntimeError(f"Spark did not name the stream of a micro-batch ({_STREAM_ID})")
    marked = read.with_marks(batch)
    is_formed = F.coalesce(F.col("day").rlike(r"^\d{4}-\d{2}-\d{2}$"), F.lit(False))
    is_day = is_formed & F.col("day").try_cast("date").isNotNull()  # a 30th of February has the form
    otherwise = F.coalesce(F.col(_OTHERWISE).try_cast("date").cast("string"), F.lit(TIMELESS))
    dated = marked.withColumn("event_date", F.when(is_day, F.col("day")).otherwise(otherwise))
    rows, seen = dated.select(*TABLE_COLUMNS, F.lit(f"{stream}-{number}").alias("batch_id")), Observation()
    observed = rows.observe(seen, F.max("event_date").alias("newest_day"))
    table.replace(observed, ["event_date", "batch_id"])
    newest_day: str | None = seen.get["newest_day"]
    return newest_day
