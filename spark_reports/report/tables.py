"""Runs the transforms over a log and brings their small results to the driver.

For the daily report only this module makes Spark work: everything before it is lazy, everything after it is
plain Python. The size of a result is bounded by `top`, or by the number of hours, reasons and boots.
Nothing is written here.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.exits import NothingToReportError
from spark_reports.log import boots, delivered, read, sequence
from spark_reports.log.completeness import GAPS_LISTED, Evidence, LineGap, by_problem, nothing_usable
from spark_reports.log.read import Log, Source
from spark_reports.report import groups, rollup, transforms
from spark_reports.report.groups import Rows
from spark_reports.report.tabled import rows, tabled
from spark_reports.spark.session import small_queries
from tsproxy.decisions.fields import EventName

TOPICS_PER_CLIENT = 5
EXAMPLES_PER_REASON = 2
CLIENTS_PER_TOPIC = 3
TOPICS_COMPARED = 50
"""The topics with most rejected records, of which the drift is known."""

MOST_CHANGES: Final = 10_000
"""The most clients that changed against the days before, and that are counted."""

_FEW = 50_000
"""Up to this many rows of `Sums.rolled` are collected, and their tables are made here."""

OF_ROLLUP: Final = (
    *(groups.SUMMARY, groups.WORST_TOPICS, groups.TOPICS, groups.HOURS, groups.REASONS, groups.RULES),
    *(groups.PRODUCERS, groups.CLIENT_REASONS, groups.CLIENT_TOPICS, groups.CLIENT_HOURS),
    *(groups.TOPIC_CLIENTS, groups.WOULD_REJECT, *groups.PLAIN.values()),
)
_OF_DRIFT: Final = (groups.DRAWN, groups.TOTALS, groups.TOPIC_TOTALS)
_OF_LIFECYCLE: Final = (groups.IN_FORCE, groups.LIMITS)


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
    """The whole log is small (`log.size`)."""
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of `groups` and `transforms` of the same names; rows as dicts."""

    summary: dict[str, Any]
    topics: Rows
    topic_clients: Rows
    topic_totals: Rows
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
    would_reject: Rows
    plain: Mapping[str, Rows]
    """The tables of `groups.PLAIN`."""
    rules: Rows
    in_force: Rows
    days: Rows
    """`rollup.days`; empty without a rollup."""
    changes: Rows
    new_producers: int
    """The changes that are `new`, also those that `changes` leaves out."""
    clients: Rows
    """`groups.PRODUCERS` of many clients, if their owners are asked for; else empty."""
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
        files = delivered.rows(read.files(log.lines, source.first, source.last))
        if not any(row["inside"] for row in files):
            if unusable := by_problem(files, "unusable"):
                raise NothingToReportError(nothing_usable(source.first, source.last, unusable))
            yield None
            return
        evidence = Evidence(*proof(log, sequence.side(source.first, source.last)), files)
        usable = read.of_period(read.usable(log.lines), source.first, source.last)
        counters = read.of_event(usable, EventName.COUNTERS)
        # These pass over all lines. Their results are usually small, and several queries read them.
        rolled = kept(transforms.rollup(counters))
        yield Sums(
            source=source,
            usable=usable,
            rolled=rolled,
            addresses=transforms.client_addresses(counters),
            drifts=kept(_drifts(counters, rolled, log.is_small)),
            is_small=log.is_small,
            evidence=evidence,
        )


def proof(log: Log, side: Column, listed: int = GAPS_LISTED) -> tuple[Rows, list[LineGap]]:
    """The rows of `boots.boots`, and up to `listed` runs of lost lines. `sequence.side` makes `side`."""
    identified = read.identified(log.lines)
    boot_rows = sorted(rows(boots.boots(log.words, identified, side)), key=itemgetter(*sequence.BOOT))
    # Each of them has a gap, so later ones cannot be among the first gaps.
    lossy = [row for row in boot_rows if row["lost_lines"]][:listed]
    if not lossy:
        return boot_rows, []
    found = rows(sequence.gaps(identified, _spans_of(identified.sparkSession, lossy), listed))
    return boot_rows, [LineGap(**row) for row in found]  # type: ignore[typeddict-item]  # the columns are its keys


def _spans_of(spark: SparkSession, boot_rows: Rows) -> DataFrame:
    """BOOT, `seq_from` and `seq_to` of these rows: to ask for them once more would cost a query."""
    names = (*sequence.BOOT, "seq_from", "seq_to")
    values = json.dumps([{name: row[name] for name in names} for row in boot_rows])
    form = "array<struct<proxy:string,boot:string,seq_from:bigint,seq_to:bigint>>"
    return spark.range(1).select(F.inline(F.from_json(F.lit(values), form)))


