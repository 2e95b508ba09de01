"""The rollup: small tables, one partition for each day, which `trend` and `what-if` read (`stored`).

    hours       `groups.ROLLUP`, all sums of an hour and key                           -> your own queries
    producers   for each client, records judged and rejected                           -> trend
    drift       batches and records for each topic, client, side and bucket            -> what-if

Beside them is a file for each day (`kept_days`). Later reports are compared with these files.

`daily --rollup DIR` writes them from the counters that it adds up anyway. So `trend` and `what-if` read
megabytes where the log has gigabytes. A day that is written again replaces only its own partitions.
"""

from collections.abc import Sequence
from datetime import date
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import frames
from spark_reports.log.period import days_between
from spark_reports.log.store import Table
from spark_reports.report import transforms
from spark_reports.report.groups import CLIENT, ROLLED_PRODUCERS
from spark_reports.report.what_if import LEFT_OUT, SIDES
from tsproxy.decisions.drift import EDGES

PRODUCERS: Final = "producers"
TABLES: Final = ("hours", PRODUCERS, "drift")
_DRIFT_KEY: Final = ("event_date", "topic", *CLIENT, "side")


def hours(rolled: DataFrame) -> DataFrame:
    """From `transforms.rollup`: the same rows, with their day."""
    return rolled.withColumn("event_date", F.substring("hour", 1, 10))


def producers(rolled: DataFrame) -> DataFrame:
    """From `transforms.rollup`: one row for each day and client, with records judged and rejected."""
    conditions = {"is_judged": transforms.is_judged(), "is_rejection": transforms.is_rejection()}
    return frames.of_frame(ROLLED_PRODUCERS, hours(rolled).withColumns(conditions))


def drift_keys(rolled: DataFrame) -> DataFrame:
    """From `transforms.rollup`: the possible keys of `drift` (_DRIFT_KEY), and the `number` of each."""
    dated = hours(rolled).where(transforms.is_judged())
    sides = [dated.withColumn("side", F.lit(side)).select(*_DRIFT_KEY, _number()) for side in SIDES]
    return sides[0].unionByName(sides[1]).distinct()


def ambiguous(keys: DataFrame) -> DataFrame:
    """The numbers that two keys of `drift_keys` share."""
    return keys.groupBy("number").count().where(F.col("count") > 1)


def topic_drift(counters: DataFrame) -> DataFrame:
    """From counters: `drift` of all days and clients together, by topic."""
    return _unpacked(counters, ("topic", "side"))


def of_topics(drifts: DataFrame) -> DataFrame:
    """From `drift`: the rows of `topic_drift`."""
    return drifts.groupBy("topic", "side", "bucket").agg(*transforms.sums("batches", "records"))


def drift(counters: DataFrame, keys: DataFrame | None) -> DataFrame:
    """From counters: one row for each day, topic, client, side and bucket of judged batches.

    Histograms of other versions are left out (`left_out` counts them), and so are buckets that this version
    does not have.

    To unpack histograms is the most expensive part of a report, so all tables of drift use this result.
    Buckets are added up by a hash of their key, of 64 bits, and not by five names. `keys` (`drift_keys`) has
    the names of each hash. It is None if two keys have the same hash, which a client may bring about by its
    names (`ambiguous`), and for few counters: then the names themselves are used.
    """
    sums = _unpacked(counters, _DRIFT_KEY if keys is None else ("number",))
    named = sums if keys is None else sums.join(keys, on="number")
    return named.select(*_DRIFT_KEY[1:], "bucket", "batches", "records", "event_date")


def _unpacked(counters: DataFrame, by: Sequence[str]) -> DataFrame:
    """The buckets of both sides, added up by these names of _DRIFT_KEY, or by its number."""
    judged = counters.where(transforms.has_histogram())
    dated = judged.withColumn("event_date", F.col("day"))
    # Each side is added up before the union, so that Spark does not write single buckets to memory as rows.
    sided = ((side, dated.withColumn("side", F.lit(side))) for side in SIDES)
    sides = [_sums(lines.withColumn("number", _number()), by, side) for side, lines in sided]
    return sides[0].unionByName(sides[1])


def _sums(lines: DataFrame, by: Sequence[str], side: str) -> DataFrame:
    bucket, batches, records = (F.get("col", F.lit(place)) for place in range(3))
    return (
        lines.select(*by, F.explode(side))
        .groupBy(*by, bucket.alias("bucket"))
        .agg(
            F.coalesce(F.sum(batches), F.lit(0)).alias("batches"),
            F.coalesce(F.sum(records), F.lit(0)).alias("records"),
        )
        .where(F.col("bucket").between(-len(EDGES), len(EDGES)))
    )


def _number() -> Column:
    """A key's number: 64 bits of hash. The hash skips nulls, so it also includes which names are null."""
    nulls = [F.col(name).isNull() for name in CLIENT]
    return F.xxhash64(*_DRIFT_KEY, *nulls).alias("number")


def left_out(rolled: DataFrame) -> DataFrame:
    """From `transforms.rollup`: rows of `drift` for records whose histograms are of other versions. Their
    side is what_if.LEFT_OUT, and they count in no bucket."""
    columns = {
        "side": F.lit(LEFT_OUT),
        "bucket": F.lit(0).cast("bigint"),
        "batches": F.lit(0).cast("bigint"),
        "records": F.col("left_out_records"),
    }
    unknown = hours(rolled).where("left_out_records > 0").withColumns(columns)
    return unknown.select(*_DRIFT_KEY[1:], "bucket", "batches", "records", "event_date")


def store(frame: DataFrame, folder: str, name: str, first: date, last: date) -> None:
    """Write the days from `first` to `last` of a table. A day without a row loses
    the rows of an earlier run: its lines may be gone, or set aside now."""
    few = frame.coalesce(4).sortWithinPartitions(*CLIENT)
    Table(f"{folder}/{name}").replace_days(few, days_between(first, last))
