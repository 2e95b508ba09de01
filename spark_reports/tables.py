"""Runs the transforms over a log and brings their small results to the driver.

The only room that makes Spark work: everything before it is lazy, everything after it plain Python. What
is collected is bounded by `top`, or by the number of hours, reasons, boots and files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from spark_reports import checks, read, transforms
from tsproxy.decisions.fields import EventName

Rows = list[dict[str, Any]]

TOPICS_PER_CLIENT = 5
EXAMPLES_PER_REASON = 2


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
    limits: Rows
    boots: list[Row]
    files: Rows
    """Of `read.files`."""


def collect(spark: SparkSession, inputs: Sequence[str], first: date, last: date, top: int) -> Tables | None:
    """Read the log and compute every table of the period; None where it holds nothing of the period.

    Raises pyspark's AnalysisException where an input is not there.
    """
    everything = read.kept(read.lines(spark, inputs, first, last))
    try:
        boots = checks.boots(read.identified(everything), first, last).collect()
        return _tables(everything, boots, first, last, top) if boots else None
    finally:
        everything.unpersist()


def _tables(everything: DataFrame, boots: list[Row], first: date, last: date, top: int) -> Tables:
    usable = read.of_period(read.usable(everything), first, last)
    counters = read.of_event(usable, EventName.COUNTERS)
    rolled = read.kept(transforms.rollup(counters))
    worst = read.kept(transforms.worst(transforms.producers(rolled), top))
    by_topic = read.kept(transforms.only_topics(rolled, transforms.worst_topics(rolled, top)))
    theirs = transforms.of_clients(rolled, worst)
    examples = transforms.examples(read.of_event(usable, EventName.DECISION), EXAMPLES_PER_REASON)
    try:
        return Tables(
            summary=_rows(transforms.summary(rolled))[0],
            topics=_rows(transforms.topics(by_topic)),
            hours=_rows(transforms.hours(by_topic)),
            reasons=_rows(transforms.reasons(rolled)),
            producers=_rows(worst),
            client_reasons=_rows(transforms.client_reasons(theirs)),
            client_topics=_rows(transforms.client_topics(theirs, TOPICS_PER_CLIENT)),
            client_hours=_rows(transforms.client_hours(theirs)),
            client_addresses=_rows(transforms.of_clients(transforms.client_addresses(counters), worst)),
            examples=_rows(transforms.of_clients(examples, worst)),
            drift=_rows(transforms.drift(counters)),
            limits=_rows(transforms.limits(read.of_event(usable, EventName.LIFECYCLE))),
            boots=boots,
            files=_rows(read.files(everything)),
        )
    finally:
        for frame in (by_topic, worst, rolled):
            frame.unpersist()


def _rows(frame: DataFrame) -> Rows:
    return [row.asDict(recursive=True) for row in frame.collect()]
