"""Is the log complete? Each line has a number and each interval a heartbeat, so it can be proved.

`boots` is one row for every life of a proxy that the period saw; `completeness` is what the rows say
together, in numbers and in one sentence. What cannot be known from a log is said in the documents: a
proxy none of whose lines arrived is not missed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.schema import IDENTITY
from tsproxy.decisions.fields import EventName, LifecycleKind

BOOT: Final = ("proxy", "boot")

_JITTER_MS: Final = 2_000
"""A clock that is set by a moment makes heartbeats overlap or part by as much; that is no hole."""
_INTERVAL_MS: Final = 60_000
"""Taken for a boot that has no heartbeat yet."""
_PATIENCE: Final = 3
"""Intervals without a line after which a boot that did not say goodbye counts as dead."""


def boots(identified: DataFrame, first: date, last: date) -> DataFrame:
    """One row a boot with lines in the period: its lines, its gaps, its heartbeats.

    `identified`: all lines read that have an identity, each once, also those before and after the period:
    a line of the period may be followed, in `seq`, by one of the next day. Columns: BOOT, `lines`,
    `lost_lines`, `last_ms`, `started` and `stopped` (in the period), `seen_after` (lines past its end),
    `intervals`, `hole_ms` (uncovered between heartbeats), `covered_from_ms`, `covered_to_ms`,
    `interval_ms` (the longest), `lines_dropped`, `decisions_suppressed`, `batches_folded`.
    """
    inside = F.col("day").between(first.isoformat(), last.isoformat())
    marked = identified.select(*IDENTITY, "event", "kind", "day", "ts", inside.alias("inside"))
    spans = (
        marked.groupBy(*BOOT)
        .agg(
            F.min(F.when(F.col("inside"), F.col("seq"))).alias("seq_min"),
            F.max(F.when(F.col("inside"), F.col("seq"))).alias("seq_max"),
            F.max(F.when(F.col("inside"), F.unix_millis(F.try_to_timestamp("ts")))).alias("last_ms"),
            _any(F.col("inside") & _is_kind(LifecycleKind.START)).alias("started"),
            _any(F.col("inside") & _is_kind(LifecycleKind.STOP)).alias("stopped"),
            _any(F.col("day") > last.isoformat()).alias("seen_after"),
        )
        .where(F.col("seq_min").isNotNull())
    )
    counted = (
        marked.join(F.broadcast(spans.select(*BOOT, "seq_min", "seq_max")), on=list(BOOT), how="inner")
        .where(F.col("seq").between(F.col("seq_min"), F.col("seq_max")))
        .groupBy(*BOOT)
        .agg(
            F.sum(F.col("inside").cast("bigint")).alias("lines"),
            (F.max("seq") - F.min("seq") + 1 - F.count("*")).alias("lost_lines"),
        )
    )
    beats = heartbeats(identified.where(inside))
    return (
        spans.drop("seq_min", "seq_max")
        .join(counted, on=list(BOOT), how="inner")
        .join(beats, on=list(BOOT), how="left")
    )


def _any(condition: Column) -> Column:
    return F.coalesce(F.bool_or(condition), F.lit(False))


def _is_kind(kind: LifecycleKind) -> Column:
    return (F.col("event") == EventName.LIFECYCLE.value) & (F.col("kind") == kind.value)


def heartbeats(some_lines: DataFrame) -> DataFrame:
    """One row a boot: what its heartbeats cover, and the holes between them."""
    start = F.unix_millis(F.try_to_timestamp("interval_start"))
    in_order = Window.partitionBy(*BOOT).orderBy("seq")
    beats = some_lines.where(F.col("event") == EventName.HEARTBEAT.value).select(
        *IDENTITY,
        start.alias("start_ms"),
        (start + F.col("interval_ms")).alias("end_ms"),
        *("interval_ms", "lines_dropped", "decisions_suppressed", "batches_folded"),
    )
    hole = F.greatest(F.col("start_ms") - F.lag("end_ms").over(in_order), F.lit(0))
    return (
        beats.withColumn("hole_ms", F.coalesce(F.when(hole > _JITTER_MS, hole), F.lit(0)))
        .groupBy(*BOOT)
        .agg(
            F.count("*").alias("intervals"),
            F.sum("hole_ms").alias("hole_ms"),
            F.min("start_ms").alias("covered_from_ms"),
            F.max("end_ms").alias("covered_to_ms"),
            F.max("interval_ms").alias("interval_ms"),
            F.max("lines_dropped").alias("lines_dropped"),
            F.sum("decisions_suppressed").alias("decisions_suppressed"),
            F.sum("batches_folded").alias("batches_folded"),
        )
    )


@dataclass(frozen=True, slots=True)
class Completeness:
    """What the boots of a period prove. `missing_intervals` is an estimate from the time uncovered."""

    proxies: int
    boots: int
    lines: int
    lost_lines: int
    intervals: int
    missing_intervals: int
    silent_boots: int
    """Boots that fell silent without a goodbye: killed, or their last lines have not arrived."""
    lines_dropped: int
    decisions_suppressed: int
    batches_folded: int

    @property
    def is_complete(self) -> bool:
        return not (self.lost_lines or self.missing_intervals or self.silent_boots)

    @property
    def sentence(self) -> str:
        """`Log complete: 2,880 of 2,880 intervals from 2 proxies, no line missing.` or what is missing."""
        expected = self.intervals + self.missing_intervals
        covered = (
            f"{self.intervals:,} of {expected:,} intervals from {_many(self.proxies, 'proxy', 'proxies')}"
        )
        if self.is_complete:
            return f"Log complete: {covered}, no line missing."
        missing = [
            _many(self.lost_lines, "line lost", "lines lost") if self.lost_lines else "",
            f"{_many(self.silent_boots, 'proxy process', 'proxy processes')} fell silent without a goodbye"
            if self.silent_boots
            else "",
        ]
        return f"Log incomplete: {', '.join([covered, *filter(None, missing)])}. Totals are a lower bound."


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def completeness(rows: Sequence[Row], first: date, last: date, now_ms: int) -> Completeness:
    """What rows of `boots` say of the period. `now_ms`: the reader's clock, for a day not yet over."""
    begin_ms = _midnight_ms(first)
    end_ms = min(_midnight_ms(last + timedelta(days=1)), now_ms)
    found = [_gaps(row, begin_ms, end_ms) for row in rows]
    return Completeness(
        proxies=len({row["proxy"] for row in rows}),
        boots=len(rows),
        lines=_total(rows, "lines"),
        lost_lines=_total(rows, "lost_lines"),
        intervals=_total(rows, "intervals"),
        missing_intervals=sum(missing for missing, _ in found),
        silent_boots=sum(is_silent for _, is_silent in found),
        lines_dropped=_total(rows, "lines_dropped"),
        decisions_suppressed=_total(rows, "decisions_suppressed"),
        batches_folded=_total(rows, "batches_folded"),
    )


def _total(rows: Sequence[Row], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _midnight_ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def _gaps(row: Row, begin_ms: int, end_ms: int) -> tuple[int, bool]:
    """Intervals missing of one boot, and whether it fell silent without a goodbye."""
    interval_ms = max(1, row["interval_ms"] or _INTERVAL_MS)
    goes_on = row["seen_after"]
    is_silent = not row["stopped"] and not goes_on and end_ms - row["last_ms"] > _PATIENCE * interval_ms
    if not row["intervals"]:
        return (0, is_silent)
    uncovered_ms = row["hole_ms"]
    if not row["started"]:
        uncovered_ms += _beyond_jitter(row["covered_from_ms"] - begin_ms)
    if goes_on:
        uncovered_ms += _beyond_jitter(end_ms - row["covered_to_ms"])
    return (-(-uncovered_ms // interval_ms), is_silent)


def _beyond_jitter(gap_ms: int) -> int:
    return gap_ms if gap_ms > _JITTER_MS else 0
