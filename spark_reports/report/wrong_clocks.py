"""Records that a proxy judged while its own clock was wrong: nobody is blamed for them.

The log's lines of kind `clock` say when that was, and how far the clock was off. Lines of a boot are in the
order of their `seq`, whatever the clock did to their times. Only times that are `proven` count: what brokers
wrote may come from a client, who could excuse itself by that. In such a time:

* A rejection is judged anew, by the offset. If all its culprits are within the limits by the brokers' clock,
  it is taken out, and belongs to the group (`harmed`). The limits are those of the examples of that time.
* Every other batch stays. Its drift is that by the brokers' clock, its histogram does not count, and nothing
  is counted as what a rule in audit would reject.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import frames
from spark_reports.log.grouping import Rows
from spark_reports.log.sequence import BOOT
from spark_reports.report.groups import grouped
from tsproxy.decisions.fields import EventName, LifecycleKind
from tsproxy.model.outcome import VerdictName
from tsproxy.model.verdict import Reason, Trait

MAX_ROWS: Final = 10_000
"""The most lines of kind `clock`, and the most producers of all such times, that come to the driver."""
_END: Final = (1 << 63) - 1
_TIMES_DDL: Final = (
    "proxy STRING, boot STRING, times ARRAY<STRUCT<from_seq:BIGINT,to_seq:BIGINT,offset_ms:BIGINT>>"
)
_FACTS_DDL: Final = "what STRING, step_ms BIGINT, max_offset_ms BIGINT, offset_ms BIGINT, proven BOOLEAN"
_LIMITS_OF: Final = ("from_seq", *BOOT, "topic", "rule")
_BY_TIME: Final = [reason.value for reason in Reason if {Trait.AHEAD, Trait.BEHIND} & {*reason.traits}]


def times(lines: DataFrame) -> Rows:
    """`wrong_times` of the lines of a log."""
    is_clock = (F.col("event") == EventName.LIFECYCLE.value) & (F.col("kind") == LifecycleKind.CLOCK.value)
    clock_lines = lines.where(is_clock & F.col("problem").isNull()).orderBy(*BOOT, "seq").limit(MAX_ROWS)
    facts = F.from_json("facts", _FACTS_DDL).alias("facts")
    return wrong_times(frames.rows(clock_lines.select(*BOOT, "seq", "ts", facts).select("*", "facts.*")))


def wrong_times(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """From lines of kind `clock` with their facts, by boot and in order: each time that was proven wrong.

    It begins with the step that made it wrong: one that was larger than `clock.max_offset`, and not the step
    of an earlier time. So the times of a boot do not overlap. `from_ts` is by the wrong clock, `to_ts` by the
    right one, or None if the log does not say that it ended.
    """
    wrong: Rows = []
    boot, stepped, now = None, None, None
    for row in rows:
        if boot != (boot := (row["proxy"], row["boot"])):
            stepped = now = None
        if row["what"] == "stepped":
            stepped = row
        elif row["what"] == "beyond" and row["offset_ms"] is not None:
            if now is None:
                is_by_step = abs(row["step_ms"] or 0) > (row["max_offset_ms"] or 0)
                first = stepped if stepped and is_by_step else row
                now = {"proxy": boot[0], "boot": boot[1], "from_seq": first["seq"], "from_ts": first["ts"]}
                wrong.append(now)
            now |= {"offset_ms": row["offset_ms"], "proven": row["proven"], "to_seq": _END, "to_ts": None}
        elif row["what"] == "within" and now is not None:
            now |= {"to_seq": row["seq"], "to_ts": row["ts"], "proven": row["proven"]}
            now = stepped = None
    return [time for time in wrong if time["proven"]]


def marked(usable: DataFrame, wrong: Sequence[Mapping[str, Any]]) -> DataFrame:
    """The lines with the `offset_ms` and `from_seq` of their wrong time, null for others, and `is_harmed`.

    Each boot is one row of the right side, so no line is there twice, whatever the times.
    """
    by_boot = grouped(wrong, itemgetter(*BOOT))
    rows = [dict(zip(BOOT, boot, strict=True), times=times) for boot, times in by_boot.items()]
    boots = F.broadcast(frames.frame_of(usable.sparkSession, rows, _TIMES_DDL))
    of_line = F.expr("get(filter(times, time -> seq BETWEEN time.from_seq AND time.to_seq), 0)")
    timed = usable.join(boots, on=list(BOOT), how="left").withColumn("time", of_line)
    timed = timed.select(*usable.columns, "time.from_seq", "time.offset_ms")
    limits = (
        timed.where((F.col("event") == EventName.DECISION.value) & F.col("from_seq").isNotNull())
        .groupBy(*_LIMITS_OF)
        .agg(*[F.max(f"{side}_max_ms").alias(f"{side}_ms") for side in ("before", "after")])
        .withColumn("is_known", F.lit(True))
    )
    least, most = (F.col(f"drift_{end}_ms") + F.col("offset_ms") for end in ("min", "max"))
    is_good = (
        (F.col("verdict") == VerdictName.REJECTED.value)
        & F.col("reason").isin(*_BY_TIME)
        & F.col("is_known")
        & F.coalesce(most <= F.col("after_ms"), most.isNotNull())
        & F.coalesce(least >= -F.col("before_ms"), least.isNotNull())
    )
    joined = timed.join(F.broadcast(limits), on=list(_LIMITS_OF), how="left")
    return joined.withColumn("is_harmed", F.coalesce(is_good, F.lit(False)))


def others(lines: DataFrame) -> DataFrame:
    """From `marked`: the lines without those that are harmed, as the brokers' clock sees them."""
    is_wrong = F.col("offset_ms").isNotNull()
    drifts = {
        name: F.col(name) + F.coalesce("offset_ms", F.lit(0)) for name in ("drift_min_ms", "drift_max_ms")
    }
    nulls = {name: F.when(~is_wrong, F.col(name)) for name in ("hist", "would_reject")}
    return lines.where(~F.col("is_harmed")).withColumns({**drifts, **nulls})


def harmed(lines: DataFrame) -> Rows:
    """From `marked`: the records of each wrong time (BOOT, `from_seq`) and client, most first."""
    counters = lines.where(F.col("is_harmed") & (F.col("event") == EventName.COUNTERS.value))
    summed = counters.groupBy(*BOOT, "from_seq", "client_id", "principal").agg(
        F.sum("records").alias("records")
    )
    return frames.rows(summed.orderBy(F.desc("records"), "client_id", "principal").limit(MAX_ROWS))