def collect(sums: Sums, top: int, known: DataFrame | None = None, owned: int = 0) -> Tables:
    """Compute every table of the period.

    `known`: `producers` of a rollup, the period and the days before it; None if there is no rollup. `owned`:
    the number of the worst clients whose owners are asked for.
    """
    with ExitStack() as stack:
        if is_few := sums.is_small or sums.rolled.count() <= _FEW:
            stack.enter_context(small_queries(sums.rolled.sparkSession))
        rolled = tabled(stack, _few(sums.rolled, is_few), OF_ROLLUP, is_few=is_few)
        drifts = tabled(stack, _few(sums.drifts, is_few), _OF_DRIFT, is_few=sums.is_small)
        decisions = read.of_event(sums.usable, EventName.DECISION)
        producers, of_worst, only_worst = rolled.of_worst_clients(top)
        by_topic = rolled.of_worst_topics(top)
        changes = [] if known is None else rows(rollup.changes(known, sums.source.last, MOST_CHANGES))
        topics = by_topic.table(groups.TOPICS)
        topic_clients = by_topic.table(groups.TOPIC_CLIENTS, CLIENTS_PER_TOPIC)
        of_topics = _of_topics(sums.usable, {row["topic"] for row in topics if row["topic"] is not None})
        lifecycle = tabled(stack, of_topics, _OF_LIFECYCLE, is_few=sums.is_small)
        return Tables(
            summary=rolled.table(groups.SUMMARY)[0],
            topics=topics,
            topic_clients=topic_clients,
            topic_totals=drifts.of_topics(_worst(topic_clients)).table(groups.TOPIC_TOTALS),
            hours=by_topic.table(groups.HOURS),
            reasons=rolled.table(groups.REASONS),
            producers=producers,
            client_reasons=of_worst.table(groups.CLIENT_REASONS),
            client_topics=of_worst.table(groups.CLIENT_TOPICS, TOPICS_PER_CLIENT),
            client_hours=of_worst.table(groups.CLIENT_HOURS),
            client_addresses=only_worst(sums.addresses),
            examples=only_worst(transforms.examples(decisions, EXAMPLES_PER_REASON)),
            drift=drifts.table(groups.DRAWN),
            what_if=drifts.table(groups.TOTALS),
            would_reject=rolled.table(groups.WOULD_REJECT, top),
            plain={name: rolled.table(table, top) for name, table in groups.PLAIN.items()},
            rules=rolled.table(groups.RULES, top),
            in_force=lifecycle.table(groups.IN_FORCE, top),
            days=[] if known is None else rows(rollup.days(known)),
            changes=changes[:top],
            new_producers=sum(row["kind"] == "new" for row in changes),
            clients=rolled.table(groups.PRODUCERS, owned) if owned else [],
            limits=lifecycle.table(groups.LIMITS),
            evidence=sums.evidence,
        )


def _worst(topic_clients: Rows) -> list[str]:
    """The topics to compare, by the rejected records of their worst clients."""
    rejected: dict[str, int] = {}
    for row in topic_clients:
        if row["topic"] is not None:
            rejected[row["topic"]] = rejected.get(row["topic"], 0) + row["rejected_records"]
    return sorted(rejected, key=lambda topic: (-rejected[topic], topic))[:TOPICS_COMPARED]


def _of_topics(usable: DataFrame, topics: Collection[str]) -> DataFrame:
    """The lifecycle lines that concern no topic, or one of these: limits of others are not shown."""
    is_shown = F.col("topic").isNull() | F.col("topic").isin(*topics)
    return read.of_event(usable, EventName.LIFECYCLE).where(is_shown)


def _few(frame: DataFrame, is_few: bool) -> DataFrame:
    """Few rows in one partition, so that a query of them is one task."""
    return frame.coalesce(1) if is_few else frame


def _drifts(counters: DataFrame, rolled: DataFrame, is_small: bool) -> DataFrame:
    """`rollup.drift`. Many counters are grouped by the numbers of their keys, unless two keys share a number,
    which is very rare."""
    if is_small:
        return rollup.drift(counters, None)
    keys = rollup.drift_keys(rolled)
    return rollup.drift(counters, keys if rollup.ambiguous(keys).isEmpty() else None)
