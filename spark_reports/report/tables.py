"""Runs the transforms over a log and brings their small results to the driver.

For the daily report only this module makes Spark work: everything before it is lazy, everything after it is
plain Python. The size of a result is bounded by `top`, or by the number of hours, reasons, boots and files.
Nothing is written here.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from spark_reports.exits import NothingToReportError
from spark_reports.log import boots, read, sequence
from spark_reports.log.completeness import GAPS_LISTED, Evidence, LineGap, by_problem, nothing_usable
from spark_reports.log.read import Log, Source
from spark_reports.report import rollup, transforms
from spark_reports.spark.session import small_queries
from tsproxy.decisions.fields import EventName

Rows = list[dict[str, Any]]

TOPICS_PER_CLIENT = 5
EXAMPLES_PER_REASON = 2

_SMALL = 50_000
"""Up to this many rows in `Sums.rolled`, a query costs less if it is neither compiled nor spread out."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The lines of a period, added up. The DataFrames are computed once and kept while `summed` is open."""

    source: Source
    usable: DataFrame
    """The usable lines of the period."""
    rolled: DataFrame
    """`transforms.rollup`"""
    addresses: DataFrame
    """`transforms.client_addresses`"""
    drifts: DataFrame
    """`rollup.drift`"""
    is_small: bool
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Tables:
    """The results of the transforms of the same names; rows as dicts."""

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
    """`rollup.totals`"""
    would_reject: Rows
    plain: Mapping[str, Rows]
    """The results of `transforms.PLAIN`."""
    rules: Rows
    in_force: Rows
    days: Rows
    """`rollup.days`; empty without a rollup."""
    changes: Rows
    limits: Rows
    evidence: Evidence


@contextmanager
def summed(spark: SparkSession, source: Source) -> Iterator[Sums | None]:
    """Read the log and add it up; None if it holds no line of the period.

    Raises pyspark's AnalysisException if an input does not exist, NothingToReportError if the lines of the
    period are all unusable.
    """
    with read.opened(spark, source) as log, ExitStack() as stack:
        kept = partial(read.kept, stack)
        files = rows(read.files(log.lines, source.first, source.last))
        if not any(row["inside"] for row in files):
            if unusable := by_problem(files, "unusable"):
                raise NothingToReportError(nothing_usable(source.first, source.last, unusable))
            yield None
            return
        evidence = Evidence(*proof(log, sequence.side(source.first, source.last)), files)
        usable = read.of_period(read.usable(log.lines), source.first, source.last)
        counters = read.of_event(usable, EventName.COUNTERS)
        # These pass over all lines. Their results are usually small, and many queries read them.
        rolled = kept(transforms.rollup(counters))
        addresses = kept(transforms.client_addresses(counters))
        addresses.count()
        is_small = rolled.count() <= _SMALL
        rolled = rolled.coalesce(1) if is_small else rolled
        yield Sums(
            source=source,
            usable=usable,
            rolled=rolled,
            addresses=addresses,
            drifts=kept(_drifts(spark, counters, rolled, is_small)),
            is_small=is_small,
            evidence=evidence,
        )


def proof(log: Log, side: Column, listed: int = GAPS_LISTED) -> tuple[Rows, list[LineGap]]:
    """The rows of `boots.boots`, and up to `listed` runs of lost lines. `sequence.side` makes `side`."""
    identified = read.identified(log.lines)
    boot_rows = rows(boots.boots(log.words, identified, side))
    if not any(row["lost_lines"] for row in boot_rows):
        return boot_rows, []
    lossy = sequence.spans(log.words).where("lost_lines > 0")
    found = rows(sequence.gaps(identified, lossy, listed))
    return boot_rows, [LineGap(**row) for row in found]  # type: ignore[typeddict-item]  # the columns are its keys


def collect(spark: SparkSession, sums: Sums, top: int, known: DataFrame | None = None) -> Tables:
    """Compute every table of the period.

    `known`: `producers` of a rollup, the period and the days before it; None if there is no rollup.
    """
    rolled, usable = sums.rolled, sums.usable
    drifts = sums.drifts.coalesce(1) if sums.is_small else sums.drifts
    with ExitStack() as stack:
        kept = partial(read.kept, stack)
        stack.enter_context(_settings(spark, sums.is_small))
        worst = kept(transforms.worst(transforms.producers(rolled), top))
        of_worst = kept(transforms.of_clients(rolled, worst))
        by_topic = kept(transforms.only_topics(rolled, transforms.worst_topics(rolled, top)))
        lifecycle = read.of_event(usable, EventName.LIFECYCLE)
        examples = transforms.examples(read.of_event(usable, EventName.DECISION), EXAMPLES_PER_REASON)
        return Tables(
            summary=rows(transforms.summary(rolled))[0],
            topics=rows(transforms.topics(by_topic)),
            hours=rows(transforms.hours(by_topic)),
            reasons=rows(transforms.reasons(rolled)),
            producers=rows(worst),
            client_reasons=rows(transforms.client_reasons(of_worst)),
            client_topics=rows(transforms.client_topics(of_worst, TOPICS_PER_CLIENT)),
            client_hours=rows(transforms.client_hours(of_worst)),
            client_addresses=rows(transforms.of_clients(sums.addresses, worst)),
            examples=rows(transforms.of_clients(examples, worst)),
            drift=rows(rollup.drawn(drifts)),
            what_if=rows(rollup.totals(drifts)),
            would_reject=rows(transforms.would_reject(rolled, top)),
            plain={name: rows(frame(rolled, top)) for name, frame in transforms.PLAIN.items()},
            rules=rows(transforms.rules(rolled, top)),
            in_force=rows(transforms.in_force(lifecycle, top)),
            days=[] if known is None else rows(rollup.days(known)),
            changes=[] if known is None else rows(rollup.changes(known, sums.source.last, top)),
            limits=rows(transforms.limits(lifecycle)),
            evidence=sums.evidence,
        )


def _drifts(spark: SparkSession, counters: DataFrame, rolled: DataFrame, is_small: bool) -> DataFrame:
    """`rollup.drift`, grouped by the numbers of its keys unless two keys share a number (very rare)."""
    keys = rollup.drift_keys(rolled)
    with _settings(spark, is_small):
        is_sound = rollup.ambiguous(keys).isEmpty()
    return rollup.drift(counters, keys if is_sound else None)


def _settings(spark: SparkSession, is_small: bool) -> AbstractContextManager[None]:
    return small_queries(spark) if is_small else nullcontext()


def rows(frame: DataFrame) -> Rows:
    """Everything in a small DataFrame, as dicts."""
    return [row.asDict(recursive=True) for row in frame.collect()]
