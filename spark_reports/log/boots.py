"""The boots of a period, with their line numbers and heartbeats. A boot is one run of one proxy process.

A boot is complete if no number is missing between its lines, and its heartbeats cover its time.
`completeness` says what all boots prove together.
"""

from operator import itemgetter
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import frames, sequence
from spark_reports.log.completeness import JITTER_MS, Boot
from spark_reports.log.grouping import Grouping, How, Measure
from spark_reports.log.sequence import BOOT, Side, instant_ms
from tsproxy.decisions.fields import EventName

_boot: Final = itemgetter(*BOOT)

BEATS: Final = Grouping(
    keys=BOOT,
    measures={
        "intervals": Measure(How.COUNT, (), "begins_inside"),
        "hole_ms": Measure(How.SUM, ("hole_ms",)),
        "covered_from_ms": Measure(How.LEAST, ("begin_ms",)),
        "covered_to_ms": Measure(How.GREATEST, ("end_ms",)),
        "interval_ms": Measure(How.GREATEST, ("interval_ms",)),
        "cluster": Measure(How.LEAST, ("cluster_id",)),
        "last_cluster": Measure(How.GREATEST, ("cluster_id",)),
        "lines_dropped": Measure(How.GREATEST, ("lines_dropped",)),
        "dropped_before": Measure(How.LEAST, ("lines_dropped",)),
        "decisions_suppressed": Measure(How.SUM, ("decisions_suppressed",), "begins_inside"),
        "batches_folded": Measure(How.SUM, ("batches_folded",), "begins_inside"),
    },
)
"""The heartbeats of each boot: `hole_ms` is the time between them that none covers, `interval_ms` the longest
interval. `lines_dropped` counts since the boot began, `dropped_before` up to the first of the heartbeats."""


def boots(identified: DataFrame, side: Side) -> list[Boot]:
    """One row for each boot that is of the period (`is_of_period`), or has repeated lines, in the order of
    BOOT.

    `identified`: all lines with an identity, also those on either `side` of the period. Keys: the columns of
    `sequence.spans` and of BEATS; those of BEATS are None for a boot without a heartbeat.
    """
    spans = frames.rows(sequence.spans(sequence.words(identified, side(F.col("day")))))
    beats = {_boot(row): row for row in frames.rows(heartbeats(identified, side))}
    none = dict.fromkeys(BEATS.measures)
    rows = [none | beats.get(_boot(span), {}) | span for span in sorted(spans, key=_boot)]
    return [row for row in rows if row["is_repeated"] or is_of_period(row)]


def is_of_period(row: Boot) -> bool:
    """True for a boot with lines in the period, or that lost all of them: it was heard until the period
    began, and did not stop."""
    return row["seq_from"] is not None or (row["covered_from_ms"] is not None and not row["stopped"])


def facts(side: Side) -> dict[str, Column]:
    """The facts about a heartbeat that covers a part of the period, or ends where it begins; null for other
    lines.

    `begin_ms`, `end_ms`, and `begins_inside`: the interval began in the period. Heartbeats that were set
    aside cover nothing: their times may be wrong.

    An interval belongs to the day on which it began, but may reach into the next day: for example if the
    clock jumped over midnight.
    """
    begin_ms = instant_ms("interval_start")
    end_ms = begin_ms + F.col("interval_ms")
    last_ms = F.greatest(begin_ms, end_ms + JITTER_MS)
    last_day = F.substring(F.timestamp_millis(last_ms).cast("string"), 1, 10)
    begins = side(F.col("day"))
    is_usable = (F.col("event") == EventName.HEARTBEAT.value) & F.col("problem").isNull()
    # The two conditions are nested, so that Spark parses no instants of other lines.
    covers = F.when(is_usable, (begins <= 0) & (side(last_day) >= 0))
    return {
        "begin_ms": F.when(covers, begin_ms),
        "end_ms": F.when(covers, end_ms),
        "begins_inside": F.when(covers, begins == 0),
    }


def heartbeats(identified: DataFrame, side: Side) -> DataFrame:
    """BEATS: the part of the period that the heartbeats of each boot cover."""
    beats = identified.where(F.col("event") == EventName.HEARTBEAT.value).withColumns(facts(side))
    in_order = Window.partitionBy(*BOOT).orderBy("seq")
    hole = F.col("begin_ms") - F.lag("end_ms").over(in_order)
    held = beats.where(F.col("begin_ms").isNotNull()).withColumn("hole_ms", F.when(hole > JITTER_MS, hole))
    return frames.of_frame(BEATS, held)
