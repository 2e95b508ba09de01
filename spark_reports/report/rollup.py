"""The rollup: two small tables, one partition for each day, which `trend` and `what-if` read.

    producers   for each client, records judged and rejected                           -> trend
    drift       batches and records for each topic, client, side, bucket and outcome   -> what-if

Beside them is a file for each day (`kept_days`). Later reports are compared with these files.

`daily --rollup DIR` writes them from the counters that it adds up anyway. So `trend` and `what-if` read
megabytes where the log has gigabytes. A day that is written again replaces only its own partitions.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log.read import of_period
from spark_reports.log.store import Table
from spark_reports.report import transforms
from spark_reports.report.groups import CLIENT
from spark_reports.report.shape import DAYS_BEFORE
from spark_reports.report.what_if import LEFT_OUT, SIDES, first_bucket_beyond
from tsproxy.decisions.drift import EDGES

LEAST_RECORDS: Final = 10
"""Fewer rejected records than this are not reported as a change."""

_PRODUCERS_DDL: Final = (
    "client_id STRING, principal STRING, records BIGINT, rejected_records BIGINT, event_date STRING"
)
_DRIFT_DDL: Final = (
    "topic STRING, client_id STRING, principal STRING, side STRING, is_rejected BOOLEAN, "
    "is_other_side BOOLEAN, bucket BIGINT, batches BIGINT, records BIGINT, event_date STRING"
)


_OUTCOME: Final = ("side", "is_rejected", "is_other_side")
_DRIFT_KEY: Final = ("event_date", "topic", *CLIENT, "side", "is_rejected", "is_other_side")


def producers(rolled: DataFrame) -> DataFrame:
    """From `transforms.rollup`: one row for each day and client, with records judged and rejected."""
    return (
        rolled.groupBy(F.substring("hour", 1, 10).alias("event_date"), *CLIENT)
        .agg(*transforms.judged_and_rejected())
        .select(*CLIENT, "records", "rejected_records", "event_date")
    )


def drift_keys(rolled: DataFrame) -> DataFrame:
    """From `transforms.rollup`: the possible keys of `drift` (_DRIFT_KEY), and the `number` of each."""
    judged = rolled.where(transforms.is_judged())
    dated = judged.withColumn("event_date", F.substring("hour", 1, 10))
    sides = [_of_side(dated, side).select(*_DRIFT_KEY, _number()) for side in SIDES]
    return sides[0].unionByName(sides[1]).distinct()


def ambiguous(keys: DataFrame) -> DataFrame:
    """The numbers that two keys of `drift_keys` share."""
    return keys.groupBy("number").count().where(F.col("count") > 1)


def topic_drift(counters: DataFrame) -> DataFrame:
    """From counters: `drift` of all days and clients together, by topic."""
    return _unpacked(counters, ("topic", *_OUTCOME))


def of_topics(drifts: DataFrame) -> DataFrame:
    """From `drift`: the rows of `topic_drift`."""
    return drifts.groupBy("topic", *_OUTCOME, "bucket").agg(*transforms.sums("batches", "records"))


def with_own_side(by_topic: DataFrame) -> DataFrame:
    """From `topic_drift`: the condition of `groups.DRAWN` as a column."""
    return by_topic.withColumn("is_own_side", ~F.col("is_other_side"))


def drift(counters: DataFrame, keys: DataFrame | None) -> DataFrame:
    """From counters: one row for each day, topic, client, side, bucket and outcome of judged batches.

    `is_rejected` is the outcome; `is_other_side` is true if the reason is the other side's drift.
    Histograms of other versions are left out (`left_out` counts them), and so are buckets that this version
    does not have.

    To unpack histograms is the most expensive part of a report, so all tables of drift use this result.
    Buckets are added up by a hash of their key, of 64 bits, and not by seven names. `keys` (`drift_keys`) has
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
    sides = [_sums(_of_side(dated, side).withColumn("number", _number()), by, side) for side in SIDES]
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


def _of_side(lines: DataFrame, side: str) -> DataFrame:
    """Add the _DRIFT_KEY of one side to counters or rows of their rollup, which have `event_date`."""
    return lines.withColumns(
        {
            "side": F.lit(side),
            "is_rejected": transforms.is_rejection(),
            "is_other_side": transforms.other_sides()[f"is_other_side_{side}"],
        }
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
        "is_rejected": F.col("is_rejection"),
        "is_other_side": F.lit(False),
        "bucket": F.lit(0).cast("bigint"),
        "batches": F.lit(0).cast("bigint"),
        "records": F.col("left_out_records"),
        "event_date": F.substring("hour", 1, 10),
    }
    found = rolled.where("left_out_records > 0").withColumns(columns)
    return found.select(*_DRIFT_KEY[1:], "bucket", "batches", "records", "event_date")


