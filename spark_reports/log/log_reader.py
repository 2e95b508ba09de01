"""The lines of a log that may concern the days: each once, and the evidence that none is missing.

Spark reads, marks and keeps the lines. One query folds their numbers and their heartbeats into a row for each
boot. If a row shows a repeated line, each line is read once more, and counts once.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import boots, frames, read, second_read, sequence, set_aside
from spark_reports.log.completeness import GAPS_LISTED, Boot, Evidence, LineGap
from spark_reports.log.grouping import Rows
from spark_reports.log.read import Source
from spark_reports.log.sequence import Side

FEW: Final = 1_000
"""Up to this many rows about files are collected as they are. The driver does not get a row for each file of
a fleet."""
_EXAMPLES: Final = 5
_SPAN_DDL: Final = f"{sequence.BOOT_DDL}, seq_from BIGINT, seq_to BIGINT"


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines, each once, with the facts of `read`."""

    frame: DataFrame
    boots: list[Boot]
    """The rows of `boots.boots`, in the order of proxy and boot."""

    def evidence(self, listed: int = GAPS_LISTED) -> Evidence:
        """The boots, up to `listed` gaps, and the files."""
        return Evidence(self.boots, self._gaps(listed), self._with_examples(_files(self.frame)))

    def _gaps(self, listed: int) -> list[LineGap]:
        # Each boot with lost lines has a gap, so the list has no room for later boots.
        lossy = [row for row in self.boots if row["lost_lines"]][:listed]
        if not lossy:
            return []
        # Computing the spans once more would cost a query.
        spans = frames.frame_of(self.frame.sparkSession, lossy, _SPAN_DDL)
        gaps = frames.rows(sequence.gaps(read.identified(self.frame), spans, listed))
        return [LineGap(**row) for row in gaps]  # type: ignore[typeddict-item]  # the columns are its keys

    def _with_examples(self, files: Rows) -> Rows:
        """The rows of `read.FILES` with `duplicates` and, for lines set aside or changed, an `example`."""
        examples: Rows = []
        if any(row["problem"] is not None or row["changed"] for row in files):
            # Spark sorts to find the least text. In a separate query, it sorts only the few such lines.
            odd = self.frame.where(F.col("problem").isNotNull() | F.col("is_changed"))
            least = F.min(set_aside.what_is_wrong()).alias("example")
            worst = odd.groupBy(*read.FILES.keys).agg(least).orderBy(*read.FILES.keys)
            examples = frames.rows(worst.limit(FEW))
        known = {(row["file"], row["problem"]): row["example"] for row in examples}
        return [
            row
            | {"duplicates": row["lines"] - row["once"], "example": known.get((row["file"], row["problem"]))}
            for row in files
        ]


@contextmanager
def lines(spark: SparkSession, source: Source, side: Side | None = None) -> Iterator[Lines]:
    """The lines of a source. Raises AnalysisException for a missing path.

    `side`: the side of each day; None for that of the source.
    """
    side = side or sequence.side_of(source.first, source.last)
    with ExitStack() as stack:
        marked = read.marked_lines(spark, source)
        if not source.is_table:
            first = frames.kept(stack, marked)
            marked = second_read.marked_lines(spark, source, first)
            marked = first if marked is first else frames.kept(stack, marked)
        once, rows = marked, boots.boots(read.identified(marked), side)
        if repeated := [row for row in rows if row["is_repeated"]]:
            dirty = frames.frame_of(spark, repeated, sequence.BOOT_DDL)
            once = frames.kept(stack, read.deduplicated(marked, dirty, source.first, source.last))
            rows = boots.boots(read.identified(once), side)
        inside = [row for row in rows if boots.is_of_period(row)]
        yield Lines(once.withColumns(read.facts(source.first, source.last)), inside)


def _files(lines: DataFrame) -> Rows:
    """The rows of `read.FILES` if they are few. Else their sums by problem (`file` is null), and a few rows
    that are examples, whose counts are 0. One row then also has `files`, the number of all files, and
    `open_files`, the number of files still being written."""
    per_file = frames.of_frame(read.FILES, lines).persist()
    try:
        few = frames.rows(per_file.limit(FEW + 1))
        return few if len(few) <= FEW else _added_up(per_file)
    finally:
        per_file.unpersist()


def _added_up(per_file: DataFrame) -> Rows:
    counts, is_open = list(read.FILES.measures), F.col("file").endswith(".open")
    none = dict.fromkeys(counts, 0)
    sums = per_file.groupBy("problem").agg(*[F.sum(name).alias(name) for name in counts])
    numbers = per_file.agg(
        F.count_distinct("file").alias("files"),
        F.count_distinct(F.when(is_open, F.col("file"))).alias("open_files"),
    )
    worst = per_file.where(F.col("problem").isNotNull()).orderBy("file", "problem").limit(_EXAMPLES)
    return [
        *({"file": None, "problem": None, **none, **row} for row in frames.rows(numbers)),
        *({"file": None, **row} for row in frames.rows(sums)),
        *(row | none for row in frames.rows(worst)),
    ]
