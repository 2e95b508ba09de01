"""The tables of a report, from lines of the log: pure functions, DataFrame in, DataFrame out.

`rollup` adds up `counters` once, by hour and key; every table of totals comes from it, so the tables
agree with each other by construction. `decision` lines give examples only.

A *rejection* is a batch that tsproxy or the broker rejected for good (`is_final`). A batch that the producer
sends again by itself is not a rejection; it has columns of its own. Topics and clients that the proxy folded
together appear as `(other)`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log.schema import KEY, SUMS
from spark_reports.log.sequence import instant_ms
from spark_reports.report.words import FOLDED
from tsproxy.decisions.fields import LifecycleKind
from tsproxy.model.outcome import VerdictName

CLIENT: Final = ("client_id", "principal")
REASON: Final = ("verdict", "reason", "unit_guess", "error_code", "is_final")
_COUNTS: Final = ("batches", "records", "bad_records", "collateral_records")

_REJECTING: Final = (VerdictName.REJECTED.value, VerdictName.BROKER_REJECTED.value)
_ADDRESSES: Final = 8


def is_rejection() -> Column:
    """True for batches that were rejected for good."""
    return F.col("verdict").isin(*_REJECTING) & F.col("is_final")


def is_judged() -> Column:
    """True for batches that count once: all but those that are sent again."""
    return F.col("is_final")


def sums(*names: str) -> list[Column]:
    """The sums of columns, with their names."""
    return [F.sum(name).alias(name) for name in names]


def judged_and_rejected() -> list[Column]:
    """The sums `records` (judged) and `rejected_records`."""
    return [
        _sum_where(is_judged(), "records").alias("records"),
        _sum_where(is_rejection(), "records").alias("rejected_records"),
    ]


def _sum_where(condition: Column, name: str) -> Column:
    return F.sum(F.when(condition, F.col(name)).otherwise(0))


def named(counters: DataFrame) -> DataFrame:
    """Counters with folded keys as `(other)`, which is no valid topic name."""
    shown = [F.when(F.col("folded"), FOLDED).otherwise(F.col(n)).alias(n) for n in ("topic", "client_id")]
    return counters.select(*[c for c in counters.columns if c not in ("topic", "client_id")], *shown)


def rollup(counters: DataFrame) -> DataFrame:
    """One row for each hour and key: `hour`, KEY without `folded`, SUMS and extremes.

    Extremes: `first_ms`, `last_ms` (null for accepted batches: no table needs them), `drift_min_ms`,
    `drift_max_ms`, `out_of_order_records`, `out_of_order_max_ms`. Instants are numbers here: for the least of
    texts, Spark would sort all lines.
    """
    keys = ["hour", *(name for name in KEY if name != "folded")]
    is_asked = (F.col("verdict") != VerdictName.ACCEPTED.value) | F.col("would_reject")
    timed = named(counters).withColumns(
        {f"{end}_ms": F.when(is_asked, _instant_ms(f"{end}_ts")) for end in ("first", "last")}
    )
    return timed.groupBy(*keys).agg(*sums(*SUMS), *_extremes())


def _instant_ms(name: str) -> Column:
    """The instant in ms since 1970; the start of the interval if the line has no such instant."""
    return F.coalesce(*[instant_ms(instant) for instant in (name, "interval_start")])


def _extremes() -> list[Column]:
    return [
        F.min("first_ms").alias("first_ms"),
        F.max("last_ms").alias("last_ms"),
        F.min("drift_min_ms").alias("drift_min_ms"),
        F.max("drift_max_ms").alias("drift_max_ms"),
        F.coalesce(F.sum("out_of_order_records"), F.lit(0)).alias("out_of_order_records"),
        F.max("out_of_order_max_ms").alias("out_of_order_max_ms"),
    ]


def summary(rolled: DataFrame) -> DataFrame:
    """One row: number of clients, of clients with rejections, of topics, and of records with a wrong unit."""
    client = F.struct(*CLIENT)
    is_unit_mistake = is_rejection() & F.col("unit_guess").isNotNull() & (F.col("unit_guess") != "zero")
    return rolled.agg(
        F.count_distinct(client).alias("producers"),
        F.count_distinct(F.when(is_rejection(), client)).alias("producers_affected"),
        F.count_distinct("topic").alias("topics"),
        F.count_distinct(F.when(is_unit_mistake, client)).alias("producers_with_unit_mistakes"),
        F.coalesce(_sum_where(is_unit_mistake, "bad_records"), F.lit(0)).alias("unit_mistake_records"),
    )


def worst_topics(rolled: DataFrame, count: int) -> DataFrame:
    """The `count` topics with most rejected records, then most records: `topic`."""
    order = [F.desc("rejected_records"), F.desc("records"), F.asc("topic")]
    return rolled.groupBy("topic").agg(*judged_and_rejected()).orderBy(*order).limit(count).select("topic")


def only_topics(rolled: DataFrame, shown: DataFrame) -> DataFrame:
    """The same rows; topics that are not shown have null as `topic`, so that they are added up together.

    A client may write to any number of topics; this bounds the rows that reach the driver.
    """
    known = F.broadcast(shown.select(F.col("topic").alias("shown_topic")))
    joined = rolled.join(known, on=F.col("topic") == F.col("shown_topic"), how="left")
    return joined.withColumn("topic", F.col("shown_topic")).drop("shown_topic")


def topics(rolled: DataFrame) -> DataFrame:
    """One row for each topic and outcome: `topic`, `verdict`, `is_final`, SUMS, drift range."""
    return rolled.groupBy("topic", "verdict", "is_final").agg(*sums(*SUMS), *_extremes())


def hours(rolled: DataFrame) -> DataFrame:
    """One row for each hour and topic: `hour`, `topic`, `records` (judged), `rejected_records`."""
    return rolled.groupBy("hour", "topic").agg(*judged_and_rejected())


def reasons(rolled: DataFrame) -> DataFrame:
    """One row for each reason: REASON, counts, `producers`.

    The reasons are those of rejections, repairs, batches that producers sent again, and unconfirmed ones.
    """
    is_open = (F.col("verdict") == VerdictName.UNCONFIRMED.value) & (F.col("error_code") != 0)
    return (
        rolled.where(F.col("verdict").isin(*_REJECTING, VerdictName.REPAIRED.value) | is_open)
        .groupBy(*REASON)
        .agg(*sums(*_COUNTS), F.count_distinct(F.struct(*CLIENT)).alias("producers"))
    )


def would_reject(rolled: DataFrame, count: int) -> DataFrame:
    """The `count` largest groups of batches that only a rule in audit or the candidate limits would reject.

    One row for each rule, waiver, client, topic and reason: `rule`, `waiver`, CLIENT, `topic`, `reason`,
    `unit_guess`, counts, drift range. These batches were forwarded, so none of them is a rejection.
    """
    keys = ("rule", "waiver", *CLIENT, "topic", "reason", "unit_guess")
    return (
        rolled.where(is_judged() & F.col("would_reject"))
        .groupBy(*keys)
        .agg(*sums("batches", "records", "bad_records"), *_extremes())
        .orderBy(F.desc("records"), *[F.asc_nulls_first(key) for key in keys])
        .limit(count)
    )


def out_of_order(rolled: DataFrame, count: int) -> DataFrame:
    """The `count` topics with most records out of order.

    Columns: `topic`, `records` (all accepted ones), `out_of_order_records`, `out_of_order_max_ms`. A topic
    has such records only if its rule tracks stream time.
    """
    accepted = F.col("verdict").isin(VerdictName.ACCEPTED.value, VerdictName.REPAIRED.value)
    return (
        rolled.where(accepted)
        .groupBy("topic")
        .agg(
            *sums("records", "out_of_order_records"),
            F.max("out_of_order_max_ms").alias("out_of_order_max_ms"),
        )
        .where(F.col("out_of_order_records") > 0)
        .orderBy(F.desc("out_of_order_records"), F.asc("topic"))
        .limit(count)
    )


def rules(rolled: DataFrame, count: int) -> DataFrame:
    """The `count` rules that rejected most, or would have: `rule`, `mode`, `waiver`, counts.

    `batches` and `records` are those that violated the rule, `rejected_records` those that it rejected.
    """
    keys = ("rule", "mode", "waiver")
    return (
        rolled.where(is_judged() & (F.col("rule").isNotNull() | F.col("waiver").isNotNull()))
        .groupBy(*keys)
        .agg(
            *sums("batches", "records", "bad_records"),
            _sum_where(is_rejection(), "records").alias("rejected_records"),
        )
        .orderBy(F.desc("records"), *[F.asc_nulls_first(key) for key in keys])
        .limit(count)
    )


def in_force(lifecycle: DataFrame, count: int) -> DataFrame:
    """The last `count` starts and reloads: `ts`, `proxy`, `kind`, `facts` (a JSON object as text)."""
    news = (LifecycleKind.START.value, LifecycleKind.RELOAD.value)
    events = lifecycle.where(F.col("kind").isin(*news)).select("ts", "proxy", "kind", "facts")
    return events.orderBy(F.desc("ts"), "proxy").limit(count)


def producers(rolled: DataFrame) -> DataFrame:
    """One row for each client with rejections: CLIENT, `records` (judged), rejected batches and records,
    times."""
    return (
        rolled.groupBy(*CLIENT)
        .agg(
            *judged_and_rejected(),
            _sum_where(is_rejection(), "batches").alias("rejected_batches"),
            _sum_where(is_rejection(), "bad_records").alias("bad_records"),
            _sum_where(is_rejection(), "collateral_records").alias("collateral_records"),
            F.min(F.when(is_rejection(), F.col("first_ms"))).alias("first_ms"),
            F.max(F.when(is_rejection(), F.col("last_ms"))).alias("last_ms"),
            F.count_distinct(F.when(is_rejection(), F.col("topic"))).alias("topics"),
        )
        .where(F.col("rejected_batches") > 0)
    )


def worst(frame: DataFrame, count: int) -> DataFrame:
    """The `count` producers with the most rejected records; equal ones in order of their names."""
    order = [F.desc("rejected_records"), *[F.asc_nulls_first(name) for name in CLIENT]]
    return frame.orderBy(*order).limit(count)


def of_clients(frame: DataFrame, clients: DataFrame) -> DataFrame:
    """The rows of these clients; a null id equals a null id."""
    left, right = frame.alias("l"), F.broadcast(clients.select(*CLIENT)).alias("r")
    same = [F.col(f"l.{name}").eqNullSafe(F.col(f"r.{name}")) for name in CLIENT]
    return left.join(right, on=same[0] & same[1], how="left_semi")


def client_reasons(rolled: DataFrame) -> DataFrame:
    """One row for each client and reason of its rejections: CLIENT, REASON, counts, drift range."""
    return rolled.where(is_rejection()).groupBy(*CLIENT, *REASON).agg(*sums(*_COUNTS), *_extremes())


def client_topics(rolled: DataFrame, count: int) -> DataFrame:
    """Each client's `count` topics with the most rejected records: CLIENT, `topic`, `rejected_records`."""
    return _first_per(
        _rejected_by(rolled, "topic"), CLIENT, [F.desc("rejected_records"), F.asc("topic")], count
    )


