"""The files of a log, as a few rows: the driver does not get a row for each file of a fleet.

A table with a row for each file and problem (`read.FILES`) is collected as it is if it is short. Else Spark
adds it up: one row for each problem, without a file, and a few rows that are examples.
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log.grouping import Rows

FEW: Final = 1_000
"""Up to this many rows are collected as they are."""
_EXAMPLES: Final = 5
_TEXTS: Final = ("file", "problem")


def rows(per_file: DataFrame) -> Rows:
    """The rows of `per_file`, or their sums (`file` is null) and examples, whose counts are 0.

    In the second case, one row also has `files`, the number of all files, and `open_files`, the number of
    files still being written. Columns of `per_file`: `file`, `problem`, and counts.
    """
    kept = per_file.persist()
    try:
        few = [row.asDict() for row in kept.limit(FEW + 1).collect()]
        return few if len(few) <= FEW else _added_up(kept)
    finally:
        kept.unpersist()


def _added_up(kept: DataFrame) -> Rows:
    counts = [name for name in kept.columns if name not in _TEXTS]
    none = dict.fromkeys(counts, 0)
    sums = kept.groupBy("problem").agg(*[F.sum(name).alias(name) for name in counts])
    is_open = F.col("file").endswith(".open")
    [number] = kept.agg(
        F.count_distinct("file").alias("files"),
        F.count_distinct(F.when(is_open, F.col("file"))).alias("open_files"),
    ).collect()
    worst = kept.where(F.col("problem").isNotNull()).orderBy("file", "problem").limit(_EXAMPLES)
    return [
        {"file": None, "problem": None, **none, **number.asDict()},
        *({"file": None, **row.asDict()} for row in sums.collect()),
        *(row.asDict() | none for row in worst.collect()),
    ]
