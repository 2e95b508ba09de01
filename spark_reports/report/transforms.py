"""The work of Spark for a report: pure functions, DataFrame in, DataFrame out.

`rollup` adds up `counters` once, by hour and key; every table of totals comes from it (`groups`), so the
tables agree with each other by construction. `decision` lines give examples only. All lines have their names
from `named`, once.

A *rejection* is a batch that tsproxy or the broker rejected for good (`is_final`). A batch that the producer
sends again by itself is not a rejection; it has columns of its own. Topics and clients that the proxy folded
together appear as `(other)`.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import frames
from spark_reports.log.sequence import instant_ms
from spark_reports.report.groups import CLIENT, REASON, ROLLUP
from spark_reports.report.words import FOLDED, PLACEHOLDERS
from tsproxy.decisions.drift import HISTOGRAM_NAME
from tsproxy.decisions.fields import LifecycleKind
from tsproxy.model.outcome import VerdictName

ADDRESSES: Final = 8
"""The most addresses that are shown for a client."""
_DAY_MS: Final = 86_400_000
_REJECTING: Final = (VerdictName.REJECTED.value, VerdictName.BROKER_REJECTED.value)


def is_rejection() -> Column:
    """True for batches that were rejected for good."""
    return F.col("verdict").isin(*_REJECTING) & F.col("is_final")


def is_judged() -> Column:
    """True for batches that count once: all but those that are sent again."""
    return F.col("is_final")


def sums(*names: str) -> list[Column]:
    return [F.sum(name).alias(name) for name in names]


def named(usable: DataFrame) -> DataFrame:
    """The lines with `topic` and `client_id` as all tables show them: `(other)` for folded keys, and a
    backslash in front of a name that could be taken for one of `words.PLACEHOLDERS`."""
    return usable.withColumns(
        {
            name: F.when(F.col("folded"), FOLDED).otherwise(_escaped(F.col(name)))
            for name in ("topic", "client_id")
        }
    )


def _escaped(name: Column) -> Column:
    # The first condition is false for nearly all names, and costs less than the second.
    is_like_one = name.endswith(")") & F.regexp_replace(name, r"^\\+", "").isin(*PLACEHOLDERS)
    return F.when(is_like_one, F.concat(F.lit("\\"), name)).otherwise(name)


def times() -> dict[str, Column]:
    """`first_ms` and `last_ms` of counters; null for accepted batches, since no table needs them."""
    is_asked = (F.col("verdict") != VerdictName.ACCEPTED.value) | F.col("would_reject")
    return {f"{end}_ms": F.when(is_asked, _instant_ms(f"{end}_ts")) for end in ("first", "last")}


def left_out() -> dict[str, Column]:
    """`left_out_records` of counters: judged records whose histograms have buckets that nobody knows."""
    return {"left_out_records": F.when(is_judged() & (F.col("hist") != HISTOGRAM_NAME), F.col("records"))}


def rollup(counters: DataFrame) -> DataFrame:
    """`groups.ROLLUP`, one row for each hour and key.

    Instants are numbers here: to find the least of texts, Spark would sort all lines. A table of `groups` is
    the same from these rows as from the counters themselves.
    """
    return frames.of_frame(ROLLUP, counters.withColumns(times() | left_out()))


def _instant_ms(name: str) -> Column:
    """The instant in ms since 1970; the start of the interval if the line has no such instant, or one that is
    more than a day away from it."""
    began, instant = instant_ms("interval_start"), instant_ms(name)
    return F.when(instant.between(began - _DAY_MS, began + _DAY_MS), instant).otherwise(began)


def has_histogram() -> Column:
    """True for counters whose histograms count and have the buckets that this version knows."""
    return (F.col("hist") == HISTOGRAM_NAME) & is_judged()


def worst_clients(rolled: DataFrame, count: int) -> DataFrame:
    """The `count` clients with most rejected records, those of `groups.PRODUCERS`."""
    rejected = rolled.where(is_rejection()).groupBy(*CLIENT).agg(*sums("records"))
    return rejected.orderBy(F.desc("records"), *map(F.asc_nulls_first, CLIENT)).limit(count)


def of_clients(frame: DataFrame, clients: DataFrame) -> DataFrame:
    """The rows of these clients; a null id equals a null id."""
    left, right = frame.alias("l"), F.broadcast(clients.select(*CLIENT)).alias("r")
    same = [F.col(f"l.{name}").eqNullSafe(F.col(f"r.{name}")) for name in CLIENT]
    return left.join(right, on=same[0] & same[1], how="left_semi")


def client_addresses(counters: DataFrame) -> DataFrame:
    """CLIENT and its first ADDRESSES `addresses` from which its rejected batches came."""
    return (
        counters.where(is_rejection())
        .select(*CLIENT, F.explode("addresses").alias("address"))
        .distinct()
        .groupBy(*CLIENT)
        .agg(F.slice(F.array_sort(F.collect_list("address")), 1, ADDRESSES).alias("addresses"))
    )


def examples(decisions: DataFrame, count: int) -> DataFrame:
    """The last `count` batches of each client and reason that were rejected for good."""
    columns = ("topic", "partition", "ts", "client_address", "client_software", "error_message", "now_ms")
    chosen = decisions.where(is_rejection()).select(
        *CLIENT, *REASON, *columns, "bad_index", "bad_ts", "records", "bad_records", "seq"
    )
    return frames.first_per(chosen, (*CLIENT, *REASON), [F.desc("ts"), F.desc("seq")], count)


def limits(lifecycle: DataFrame) -> DataFrame:
    """One row for each topic and set of limits in ms (null: unlimited), with the times of its first and its
    last line."""
    keys = ("topic", "timestamp_type", "before_max_ms", "after_max_ms")
    is_known = F.col("topic").isNotNull() & F.col("timestamp_type").isNotNull()
    sets = lifecycle.where((F.col("kind") == LifecycleKind.LIMITS.value) & is_known).groupBy(*keys)
    return sets.agg(F.min("ts").alias("first_ts"), F.max("ts").alias("last_ts")).orderBy(*keys)


def refused_by_kafka_4(clients: DataFrame, count: int) -> DataFrame:
    """The versions of each client (`client_id`, `principal`) and API that Kafka 4 does not take."""
    versions = [F.min("version_min").alias("version_min"), F.max("version_max").alias("version_max")]
    names = [F.max(name).alias(name) for name in ("client_software", "client_address")]
    return clients.groupBy(*CLIENT, "api").agg(*versions, *names).orderBy(*CLIENT, "api").limit(count)