def client_hours(rolled: DataFrame) -> DataFrame:
    """One row for each client and hour: CLIENT, `hour`, `rejected_records`."""
    return _rejected_by(rolled, "hour")


def _rejected_by(rolled: DataFrame, name: str) -> DataFrame:
    rejected = rolled.where(is_rejection())
    return rejected.groupBy(*CLIENT, name).agg(F.sum("records").alias("rejected_records"))


def client_addresses(counters: DataFrame) -> DataFrame:
    """CLIENT and up to 8 `addresses` from which its rejected batches came."""
    return (
        named(counters)
        .where(is_rejection())
        .select(*CLIENT, F.explode("addresses").alias("address"))
        .distinct()
        .groupBy(*CLIENT)
        .agg(F.slice(F.array_sort(F.collect_list("address")), 1, _ADDRESSES).alias("addresses"))
    )


def examples(decisions: DataFrame, count: int) -> DataFrame:
    """The last `count` decisions of each client and reason."""
    columns = ("topic", "partition", "ts", "client_address", "client_software", "error_message", "now_ms")
    chosen = decisions.select(
        *CLIENT, *REASON, *columns, "bad_index", "bad_ts", "records", "bad_records", "seq"
    )
    return _first_per(chosen, (*CLIENT, *REASON), [F.desc("ts"), F.desc("seq")], count)


def _first_per(frame: DataFrame, keys: tuple[str, ...], order: list[Column], count: int) -> DataFrame:
    window = Window.partitionBy(*keys).orderBy(*order)
    return frame.withColumn("place", F.row_number().over(window)).where(F.col("place") <= count).drop("place")


def limits(lifecycle: DataFrame) -> DataFrame:
    """One row for each topic and set of limits: `topic`, type, limits in ms (null: unlimited), `first_ts`."""
    return (
        lifecycle.where(F.col("kind") == LifecycleKind.LIMITS.value)
        .groupBy("topic", "timestamp_type", "before_max_ms", "after_max_ms")
        .agg(F.min("ts").alias("first_ts"))
    )


PLAIN: Final[Mapping[str, Callable[[DataFrame, int], DataFrame]]] = MappingProxyType(
    {"out_of_order": out_of_order}
)
"""The tables whose rows are shown as they are. The keys are those of `shape.Plain`."""
