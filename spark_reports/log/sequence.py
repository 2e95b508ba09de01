"""Line numbers: which lines are repeated, and which are lost. One pass over the log, 64 lines in a word.

`words` folds the lines of a boot into words of 64 bits, one bit for each `seq`. If a word has more lines than
bits, a line is repeated. An unset bit between two set bits is a lost line. To compare the count of lines with
the range of their numbers would not be enough: one lost line and one repeated line would cancel out. No line
is shuffled or sorted, so this costs a fraction of reading the log.
"""

from collections.abc import Callable
from datetime import date
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from tsproxy.decisions.fields import EventName, LifecycleKind

BOOT: Final = ("proxy", "boot")
BOOT_DDL: Final = "proxy STRING, boot STRING"

Side = Callable[[Column], Column]
"""The side of the period on which a day (`2026-11-20`) lies: 0 inside, -1 before, 1 after."""

_WITHOUT_ZONE: Final = len("2026-11-20T10:00:00.086")


def instant_ms(name: str) -> Column:
    """An instant of the log (a column of texts) in ms since 1970; null where a text is no instant.

    The `Z` is cut off first: the session is in UTC, and to parse a zone Spark runs two regular expressions
    for each line.
    """
    return F.unix_millis(F.try_to_timestamp(F.substring(name, 1, _WITHOUT_ZONE)))


def side_of(first: date, last: date) -> Side:
    """The sides of the period from `first` to `last`."""
    return lambda day: F.when(day < first.isoformat(), -1).when(day > last.isoformat(), 1).otherwise(0)


def facts(side: Column) -> dict[str, Column]:
    """The facts about a line from which its boot's line numbers follow; null if unknown.

    `side`: the side of the line's day. `ts_ms`: the time of a line of the period, or of a heartbeat before
    it. `says_first`: the first number of the interval, if the line is a heartbeat. A line that is set aside
    has no fact, because its time may be wrong.
    """
    is_usable, is_beat = F.col("problem").isNull(), F.col("event") == EventName.HEARTBEAT.value
    says = is_usable & is_beat & F.col("seq_first").between(0, F.col("seq"))
    return {
        "side": F.when(is_usable, side),
        "ts_ms": F.when(is_usable & ((side == 0) | (side < 0) & is_beat), instant_ms("ts")),
        "says_first": F.when(says, F.col("seq_first")),
    }


def words(identified: DataFrame, side: Column) -> DataFrame:
    """One row for each boot and 64 numbers: BOOT, `word`, `lines`, `bits`, and facts about the period.

    `identified`: lines with an identity, also those on either `side` of the period. The facts, null if
    unknown: `first_inside`, `last_inside` (line numbers inside the period), `inside_says` (the least
    `says_first` inside), `beat_before` (a heartbeat's number), `after_says`, `last_ms`, `before_ms`,
    `started`, `stopped` (inside or before), `seen_before`, `seen_after`.

    A line that is set aside is not lost, so it has its bit.
    """
    lines = identified.withColumns(facts(side))
    seq, says = F.col("seq"), F.col("says_first")
    before, inside, after = [F.col("side") == where for where in (-1, 0, 1)]
    beats = F.col("event") == EventName.HEARTBEAT.value
    return lines.groupBy(*BOOT, F.shiftright(seq, 6).alias("word")).agg(
        F.count("*").alias("lines"),
        F.expr("bit_or(shiftleft(1L, cast(seq & 63 as int)))").alias("bits"),
        F.min(F.when(inside, seq)).alias("first_inside"),
        F.max(F.when(inside, seq)).alias("last_inside"),
        F.min(F.when(inside, says)).alias("inside_says"),
        F.max(F.when(before & beats, seq)).alias("beat_before"),
        F.min(F.when(after, says)).alias("after_says"),
        F.max(F.when(inside, F.col("ts_ms"))).alias("last_ms"),
        F.max(F.when(before, F.col("ts_ms"))).alias("before_ms"),
        F.bool_or(inside & _is_kind(LifecycleKind.START)).alias("started"),
        F.bool_or(~after & _is_kind(LifecycleKind.STOP)).alias("stopped"),
        F.bool_or(before).alias("seen_before"),
        F.bool_or(after).alias("seen_after"),
    )


def _is_kind(kind: LifecycleKind) -> Column:
    return (F.col("event") == EventName.LIFECYCLE.value) & F.col("kind").eqNullSafe(kind.value)


