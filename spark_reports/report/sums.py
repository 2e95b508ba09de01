"""The lines of a period, added up by Spark.

Counters are added up by hour and key. If the result has few rows, they are collected, and the tables are made
from them by plain Python: a query of Spark costs more than a loop over a few thousand rows.
"""

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.exits import NothingToReportError
from spark_reports.log import frames, log_reader, read
from spark_reports.log.completeness import Evidence, by_problem, nothing_usable
from spark_reports.log.grouping import Rows
from spark_reports.log.read import Source
from spark_reports.log.sequence import BOOT
from spark_reports.report import rollup, table_source, transforms, wrong_clocks
from spark_reports.report.table_source import Tabled
from tsproxy.decisions.fields import EventName

_FEW: Final = 50_000
"""Up to this many rows of a rollup, of histograms or of lifecycle lines are collected. Up to this many lines,
histograms are added up by name."""

_LIFECYCLE: Final = (
    *("ts", "proxy", "boot", "seq", "kind", "facts"),
    *("topic", "timestamp_type", "before_max_ms", "after_max_ms"),
)

Process = tuple[str, str]
"""A proxy, and one of its boots."""


@contextmanager
def summed(spark: SparkSession, source: Source) -> Iterator["Sums | None"]:
    """Read the log and add it up; None if it holds no line of the period.

    Raises pyspark's AnalysisException if an input does not exist, NothingToReportError if the lines of the
    period are all unusable.
    """
    with log_reader.lines(spark, source) as log, ExitStack() as stack:
        evidence = log.evidence()
        if not any(row["inside"] for row in evidence.files):
            if unusable := by_problem(evidence.files, "unusable"):
                raise NothingToReportError(nothing_usable(source.first, source.last, unusable))
            yield None
        else:
            usable, harmed = transforms.named(log.frame.where("is_inside")), []
            if wrong := wrong_clocks.times(log.frame):
                marked = frames.kept(stack, wrong_clocks.marked(usable, wrong))
                usable, harmed = wrong_clocks.others(marked), wrong_clocks.harmed(marked)
            yield Sums(source, evidence, log.frame, usable, stack, (wrong, harmed))


@dataclass(frozen=True)
class Sums:
    """The `usable` lines of a period, with the names of `transforms.named`, from which tables are made while
    `summed` is open, and all lines that were read. `stack` releases the frames that Spark keeps."""

    source: Source
    evidence: Evidence
    lines: DataFrame
    usable: DataFrame
    stack: ExitStack
    clocks: tuple[Rows, Rows]
    """`wrong_clocks.times` and `harmed`."""

    @cached_property
    def rolled(self) -> DataFrame:
        """`transforms.rollup`."""
        return frames.kept(self.stack, transforms.rollup(self._counters))

    @cached_property
    def drifts(self) -> DataFrame:
        """`rollup.drift`, for a rollup that is stored. Many counters are grouped by the numbers of their
        keys, unless two keys share a number, which is very rare."""
        keys: DataFrame | None = None
        if sum(row["lines"] for row in self.evidence.boots) > _FEW:
            numbered = rollup.drift_keys(self.rolled)
            keys = numbered if rollup.ambiguous(numbered).isEmpty() else None
        return frames.kept(self.stack, rollup.drift(self._counters, keys))

    @property
    def _counters(self) -> DataFrame:
        return read.of_event(self.usable, EventName.COUNTERS)

    @cached_property
    def processes(self) -> dict[str, set[Process]]:
        """The processes that wrote usable lines, by day."""
        if self.source.first == self.source.last:
            own = {(row["proxy"], row["boot"]) for row in self.evidence.boots if row["lines"]}
            return {self.source.first.isoformat(): own}
        found: dict[str, set[Process]] = {}
        for row in frames.rows(self.usable.select("day", *BOOT).distinct()):
            found.setdefault(row["day"], set()).add((row["proxy"], row["boot"]))
        return found

    def without_a_line(self, processes: Collection[Process]) -> set[Process]:
        """The processes among these of which no line was read, usable or not."""
        asked = self.lines.where(F.col("boot").isin(*{boot for _, boot in processes}))
        found = frames.rows(read.identified(asked).select(*BOOT).distinct())
        return {*processes} - {(row["proxy"], row["boot"]) for row in found}

    def counters(self) -> Tabled:
        return self._tabled(self.rolled)

    def buckets(self) -> Tabled:
        """The buckets of all histograms by topic. If the rollup's are there, they are added up again."""
        is_there = "drifts" in self.__dict__
        drift = rollup.of_topics(self.drifts) if is_there else rollup.topic_drift(self._counters)
        return self._tabled(frames.kept(self.stack, rollup.with_own_side(drift)))

    def lifecycle(self, topics: Collection[str]) -> Tabled:
        """The lifecycle lines that concern no topic, or one of these."""
        is_asked = F.col("topic").isNull() | F.col("topic").isin(*topics)
        own = read.of_event(self.usable, EventName.LIFECYCLE).where(is_asked)
        flags = transforms.flags_of_lifecycle()
        return self._tabled(own.select(*_LIFECYCLE, *[flag.alias(name) for name, flag in flags.items()]))

    def _tabled(self, frame: DataFrame) -> Tabled:
        """The frame, collected if it has few rows."""
        found = frames.rows(frame.limit(_FEW + 1))
        return (
            table_source.Collected(found) if len(found) <= _FEW else table_source.InSpark(frame, self.stack)
        )

    def addresses(self, producers: Rows) -> Rows:
        """`transforms.client_addresses` of these clients."""
        return self.of_clients(transforms.client_addresses(self._counters), producers)

    def examples(self, producers: Rows, count: int) -> Rows:
        """`transforms.examples` of these clients."""
        decisions = read.of_event(self.usable, EventName.DECISION)
        return self.of_clients(transforms.examples(decisions, count), producers)

    def of_clients(self, frame: DataFrame, producers: Rows) -> Rows:
        return frames.rows(transforms.of_named_clients(frame, producers))
