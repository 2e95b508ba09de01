"""The lines of a period, added up: from collected lines, or by Spark.

Both have the same methods (`Sums`). A small log is one query, which `opened.lines` has run. For a large log,
Spark adds up counters by hour and key. If the result has few rows, they are collected, and the tables are
made from them as for a small log.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.exits import NothingToReportError
from spark_reports.log import frames, opened, read
from spark_reports.log.completeness import Evidence, by_problem, nothing_usable
from spark_reports.log.grouping import Rows
from spark_reports.log.read import Source
from spark_reports.log.schema import COUNTERS_DDL
from spark_reports.report import few, rollup, tabled, transforms
from spark_reports.report.tabled import Tabled
from tsproxy.decisions.fields import EventName

_FEW: Final = 50_000
"""Up to this many rows of a rollup, or lifecycle lines, are collected."""

_LIFECYCLE: Final = (
    *("ts", "proxy", "boot", "seq", "kind", "facts"),
    *("topic", "timestamp_type", "before_max_ms", "after_max_ms"),
)
_CLIENT_DDL: Final = "client_id STRING, principal STRING"


class Sums(Protocol):
    """The usable lines of a period, from which tables are made while `summed` is open."""

    @property
    def source(self) -> Source: ...

    @property
    def evidence(self) -> Evidence: ...

    @property
    def rolled(self) -> DataFrame:
        """`transforms.rollup`, for a rollup that is stored."""

    @property
    def drifts(self) -> DataFrame:
        """`rollup.drift`, for a rollup that is stored."""

    def counters(self) -> Tabled:
        """Counters, or their rollup: the same tables come from both."""

    def buckets(self) -> Tabled:
        """`rollup.shape`."""

    def buckets_of(self, topics: Sequence[str]) -> Tabled:
        """The same as `buckets`, of a few topics, by `topic`."""

    def lifecycle(self, topics: Collection[str]) -> Tabled:
        """The lifecycle lines that concern no topic, or one of these."""

    def addresses(self, producers: Rows) -> Rows:
        """`transforms.client_addresses` of these clients."""

    def examples(self, producers: Rows, count: int) -> Rows:
        """`transforms.examples` of these clients."""


@contextmanager
def summed(spark: SparkSession, source: Source) -> Iterator[Sums | None]:
    """Read the log and add it up; None if it holds no line of the period.

    Raises pyspark's AnalysisException if an input does not exist, NothingToReportError if the lines of the
    period are all unusable.
    """
    with opened.lines(spark, source, transforms.line_facts()) as log, ExitStack() as stack:
        evidence = log.evidence()
        if not any(row["inside"] for row in evidence.files):
            if unusable := by_problem(evidence.files, "unusable"):
                raise NothingToReportError(nothing_usable(source.first, source.last, unusable))
            yield None
        elif isinstance(log, opened.Collected):
            usable = [line for line in log.rows if line["is_inside"]]
            yield SmallSums(source, evidence, usable, spark, stack)
        else:
            yield LargeSums(source, evidence, log.frame.where("is_inside"), stack)


@dataclass(frozen=True)
class SmallSums:
    """The sums of a few collected lines, which have the facts of `transforms.line_facts`."""

    source: Source
    evidence: Evidence
    usable: Rows
    spark: SparkSession
    stack: ExitStack

    @cached_property
    def _counters(self) -> Rows:
        return [line for line in self.usable if line["event"] == EventName.COUNTERS]

    @cached_property
    def _counters_frame(self) -> DataFrame:
        return frames.kept(self.stack, frames.frame_of(self.spark, self._counters, COUNTERS_DDL))

    @property
    def rolled(self) -> DataFrame:
        return transforms.rollup(self._counters_frame)

    @property
    def drifts(self) -> DataFrame:
        return rollup.drift(self._counters_frame, None)

    def counters(self) -> Tabled:
        return tabled.Collected(self._counters)

    def buckets(self) -> Tabled:
        return tabled.Collected(few.shape(self._counters))

    def buckets_of(self, topics: Sequence[str]) -> Tabled:
        return tabled.Collected(
            [
                {"topic": topic, **row}
                for topic in topics
                for row in few.shape(line for line in self._counters if line["topic"] == topic)
            ]
        )

    def lifecycle(self, topics: Collection[str]) -> Tabled:
        own = (line for line in self.usable if line["event"] == EventName.LIFECYCLE)
        return tabled.Collected([line for line in own if line["topic"] is None or line["topic"] in topics])

    def addresses(self, producers: Rows) -> Rows:
        return few.client_addresses(tabled.of_clients(self._counters, producers))

    def examples(self, producers: Rows, count: int) -> Rows:
        decisions = [line for line in self.usable if line["event"] == EventName.DECISION]
        return few.examples(tabled.of_clients(decisions, producers), count)


@dataclass(frozen=True)
class LargeSums:
    """The sums of a large log, by Spark from a frame of usable lines. `stack` releases the frames that Spark
    keeps."""

    source: Source
    evidence: Evidence
    usable: DataFrame
    stack: ExitStack

    @cached_property
    def rolled(self) -> DataFrame:
        return frames.kept(self.stack, transforms.rollup(self._counters))

    @cached_property
    def drifts(self) -> DataFrame:
        """Many counters are grouped by the numbers of their keys, unless two keys share a number, which is
        very rare."""
        keys = rollup.drift_keys(self.rolled)
        by_number = rollup.ambiguous(keys).isEmpty()
        return frames.kept(self.stack, rollup.drift(self._counters, keys if by_number else None))

    @property
    def _counters(self) -> DataFrame:
        return read.of_event(self.usable, EventName.COUNTERS)

    def counters(self) -> Tabled:
        return self._tabled(self.rolled)

    @cached_property
    def _buckets(self) -> DataFrame:
        """The drift for the rollup, if it was computed. Otherwise histograms are added up by topic alone."""
        if "drifts" in self.__dict__:
            return self.drifts
        return frames.kept(self.stack, rollup.topic_drift(self._counters))

    def buckets(self) -> Tabled:
        return tabled.Collected(frames.rows(rollup.shape(self._buckets)))

    def buckets_of(self, topics: Sequence[str]) -> Tabled:
        shape = rollup.shape(transforms.of_topics(self._buckets, topics), "topic")
        return tabled.Collected(frames.rows(shape))

    def lifecycle(self, topics: Collection[str]) -> Tabled:
        is_asked = F.col("topic").isNull() | F.col("topic").isin(*topics)
        own = read.of_event(self.usable, EventName.LIFECYCLE).where(is_asked)
        flags = transforms.flags_of_lifecycle()
        return self._tabled(own.select(*_LIFECYCLE, *[flag.alias(name) for name, flag in flags.items()]))

    def _tabled(self, frame: DataFrame) -> Tabled:
        """The frame, collected if it has few rows."""
        found = frames.rows(frame.limit(_FEW + 1))
        return tabled.Collected(found) if len(found) <= _FEW else tabled.InSpark(frame, self.stack)

    def addresses(self, producers: Rows) -> Rows:
        return self._of_clients(transforms.client_addresses(self._counters), producers)

    def examples(self, producers: Rows, count: int) -> Rows:
        decisions = read.of_event(self.usable, EventName.DECISION)
        return self._of_clients(transforms.examples(decisions, count), producers)

    def _of_clients(self, frame: DataFrame, producers: Rows) -> Rows:
        clients = frames.frame_of(frame.sparkSession, producers, _CLIENT_DDL)
        return frames.rows(transforms.of_clients(frame, clients))
