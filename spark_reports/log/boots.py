"""The boots of a period, with their line numbers and heartbeats. A boot is one run of one proxy process.

A boot is complete if no number is missing between its lines, and its heartbeats cover its time.
`completeness` says what all boots prove together.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import sequence
from spark_reports.log.completeness import JITTER_MS
from spark_reports.log.sequence import BOOT, instant_ms
from tsproxy.decisions.fields import EventName


def boots(worded: DataFrame, identified: DataFrame, side: Column) -> DataFrame:
    """One row for each boot with lines in the period: its line numbers and its heartbeats.

    `worded`: `sequence.words` of `identified`: all lines with an identity, also those on either `side` of
    the period. Columns: those of `sequence.spans` and, null for a boot without a heartbeat, `intervals`,
    `hole_ms` (time between heartbeats that none covers), `covered_from_ms`, `covered_to_ms`, `interval_ms`
    (the longest), `lines_dropped`, `decisions_suppressed`, `batches_folded`.
    """
    return sequence.spans(worded).join(heartbeats(identified, side), on=list(BOOT), how="left")


def heartbeats(identified: DataFrame, side: Column) -> DataFrame:
    """One row for each boot: the part of the period that its heartbeats cover, and the holes between them.

    Heartbeats that were set aside cover nothing: their times may be wrong.

    An interval belongs to the day on which it began, but may reach into the next day: for example if the
    clock jumped over midnight. `intervals` counts those that began in the period.
    """
    start = instant_ms("interval_start")
    last_ms = F.greatest(F.col("start_ms"), F.col("end_ms") - 1)
    beats = (
        identified.where((F.col("event") == EventName.HEARTBEAT.value) & F.col("problem").isNull())
        .withColumn("begins", side)
        .withColumn("start_ms", start)
        .withColumn("end_ms", start + F.col("interval_ms"))
        .withColumn("day", F.substring(F.timestamp_millis(last_ms).cast("string"), 1, 10))
        .withColumn("ends", side)
        .where((F.col("begins") <= 0) & (F.col("ends") >= 0))
    )
    in_order = Window.partitionBy(*BOOT).orderBy("seq")
    hole = F.greatest(F.col("start_ms") - F.lag("end_ms").over(in_order), F.lit(0))
    return (
        beats.withColumn("hole_ms", F.coalesce(F.when(hole > JITTER_MS, hole), F.lit(0)))
        .groupBy(*BOOT)
        .agg(
            F.sum((F.col("begins") == 0).cast("bigint")).alias("intervals"),
            F.sum("hole_ms").alias("hole_ms"),
            F.min("start_ms").alias("covered_from_ms"),
            F.max("end_ms").alias("covered_to_ms"),
            F.max("interval_ms").alias("interval_ms"),
            F.max("lines_dropped").alias("lines_dropped"),
            F.sum("decisions_suppressed").alias("decisions_suppressed"),
            F.sum("batches_folded").alias("batches_folded"),
        )
    )
