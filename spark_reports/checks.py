"""Is the log complete? Each line has a number and each interval a heartbeat, so it can be proved.

`boots` is one row for every life of a proxy that the period saw; `completeness` is what the rows say
together: in numbers, in one sentence, and name by name what is missing. What cannot be known from a log
is said in the documents: a proxy none of whose lines arrived is not missed.

A line that is there and cannot be used is missing as well, where it holds totals or may (`set_aside`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports import sequence, set_aside
from spark_reports.instants import instant_ms
from spark_reports.sequence import BOOT
from spark_reports.shape import LineGap, SilentBoot, UnheardSpan
from tsproxy.decisions.fields import EventName
from tsproxy.decisions.text import instant

GAPS_LISTED: Final = 100

_JITTER_MS: Final = 2_000
"""A clock that is set by a moment makes heartbeats overlap or part by as much; that is no hole."""
_INTERVAL_MS: Final = 60_000
"""Taken for a boot that has no heartbeat yet."""
_PATIENCE: Final = 3
"""Intervals without a line after which a boot that did not say goodbye counts as dead."""

Boot = dict[str, Any]
"""A row of `boots`."""


def boots(worded: DataFrame, identified: DataFrame, side: Column) -> DataFrame:
    """One row a boot with lines in the period: its numbers and its heartbeats.

    `worded`: `sequence.words` of `identified`, all lines read that have an identity, also those on either
    `side` of the period. Columns: those of `sequence.spans` and, null for a boot without a heartbeat,
    `intervals`, `hole_ms` (uncovered between heartbeats), `covered_from_ms`, `covered_to_ms`,
    `interval_ms` (the longest), `lines_dropped`, `decisions_suppressed`, `batches_folded`.
    """
    return sequence.spans(worded).join(heartbeats(identified, side), on=list(BOOT), how="left")


def heartbeats(identified: DataFrame, side: Column) -> DataFrame:
    """One row a boot: what its heartbeats cover of the period, and the holes between them.

    An interval belongs to the day it began, but covers what it covers: after a clock jumped over midnight
    the last one of the day before reaches into this day. `intervals` are those that began in the period.
    """
    start = instant_ms("interval_start")
    last_ms = F.greatest(F.col("start_ms"), F.col("end_ms") - 1)
    beats = (
        identified.where(F.col("event") == EventName.HEARTBEAT.value)
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
        beats.withColumn("hole_ms", F.coalesce(F.when(hole > _JITTER_MS, hole), F.lit(0)))
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


@dataclass(frozen=True, slots=True)
class Completeness:
    """What the boots of a period prove. `missing_intervals` is an estimate from the time uncovered."""

    proxies: int
    boots: int
    lines: int
    lost_lines: int
    intervals: int
    missing_intervals: int
    lines_dropped: int
    decisions_suppressed: int
    batches_folded: int
    gaps: list[LineGap]
    """The lost lines by their numbers, at most GAPS_LISTED runs of them."""
    silent: list[SilentBoot]
    """Boots that fell silent without a goodbye: killed, or their last lines have not arrived."""
    unheard: list[UnheardSpan]
    """When nothing is heard of a proxy that is heard at other times: it was down, or a boot is lost whole."""
    unusable: Mapping[str, int]
    """Lines set apart that hold totals of the period, or may: by problem."""

    @property
    def is_complete(self) -> bool:
        return not (self.lost_lines or self.missing_intervals or self.silent or self.unusable)

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
            f"{_many(len(self.silent), 'proxy process', 'proxy processes')} fell silent without a goodbye"
            if self.silent
            else "",
            set_aside.said(self.unusable),
        ]
        return f"Log incomplete: {', '.join([covered, *filter(None, missing)])}. Totals are a lower bound."


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def completeness(
    rows: Sequence[Boot],
    gaps: Sequence[LineGap],
    unusable: Mapping[str, int],
    first: date,
    last: date,
    now_ms: int,
) -> Completeness:
    """What rows of `boots` and of `sequence.gaps` say of the period.

    `unusable`: lines set apart that hold totals or may, by problem. `now_ms`: the reader's clock, for a day
    not yet over.
    """
    begin_ms = _midnight_ms(first)
    end_ms = min(_midnight_ms(last + timedelta(days=1)), now_ms)
    headless = [row for row in rows if _is_headless(row, begin_ms)]
    heads = [
        LineGap(
            proxy=r["proxy"],
            boot=r["boot"],
            seq_first=0,
            seq_last=r["seq_from"] - 1,
            after_ts=None,
            before_ts=None,
        )
        for r in headless
    ]
    return Completeness(
        proxies=len({row["proxy"] for row in rows}),
        boots=len(rows),
        lines=_total(rows, "lines"),
        lost_lines=_total(rows, "lost_lines") + _total(headless, "seq_from"),
        intervals=_total(rows, "intervals"),
        missing_intervals=sum(_missing_intervals(row, begin_ms, end_ms) for row in rows),
        lines_dropped=_total(rows, "lines_dropped"),
        decisions_suppressed=_total(rows, "decisions_suppressed"),
        batches_folded=_total(rows, "batches_folded"),
        gaps=[*heads, *gaps][:GAPS_LISTED],
        silent=[
            SilentBoot(proxy=row["proxy"], boot=row["boot"], last_ts=instant(row["last_ms"]))
            for row in rows
            if _is_silent(row, now_ms)
        ],
        unheard=list(_unheard(rows, begin_ms, end_ms)),
        unusable=unusable,
    )


def _total(rows: Sequence[Boot], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _midnight_ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def _interval_ms(row: Boot) -> int:
    return max(1, row["interval_ms"] or _INTERVAL_MS)


def _is_headless(row: Boot, begin_ms: int) -> bool:
    """True for a boot whose first lines are missing: nothing shows when it began.

    Where it covers the period from its begin on, what came before does not matter.
    """
    if row["started"] or row["seen_before"] or not row["seq_from"]:
        return False
    covers_ms = row["covered_from_ms"]
    return covers_ms is None or bool(covers_ms - begin_ms > _JITTER_MS)


def _is_silent(row: Boot, now_ms: int) -> bool:
    """True for a boot that ended without a goodbye. One that is alive is heard every interval."""
    is_over = row["stopped"] or row["seen_after"]
    return not is_over and now_ms - row["last_ms"] > _PATIENCE * _interval_ms(row)


def _missing_intervals(row: Boot, begin_ms: int, end_ms: int) -> int:
    if row["covered_from_ms"] is None:
        return 0
    uncovered_ms = row["hole_ms"]
    if not row["started"]:
        uncovered_ms += _beyond_jitter(row["covered_from_ms"] - begin_ms)
    if row["seen_after"]:
        uncovered_ms += _beyond_jitter(end_ms - row["covered_to_ms"])
    return int(-(-uncovered_ms // _interval_ms(row)))


def _beyond_jitter(gap_ms: int) -> int:
    return gap_ms if gap_ms > _JITTER_MS else 0


def _unheard(rows: Sequence[Boot], begin_ms: int, end_ms: int) -> Iterator[UnheardSpan]:
    """The times of more than a few intervals that no boot of a proxy covers with heartbeats."""
    beating = sorted(
        (r for r in rows if r["covered_from_ms"] is not None),
        key=lambda r: (r["proxy"], r["covered_from_ms"]),
    )
    for proxy, own in groupby(beating, key=lambda r: r["proxy"]):
        heard_ms = begin_ms
        for row in own:
            if row["covered_from_ms"] - heard_ms > _PATIENCE * _interval_ms(row):
                yield UnheardSpan(
                    proxy=proxy, from_ts=instant(heard_ms), to_ts=instant(row["covered_from_ms"])
                )
            heard_ms = max(heard_ms, row["covered_to_ms"])
            patience_ms = _PATIENCE * _interval_ms(row)
        if end_ms - heard_ms > patience_ms:
            yield UnheardSpan(proxy=proxy, from_ts=instant(heard_ms), to_ts=instant(end_ms))
