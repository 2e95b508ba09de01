"""Runs the transforms over a log and brings their small results to the driver.

The only room that makes Spark work: everything before it is lazy, everything after it plain Python. What
is collected is bounded by `top`, or by the number of hours, reasons, boots and files.
"""

from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from spark_reports import checks, read, rollup, sequence, set_aside, transforms
from spark_reports.problems import NothingToReportError
from spark_reports.read import Log, Source
from spark_reports.session import small_queries
from spark_reports.shape import LineGap
from tsproxy.decisions.fields import EventName

Rows = list[dict[str, Any]]

TOPICS_PER_CLIENT = 5
EXAMPLES_PER_REASON = 2

_SMALL = 50_000
"""Rows of a rollup up to which a query of it costs less when it is neither compiled nor spread out."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Results of the transforms of the same names, and of `checks.boots`; rows as dicts."""

    summary: dict[str, Any]
    topics: Rows
    hours: Rows
    reasons: Rows
    producers: Rows
    client_reasons: Rows
    client_topics: Rows
    client_hours: Rows
    client_addresses: Rows
    examples: Rows
    drift: Rows
    what_if: Rows
    """Of `rollup.totals`."""
    would_reject: Rows
    out_of_order: Rows
    rules: Rows
    in_force: Rows
    days: Rows
    """Of `rollup.days`; none where there is no rollup."""
    changes: Rows
    limits: Rows
    boots: Rows
    gaps: list[LineGap]
    files: Rows
    """Of `read.files`."""


def collect(spark: SparkSession, source: Source, top: int, rollup_in: str | None = None) -> Tables | None:
    """Read the log and compute every table of the period; None where it holds nothing of the period.

    `rollup_in`: the directory of `rollup`, where the period's days are written and those before it read.

    Raises pyspark's AnalysisException where an input is not there, NothingToReportError where lines of the
    period are there and none can be used.
    """
    with read.opened(spark, source) as log:
        files = rows(read.files(log.lines, source.first, source.last))
        if not any(row["inside"] for row in files):
            if unusable := set_aside.by_problem(files):
                raise NothingToReportError(set_aside.nothing_usable(source.first, source.last, unusable))
            return None
        boots, gaps = proof(log, sequence.side(source.first, source.last))
        return _tables(spark, log.lines, boots, gaps, files, source, top, rollup_in)


def proof(log: Log, side: Column, listed: int = checks.GAPS_LISTED) -> tuple[Rows, list[LineGap]]:
    """The rows of `checks.boots`, and up to `listed` runs of lost lines; `side` as for `sequence.words`."""
    identified = read.identified(log.lines)
    boots = rows(checks.boots(log.words, identified, side))
    if not any(row["lost_lines"] for row in boots):
        return boots, []
    lossy = sequence.spans(log.words).where("lost_lines > 0")
    found = rows(sequence.gaps(identified, lossy, listed))
    return boots, [LineGap(**row) for row in found]  # type: ignore[typeddict-item]  # the columns are its keys


def _tables(
    spark: SparkSession,
    everything: DataFrame,
    boots: Rows,
    gaps: list[LineGap],
    files: Rows,
    source: Source,
    top: int,
    rollup_in: str | None,
) -> Tables:
    usable = read.of_period(read.usable(everything), source.first, source.last)
    counters = read.of_event(usable, EventName.COUNTERS)
    with ExitStack() as stack:

        def kept(frame: DataFrame) -> DataFrame:
            stack.callback(read.kept(frame).unpersist)
            return frame

        # The passes over all lines. What they leave is small as a rule, and many things are asked of it.
        rolled = kept(transforms.rollup(counters))
        addresses = kept(transforms.client_addresses(counters))
        addresses.count()
        is_small = rolled.count() <= _SMALL
        rolled = rolled.coalesce(1) if is_small else rolled
        drifts = kept(_drifts(spark, counters, rolled, is_small))
        if rollup_in is not None:
            rollup.store(rollup.producers(rolled), rollup_in, "producers")
            rollup.store(drifts, rollup_in, "drift")
        drifts = drifts.coalesce(1) if is_small else drifts
        with _asked(spark, is_small):
            days, changes = _trend(spark, source, top, rollup_in)
            worst = kept(transforms.worst(transforms.producers(rolled), top))
            theirs = kept(transforms.of_clients(rolled, worst))
            by_topic = kept(transforms.only_topics(rolled, transforms.worst_topics(rolled, top)))
            lifecycle = read.of_event(usable, EventName.LIFECYCLE)
            examples = transforms.examples(read.of_event(usable, EventName.DECISION), EXAMPLES_PER_REASON)
            return Tables(
                summary=rows(transforms.summary(rolled))[0],
                topics=rows(transforms.topics(by_topic)),
                hours=rows(transforms.hours(by_topic)),
                reasons=rows(transforms.reasons(rolled)),
                producers=rows(worst),
                client_reasons=rows(transforms.client_reasons(theirs)),
                client_topics=rows(transforms.client_topics(theirs, TOPICS_PER_CLIENT)),
                client_hours=rows(transforms.client_hours(theirs)),
                client_addresses=rows(transforms.of_clients(addresses, worst)),
                examples=rows(transforms.of_clients(examples, worst)),
                drift=rows(rollup.drawn(drifts)),
                what_if=rows(rollup.totals(drifts)),
                would_reject=rows(transforms.would_reject(rolled, top)),
                out_of_order=rows(transforms.out_of_order(rolled, top)),
                rules=rows(transforms.rules(rolled, top)),
                in_force=rows(transforms.in_force(lifecycle, top)),
                days=days,
                changes=changes,
                limits=rows(transforms.limits(lifecycle)),
                boots=boots,
                gaps=gaps,
                files=files,
            )


def _drifts(spark: SparkSession, counters: DataFrame, rolled: DataFrame, is_small: bool) -> DataFrame:
    """`rollup.drift`: by numbers where each key has its own, which nearly always is so."""
    keys = rollup.drift_keys(rolled)
    with _asked(spark, is_small):
        is_sound = rollup.ambiguous(keys).isEmpty()
    return rollup.drift(counters, keys if is_sound else None)


def _asked(spark: SparkSession, is_small: bool) -> AbstractContextManager[None]:
    return small_queries(spark) if is_small else nullcontext()


def _trend(spark: SparkSession, source: Source, top: int, rollup_in: str | None) -> tuple[Rows, Rows]:
    if rollup_in is None:
        return [], []
    first = source.last - timedelta(days=rollup.DAYS_BEFORE)
    known = rollup.stored(spark, rollup_in, "producers", first, source.last)
    return rows(rollup.days(known)), rows(rollup.changes(known, source.last, top))


def rows(frame: DataFrame) -> Rows:
    """Everything in a small DataFrame, as dicts."""
    return [row.asDict(recursive=True) for row in frame.collect()]
