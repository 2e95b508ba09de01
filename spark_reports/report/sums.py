"""The lines of a period, added up by Spark: its counters by hour and key, and what else a report needs.

The rows of the rollup come to the driver, where all tables of totals are made from them (`table_source`). Its
memory grows with producers, topics and outcomes, and not with the lines of the log.
"""

import io
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final

import pyarrow as pa
from pyarrow import json as arrow_json
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.errors import NothingToReportError, UsageError
from spark_reports.log import frames, log_reader, read
from spark_reports.log.completeness import Evidence, by_problem, nothing_usable
from spark_reports.log.grouping import Rows
from spark_reports.log.read import Source
from spark_reports.log.sequence import BOOT
from spark_reports.report import rollup, transforms, wrong_clocks
from spark_reports.report.day import Day
from spark_reports.report.owners import MAX_CLIENTS
from spark_reports.report.table_source import TableSource
from tsproxy.decisions.fields import EventName
from tsproxy.decisions.text import bounded

_FEW: Final = 50_000
"""Up to this many lines, histograms are added up by name."""

_ROWS_AT_ONCE: Final = 20_000
"""So many rows of a table are text at a time, some 10 MB."""

_CLUSTERS_NAMED: Final = 5
EXAMPLES: Final = 2
"""So many rejected batches of each client and reason are shown."""
MAX_REFUSED: Final = 10_000
"""The most rows about clients that Kafka 4 refuses. A proxy names a thousand an interval."""

Process = tuple[str, str]
"""A proxy, and one of its boots."""


@contextmanager
def summed(spark: SparkSession, source: Source, cluster: str | None = None) -> Iterator["Sums | None"]:
    """Read the log and add it up: the lines of one `cluster`, by its id, or of the only one. None if the log
    holds no line of the period, or none of that cluster: a day before a move keeps its report.

    Raises pyspark's AnalysisException if an input does not exist, NothingToReportError if the lines of the
    period are all unusable, and UsageError if they are of several clusters and none is asked for.
    """
    with log_reader.lines(spark, source) as log, ExitStack() as stack:
        evidence = log.evidence()
        if not any(row["inside"] for row in evidence.files):
            if unusable := by_problem(evidence.files, "unusable"):
                raise NothingToReportError(nothing_usable(source.first, source.last, unusable))
            yield None
        else:
            if cluster is None:
                require_one_cluster(evidence.boots)
            lines = of_cluster(log.frame, cluster)
            if cluster is not None and lines.where("is_inside").isEmpty():
                yield None
                return
            usable, harmed = transforms.named(lines.where("is_inside")), []
            if wrong := wrong_clocks.times(log.frame):
                marked = frames.kept(stack, wrong_clocks.marked(usable, wrong))
                usable, harmed = wrong_clocks.others(marked), wrong_clocks.harmed(marked)
            yield Sums(source, evidence, lines, usable, stack, (wrong, harmed), cluster)


def require_one_cluster(boots: Iterable[Mapping[str, Any]]) -> None:
    """Raises UsageError if heartbeats name several clusters: a topic of both would be one topic."""
    named = (row[name] for row in boots for name in ("cluster", "last_cluster") if row[name] is not None)
    clusters = sorted(set(named))
    if len(clusters) > 1:
        options = ", ".join(f"--cluster {bounded(name)}" for name in clusters[:_CLUSTERS_NAMED])
        raise UsageError(
            f"the log is of {len(clusters)} clusters, and their numbers are not added up: give {options}, "
            "each with a --store of its own, or with a --rollup and an --output"
        )


def of_cluster(lines: DataFrame, cluster: str | None) -> DataFrame:
    """The lines of a cluster. None: all lines."""
    return lines if cluster is None else lines.where(F.col("cluster_id") == cluster)


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
    cluster: str | None = None

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

    @cached_property
    def processes(self) -> dict[str, set[Process]]:
        """The processes that wrote usable lines, by day."""
        if self.source.first == self.source.last and self.cluster is None:
            writers = {(row["proxy"], row["boot"]) for row in self.evidence.boots if row["lines"]}
            return {self.source.first.isoformat(): writers}
        by_day: dict[str, set[Process]] = {}
        for row in frames.rows(self.usable.select("day", *BOOT).distinct()):
            by_day.setdefault(row["day"], set()).add((row["proxy"], row["boot"]))
        return by_day

    def without_a_line(self, processes: Collection[Process]) -> set[Process]:
        """The processes among these of which no line was read, usable or not."""
        asked = self.lines.where(F.col("boot").isin(*{boot for _, boot in processes}))
        seen = frames.rows(read.identified(asked).select(*BOOT).distinct())
        return {*processes} - {(row["proxy"], row["boot"]) for row in seen}

    def day(self) -> Day:
        """All that a report needs, on the driver."""
        worst = transforms.worst_clients(self.rolled, MAX_CLIENTS)
        addresses = transforms.client_addresses(self._counters)
        examples = transforms.examples(self._of(EventName.DECISION), EXAMPLES)
        return Day(
            first=self.source.first,
            last=self.source.last,
            counters=TableSource.of_rollup(collected(self.rolled)),
            buckets=self._buckets(),
            evidence=self.evidence,
            clocks=self.clocks,
            addresses=frames.rows(transforms.of_clients(addresses, worst)),
            examples=frames.rows(transforms.of_clients(examples, worst)),
            limits=frames.rows(transforms.limits(self._of(EventName.LIFECYCLE))),
            refused=frames.rows(transforms.refused_by_kafka_4(self._of(EventName.CLIENT), MAX_REFUSED)),
        )

    def _buckets(self) -> TableSource:
        """The buckets of all histograms by topic. If the rollup's are there, they are added up again."""
        is_there = "drifts" in self.__dict__
        drift = rollup.of_topics(self.drifts) if is_there else rollup.topic_drift(self._counters)
        return TableSource(collected(drift))

    @property
    def _counters(self) -> DataFrame:
        return self._of(EventName.COUNTERS)

    def _of(self, event: EventName) -> DataFrame:
        return self.usable.where(F.col("event") == event.value)


_ARROW: Final = {"string": pa.string(), "boolean": pa.bool_()}
"""The types of pyarrow for those of Spark; all others are whole numbers."""


def collected(frame: DataFrame) -> pa.Table:
    """All rows of a frame of texts, whole numbers and booleans.

    Spark 3.5 has no `toArrow`, and rows as Python's objects take twice the time of this text.
    """
    schema = pa.schema([(name, _ARROW.get(kind, pa.int64())) for name, kind in frame.dtypes])
    options = arrow_json.ParseOptions(explicit_schema=schema)
    texts = (row[0] for row in frame.select(F.to_json(F.struct("*"))).toLocalIterator())
    tables = [schema.empty_table()]
    while chunk := "\n".join(islice(texts, _ROWS_AT_ONCE)):
        tables.append(arrow_json.read_json(io.BytesIO(chunk.encode()), parse_options=options))
    return pa.concat_tables(tables)