def spans(worded: DataFrame) -> DataFrame:
    """One row for each boot of the period, with repeated lines, or seen before the period without a stop
    line: BOOT, `seq_from`, `seq_to`, `lines`, `lost_lines`, `is_repeated`, and facts.

    The range is what the period should hold: from the first line of its first interval to the last line
    before the next day's first interval. Heartbeats give the range even if those lines themselves are lost.
    `lines` counts the distinct lines in the range. The facts: `last_ms`, `started`, `stopped`, `seen_before`,
    `seen_after`. A boot without a line in the period has a range if it lost lines there: heartbeats before
    and after the period do not follow each other. Else it has none, and `last_ms` is that of its last
    heartbeat before the period.
    """
    boot = Window.partitionBy(*BOOT)

    def of_boot(measure: Callable[[str], Column], name: str) -> Column:
        return measure(name).over(boot)

    is_inside = of_boot(F.min, "first_inside").isNotNull()
    since_before = of_boot(F.max, "beat_before") + 1
    ranged = worded.withColumns(
        {
            "seq_from": F.when(
                is_inside | (since_before < of_boot(F.min, "after_says")),
                F.least(of_boot(F.min, "first_inside"), of_boot(F.min, "inside_says"), since_before),
            ),
            "seq_to": F.greatest(of_boot(F.max, "last_inside"), of_boot(F.min, "after_says") - 1),
        }
    )
    return (
        ranged.groupBy(*BOOT)
        .agg(
            F.max("seq_from").alias("seq_from"),
            F.max("seq_to").alias("seq_to"),
            F.sum(F.bit_count(F.col("bits").bitwiseAND(_mask()))).alias("lines"),
            F.bool_or(F.col("lines") > F.bit_count("bits")).alias("is_repeated"),
            F.coalesce(F.max("last_ms"), F.max("before_ms")).alias("last_ms"),
            *[_any(name) for name in ("started", "stopped", "seen_before", "seen_after")],
        )
        .where(F.expr("seq_from IS NOT NULL OR is_repeated OR seen_before AND NOT stopped"))
        .withColumn("lost_lines", F.col("seq_to") - F.col("seq_from") + 1 - F.col("lines"))
    )


def _any(name: str) -> Column:
    return F.coalesce(F.bool_or(name), F.lit(False)).alias(name)


def _mask() -> Column:
    """The bits of a word whose line numbers lie between `seq_from` and `seq_to`."""
    low = "cast(greatest(0, least(64, seq_from - word * 64)) as int)"
    high = "cast(greatest(-1, least(63, seq_to - word * 64)) as int)"
    return F.expr(f"if({low} > {high}, 0L, shiftleft(-1L, {low}) & shiftrightunsigned(-1L, 63 - {high}))")


def gaps(identified: DataFrame, lossy: DataFrame, count: int) -> DataFrame:
    """Up to `count` runs of lost lines: BOOT, `seq_first`, `seq_last`, `after_ts`, `before_ts`.

    `lossy`: the boots of `spans` with lost lines; only their lines are sorted. `after_ts` and `before_ts`
    are the times of the nearest usable lines on either side, null if there is no such line.
    """
    in_order = Window.partitionBy(*BOOT).orderBy("seq")
    until = in_order.rowsBetween(Window.unboundedPreceding, -1)
    since = in_order.rowsBetween(0, Window.unboundedFollowing)
    time = F.when(F.col("problem").isNull(), F.col("ts")).alias("ts")
    known = identified.join(
        F.broadcast(lossy.select(*BOOT, "seq_from", "seq_to")), on=list(BOOT), how="inner"
    ).select(*BOOT, "seq", time, "seq_from", "seq_to")
    ends = lossy.select(
        *BOOT,
        F.explode(F.array(F.col("seq_from") - 1, F.col("seq_to") + 1)).alias("seq"),
        "seq_from",
        "seq_to",
    ).withColumn("ts", F.lit(None).cast("string"))
    return (
        known.unionByName(ends)
        .where(F.col("seq").between(F.col("seq_from") - 1, F.col("seq_to") + 1))
        .withColumn("last_seq", F.lag("seq").over(in_order))
        .withColumn("after_ts", F.last("ts", ignorenulls=True).over(until))
        .withColumn("before_ts", F.first("ts", ignorenulls=True).over(since))
        .where(F.col("seq") - F.col("last_seq") > 1)
        .select(
            *BOOT,
            (F.col("last_seq") + 1).alias("seq_first"),
            (F.col("seq") - 1).alias("seq_last"),
            "after_ts",
            "before_ts",
        )
        .orderBy(*BOOT, "seq_first")
        .limit(count)
    )
