"""The work of Spark for a report: pure functions, DataFrame in, DataFrame out.

`rollup` adds up `counters` once, by hour and key; every table of totals comes from it (`groups`), so the
tables agree with each other by construction. `decision` lines give examples only.

A *rejection* is a batch that tsproxy or the broker rejected for good (`is_final`). A batch that the producer
sends again by itself is not a rejection; it has columns of its own. Topics and clients that the proxy folded
together appear as `(other)`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log.schema import KEY, SUMS
from spark_reports.log.sequence import instant_ms
from spark_reports.report.groups import CLIENT, REASON, Grouping, How, Measure
from spark_reports.report.words import FOLDED
from tsproxy.decisions.fields import LifecycleKind
from tsproxy.model.outcome import VerdictName

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


def _has_reason() -> Column:
    is_open = (F.col("verdict") == VerdictName.UNCONFIRMED.value) & (F.col("error_code") != 0)
    return F.col("verdict").isin(*_REJECTING, VerdictName.REPAIRED.value) | is_open


FLAGS: Final[Mapping[str, Callable[[], Column]]] = MappingProxyType(
    {
        "is_judged": is_judged,
        "is_rejection": is_rejection,
        "is_unit_mistake": lambda: (
            is_rejection() & F.col("unit_guess").isNotNull() & (F.col("unit_guess") != "zero")
        ),
        "has_reason": _has_reason,
        "is_only_counted": lambda: is_judged() & F.col("would_reject"),
        "is_accepted": lambda: F.col("verdict").isin(VerdictName.ACCEPTED.value, VerdictName.REPAIRED.value),
        "violates_a_rule": lambda: is_judged() & (F.col("rule").isNotNull() | F.col("waiver").isNotNull()),
        "is_own_side": lambda: ~F.col("is_other_side"),
        "is_configuration": lambda: F.col("kind").isin(LifecycleKind.START.value, LifecycleKind.RELOAD.value),
        "is_limits": lambda: F.col("kind") == LifecycleKind.LIMITS.value,
    }
)
"""The conditions of `groups`, by name."""


def flagged(frame: DataFrame, tables: Iterable[Grouping]) -> DataFrame:
    """Only the columns and conditions that `tables` name, for `groups.of_rows`."""
    columns: dict[str, None] = {}
    flags: dict[str, None] = {}
    for table in tables:
        measured = [name for measure in table.measures.values() for name in measure.columns]
        columns |= dict.fromkeys((*table.keys, *measured))
        conditions = (table.where, *(measure.where for measure in table.measures.values()))
        flags |= dict.fromkeys(name for name in conditions if name is not None)
    return frame.select(*columns, *[FLAGS[name]().alias(name) for name in flags])


def of_frame(grouping: Grouping, frame: DataFrame, count: int | None = None) -> DataFrame:
    """The table of a large frame. `count`: the number of rows, at most."""
    chosen = frame if grouping.where is None else frame.where(FLAGS[grouping.where]())
    measures = [_measured(measure).alias(name) for name, measure in grouping.measures.items()]
    table = chosen.groupBy(*grouping.keys).agg(*measures)
    if grouping.having is not None:
        table = table.where(F.col(grouping.having) > 0)
    if count is None:
        return table
    order = [*[F.desc(name) for name in grouping.order], *[F.asc_nulls_first(key) for key in grouping.keys]]
    if grouping.per:
        return _first_per(table, grouping.per, order, count)
    return table.orderBy(*order).limit(count)


def _measured(measure: Measure) -> Column:
    column = F.col(measure.columns[0]) if len(measure.columns) == 1 else F.struct(*measure.columns)
    counted = column if measure.where is None else F.when(FLAGS[measure.where](), column)
    match measure.how:
        case How.SUM:
            return F.coalesce(F.sum(counted), F.lit(0))
        case How.LEAST:
            return F.min(counted)
        case How.GREATEST:
            return F.max(counted)
        case How.DISTINCT:
            return F.count_distinct(counted)


def named(counters: DataFrame) -> DataFrame:
    """Counters with folded keys as `(other)`, which is no valid topic name."""
    shown = [F.when(F.col("folded"), FOLDED).otherwise(F.col(n)).alias(n) for n in ("topic", "client_id")]
    return counters.select(*[c for c in counters.columns if c not in ("topic", "client_id")], *shown)


def rollup(counters: DataFrame) -> DataFrame:
    """One row for each hour and key: `hour`, KEY without `folded`, SUMS and extremes.

    Extremes: `first_ms`, `last_ms` (null for accepted batches: no table needs them), `drift_min_ms`,
    `drift_max_ms`, `records_unread`, `out_of_order_records`, `out_of_order_max_ms`. Instants are numbers
    here: for the least of texts, Spark would sort all lines.
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
        F.coalesce(F.sum("records_unread"), F.lit(0)).alias("records_unread"),
        F.coalesce(F.sum("out_of_order_records"), F.lit(0)).alias("out_of_order_records"),
        F.max("out_of_order_max_ms").alias("out_of_order_max_ms"),
    ]


def only_topics(rolled: DataFrame, shown: DataFrame) -> DataFrame:
    """The same rows; topics that are not shown have null as `topic`, so that they are added up together.

    A client may write to any number of topics; this bounds the rows that reach the driver.
    """
    known = F.broadcast(shown.select(F.col("topic").alias("shown_topic")))
    joined = rolled.join(known, on=F.col("topic") == F.col("shown_topic"), how="left")
    return joined.withColumn("topic", F.col("shown_topic")).drop("shown_topic")


def of_topics(frame: DataFrame, topics: Sequence[str]) -> DataFrame:
    """The rows of a few topics."""
    return frame.where(F.col("topic").isin(*topics))


def of_clients(frame: DataFrame, clients: DataFrame) -> DataFrame:
    """The rows of these clients; a null id equals a null id."""
    left, right = frame.alias("l"), F.broadcast(clients.select(*CLIENT)).alias("r")
    same = [F.col(f"l.{name}").eqNullSafe(F.col(f"r.{name}")) for name in CLIENT]
    return left.join(right, on=same[0] & same[1], how="left_semi")


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
    """The last `count` batches of each client and reason that were rejected for good."""
    columns = ("topic", "partition", "ts", "client_address", "client_software", "error_message", "now_ms")
    chosen = decisions.where(is_rejection()).select(
        *CLIENT, *REASON, *columns, "bad_index", "bad_ts", "records", "bad_records", "seq"
    )
    return _first_per(chosen, (*CLIENT, *REASON), [F.desc("ts"), F.desc("seq")], count)


def _first_per(frame: DataFrame, keys: tuple[str, ...], order: list[Column], count: int) -> DataFrame:
    window = Window.partitionBy(*keys).orderBy(*order)
    return frame.withColumn("place", F.row_number().over(window)).where(F.col("place") <= count).drop("place")
