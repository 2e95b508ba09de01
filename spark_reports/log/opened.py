"""The lines of a log that may concern the days: each once, and the evidence that none is missing.

The size of the input is known before anything is read, and decides between two ways (`size`). A small log is
one query: Spark reads the lines, marks them and computes everything about each single line (its *facts*). The
lines are collected, and plain Python does the rest. A large log stays in Spark, which keeps its lines and
adds them up.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from operator import itemgetter
from types import MappingProxyType
from typing import Final, Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import boots, collected, delivered, frames, grouping, read, sequence, size
from spark_reports.log.completeness import GAPS_LISTED, Boot, Evidence, LineGap
from spark_reports.log.grouping import Rows
from spark_reports.log.read import Source
from spark_reports.log.sequence import Side
from spark_reports.log.store import Form
from spark_reports.spark.session import small_queries

_NO_FACTS: Final[Mapping[str, Column]] = MappingProxyType({})
_SPAN_DDL: Final = "proxy STRING, boot STRING, seq_from BIGINT, seq_to BIGINT"


class Lines(Protocol):
    """The lines, each once."""

    def evidence(self, listed: int = GAPS_LISTED) -> Evidence:
        """The boots, up to `listed` gaps, and the files."""


@contextmanager
def lines(
    spark: SparkSession,
    source: Source,
    facts: Mapping[str, Column] = _NO_FACTS,
    side: Side | None = None,
) -> Iterator["Collected | InSpark"]:
    """The lines of a source. Raises AnalysisException for a missing path.

    `facts`: more columns that the lines of a small log have. `side`: the side of each day; None for that of
    the source. While the lines are open, the session spreads queries by the log's `size`.
    """
    side = side or sequence.side_of(source.first, source.last)
    files = read.facts(source.first, source.last)
    with ExitStack() as stack:
        marked = read.marked_lines(spark, source)
        file_bytes = size.file_bytes(marked, source.form)
        if size.is_small(marked, source.form, file_bytes):
            stack.enter_context(small_queries(spark))
            day_side = side(F.col("day"))
            wanted = {**sequence.facts(day_side), **boots.facts(side), **files, **facts}
            marked = marked.coalesce(1)
            found = frames.rows(marked.withColumns(wanted))
            if conflicts := collected.conflicts(found):  # their facts are others
                found = frames.rows(read.with_conflicts(marked, conflicts).withColumns(wanted))
            yield Collected(collected.each_once(found))
            return
        stack.enter_context(size.spread(spark, file_bytes))
        if source.form is Form.JSON:
            frames.kept(stack, marked)
        once, worded = marked, _worded(stack, marked, side)
        dirty = sequence.repeated(worded)
        if not dirty.isEmpty():
            once = frames.kept(stack, read.deduplicated(marked, dirty))
            worded = _worded(stack, once, side)
        yield InSpark(once.withColumns(files), worded, side)


def _worded(stack: ExitStack, marked: DataFrame, side: Side) -> DataFrame:
    return frames.kept(stack, sequence.words(read.identified(marked), side(F.col("day"))))


@dataclass(frozen=True, slots=True)
class Collected:
    """The lines of a small log, with their facts."""

    rows: Rows

    def evidence(self, listed: int = GAPS_LISTED) -> Evidence:
        found = collected.boots(self.rows)
        examples = grouping.of_rows(read.EXAMPLES, self.rows)
        return Evidence(
            found,
            collected.gaps(self.rows, _lossy(found, listed), listed),
            _with_examples(grouping.of_rows(read.FILES, self.rows), examples),
        )


@dataclass(frozen=True, slots=True)
class InSpark:
    """The lines of a log of any size, with the facts of `read`."""

    frame: DataFrame
    words: DataFrame
    """`sequence.words` of the identified lines."""
    side: Side

    def evidence(self, listed: int = GAPS_LISTED) -> Evidence:
        identified = read.identified(self.frame)
        found = frames.rows(boots.boots(self.words, identified, self.side))
        found.sort(key=itemgetter(*sequence.BOOT))
        files = delivered.rows(frames.of_frame(read.FILES, self.frame))
        has_problems = any(row["problem"] is not None for row in files)
        # Spark sorts to find the least text. In a separate query, it sorts only the few unusable lines.
        examples = frames.of_frame(read.EXAMPLES, self.frame).orderBy("file", "problem").limit(delivered.FEW)
        return Evidence(
            found,
            self._gaps(identified, _lossy(found, listed), listed),
            _with_examples(files, frames.rows(examples) if has_problems else []),
        )

    def _gaps(self, identified: DataFrame, lossy: list[Boot], listed: int) -> list[LineGap]:
        if not lossy:
            return []
        # Computing the spans once more would cost a query.
        spans = frames.frame_of(identified.sparkSession, lossy, _SPAN_DDL)
        found = frames.rows(sequence.gaps(identified, spans, listed))
        return [LineGap(**row) for row in found]  # type: ignore[typeddict-item]  # the columns are its keys


def _lossy(found: list[Boot], listed: int) -> list[Boot]:
    """The boots that the list of gaps needs: the first `listed` with lost lines. Each of them has a gap, so
    the list has no room for later boots."""
    return [row for row in found if row["lost_lines"]][:listed]


def _with_examples(files: Rows, examples: Rows) -> Rows:
    """The rows of `read.FILES` with their `duplicates` and, for lines set aside, their `example`."""
    known = {(row["file"], row["problem"]): row["example"] for row in examples}
    return [
        row | {"duplicates": row["lines"] - row["once"], "example": known.get((row["file"], row["problem"]))}
        for row in files
    ]