def store(frame: DataFrame, folder: str, name: str, first: date, last: date) -> None:
    """Write the days from `first` to `last` of the table of producers or of drift. A day without a row loses
    the rows of an earlier run: its lines may be gone, or set aside now."""
    few = frame.coalesce(4).sortWithinPartitions(*CLIENT)
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    Table(f"{folder}/{name}").replace_days(few, days)


def stored(spark: SparkSession, folder: str, name: str, first: date, last: date) -> DataFrame:
    """The days of a table that are there. Raises AnalysisException if no day was ever written."""
    ddl = {"producers": _PRODUCERS_DDL, "drift": _DRIFT_DDL}[name]
    whole = spark.read.schema(ddl).option("ignoreCorruptFiles", "false")
    table = whole.parquet(f"{folder}/{name}")
    return of_period(table.withColumnRenamed("event_date", "day"), first, last)


def beyond_by_client(drifts: DataFrame, after_ms: int | None, before_ms: int | None, count: int) -> DataFrame:
    """The `count` clients with most records past a limit: CLIENT, `batches`, `records`, at least so many.

    A batch past both limits counts once: on the side that rejects more of the client's batches.
    """
    past = F.lit(False)
    for limit_ms, sign in ((after_ms, 1), (before_ms, -1)):
        if limit_ms is not None:
            past = past | (F.col("bucket") * sign >= first_bucket_beyond(limit_ms))
    sides = drifts.where(past).groupBy(*CLIENT, "side").agg(*transforms.sums("batches", "records"))
    return (
        sides.groupBy(*CLIENT)
        .agg(F.max("batches").alias("batches"), F.max("records").alias("records"))
        .orderBy(F.desc("records"), *CLIENT)
        .limit(count)
    )


def rejecting(stored_producers: DataFrame) -> DataFrame:
    """CLIENT, `day` and `rejected_records` of the days on which a client was rejected."""
    found = stored_producers.where("rejected_records > 0")
    return found.select(*CLIENT, "day", "rejected_records")


def days(stored_producers: DataFrame) -> DataFrame:
    """One row for each day: `day`, `records`, `rejected_records`, `producers_affected`."""
    return (
        stored_producers.groupBy("day")
        .agg(
            *transforms.sums("records", "rejected_records"),
            F.sum((F.col("rejected_records") > 0).cast("bigint")).alias("producers_affected"),
        )
        .orderBy("day")
    )


def changes(stored_producers: DataFrame, day: date) -> DataFrame:
    """The clients whose rejections changed on `day`, against the seven days before it: most records first.

    CLIENT, `kind`, `records`, `rejected_records`, `records_before`, `rejected_before` (sums of those days):

        new         rejected now, and never on those of these days that are stored
        doubled     at least twice the share of its records is rejected now: of the share on the day before,
                    and of the median of the days on which it sent
        recovered   rejected before, still sends, and nothing is rejected now
    """
    is_today = F.col("day") == day.isoformat()
    first, last = ((day - timedelta(days=n)).isoformat() for n in (DAYS_BEFORE, 1))
    is_before = F.col("day").between(first, last)
    of_day = F.try_divide("rejected_records", "records")
    sums = stored_producers.groupBy(*CLIENT).agg(
        F.median(F.when(is_before, of_day)).alias("median"),
        F.max(F.when(F.col("day") == last, of_day)).alias("day_before"),
        *[
            F.coalesce(F.sum(F.when(when, F.col(name))), F.lit(0)).alias(f"{name}{suffix}")
            for when, suffix in ((is_today, ""), (is_before, "_before"))
            for name in ("records", "rejected_records")
        ],
    )
    share = F.try_divide("rejected_records", "records")
    least = 2 * F.greatest("median", "day_before")  # a null is passed over
    is_news = F.greatest("rejected_records", "rejected_records_before") >= LEAST_RECORDS
    now, before = F.col("rejected_records"), F.col("rejected_records_before")
    kind = (
        F.when((now > 0) & (before == 0), "new")
        .when((now > 0) & (share >= least), "doubled")
        .when((now == 0) & (F.col("records") > 0) & (before > 0), "recovered")
    )
    return (
        sums.withColumn("kind", kind)
        .where(F.col("kind").isNotNull() & is_news)
        .drop("median", "day_before")
        .withColumnRenamed("rejected_records_before", "rejected_before")
        .orderBy(F.desc("rejected_records"), F.desc("rejected_before"), *CLIENT)
    )
